"""Ctrl-C ends the command in one line within a second, whatever it does; and closed standard streams are no trap.

Python tells its main thread of Ctrl-C when the kernel or the import at hand returns, which may take minutes. So a
thread is woken too: if the process has not ended by itself after GRACE seconds, the thread removes the files that are
not finished and ends it. What has a name on the disk is whole at any moment, so nothing is lost.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
import time
from contextlib import suppress
from types import FrameType

from rampion.interruption import INTERRUPTED as INTERRUPTED
from rampion.interruption import LINE

GRACE = 0.6  # seconds that the process has to end by itself
UNFINISHED = set[str]()  # files and folders that are being written, under their temporary names
_TOLD, _DONE = threading.Event(), threading.Event()


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, as a class of its own.

    Python marks a KeyboardInterrupt itself that leaves a string in exec or eval (every dataclass is made by one) as
    caught by nobody, and ends the process by the signal, whoever catches it later.
    """


def watch() -> None:
    """From now on Ctrl-C ends this process in one line, when what is being written is removed."""
    ear, mouth = os.pipe()
    if sys.platform != "win32":
        os.set_blocking(mouth, False)
    signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
    sys.unraisablehook = _unraisable
    threading.Thread(target=_end, args=(ear,), daemon=True).start()
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # runs last; then Python gives up its handlers
    signal.signal(signal.SIGINT, _once)  # last: it may strike at once


def done() -> None:
    """The work is done, and Ctrl-C interrupts nothing; only if the process does not end soon is it ended."""
    _DONE.set()


def tell() -> None:
    """The one line; a second call says nothing."""
    if not _TOLD.is_set():
        _TOLD.set()
        with suppress(OSError):
            os.write(2, LINE)


def remove(path: str) -> None:
    """Remove a file, or a folder with all that is in it, as far as it can be done."""
    try:
        os.unlink(path)
    except OSError:
        with suppress(OSError):
            for name in os.listdir(path):
                remove(os.path.join(path, name))
            os.rmdir(path)


def occupy() -> None:
    """Open what stands for closed standard streams: else the next file that is opened would take what is printed."""
    for name, number, flags, mode in (
        ("stdin", 0, os.O_WRONLY, "r"),
        ("stdout", 1, os.O_RDONLY, "w"),
        ("stderr", 2, os.O_WRONLY, "w"),
    ):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # takes the lowest number that is free; reading 0 and writing to 1 are errors
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - for good


def _once(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second one must not disturb what the first has begun
    if not _DONE.is_set():
        raise Interrupted


def _end(ear: int) -> None:
    while signal.SIGINT not in os.read(ear, 1):  # other signals wake it too
        pass
    time.sleep(GRACE)
    for path in list(UNFINISHED):
        remove(path)
    if os.isatty(2):
        os.write(2, b"\x1b[?25h\r\x1b[K")  # a progress bar hides the cursor
    tell()
    os._exit(INTERRUPTED)


def _unraisable(caught: sys.UnraisableHookArgs, /) -> None:
    """Ctrl-C may strike where Python lets nothing through; then the thread ends the process."""
    if not issubclass(caught.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(caught)
