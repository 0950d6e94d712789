"""Ctrl-C in the first moments: before anything has been written, and before there is a thread that could wait."""

import os
import signal
from types import FrameType

INTERRUPTED, LINE = 130, b"rampion: interrupted; files that stood before are whole\n"


def heed() -> bool:
    """End at once from now on; false, and nothing, if whoever started this process made it deaf to Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return False
    signal.signal(signal.SIGINT, _at_once)
    return True


def _at_once(_number: int, _frame: FrameType | None) -> None:
    os.write(2, LINE)
    os._exit(INTERRUPTED)
