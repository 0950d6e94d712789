"""Ctrl-C while the program starts, before anything is written and before the watching thread exists."""

import os
import signal
from types import FrameType

INTERRUPTED, LINE = 130, b"rampion: interrupted; files that stood before are whole\n"


def heed() -> bool:
    """Let Ctrl-C end the process at once; return False and do nothing if the parent made the process ignore it."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return False
    signal.signal(signal.SIGINT, _at_once)
    return True


def _at_once(_number: int, _frame: FrameType | None) -> None:
    os.write(2, LINE)
    os._exit(INTERRUPTED)
