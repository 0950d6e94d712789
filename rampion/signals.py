"""Ctrl-C ends the command within a second with one line, whatever it does; closed standard streams do no harm.

Python handles Ctrl-C in its main thread, and only after the running kernel or import has returned, which may take
minutes. So a second thread is woken too. If the process has not ended by itself after GRACE seconds, that thread
removes the unfinished files and ends the process. Files get their names when they are complete, so nothing is lost.
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

    If a KeyboardInterrupt itself leaves code that runs in exec or eval (every dataclass is made by exec), Python marks
    it as uncaught and later ends the process by the signal, although it was caught.
    """


def watch() -> None:
    """From now on Ctrl-C removes unfinished files and ends this process with one line."""
    ear, mouth = os.pipe()
    if sys.platform != "win32":
        os.set_blocking(mouth, False)
    signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
    sys.unraisablehook = _unraisable
    threading.Thread(target=_end, args=(ear,), daemon=True).start()
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # runs last
    signal.signal(signal.SIGINT, _once)  # last, because Ctrl-C may come at once


def done() -> None:
    """The work is done: Ctrl-C interrupts nothing any more, but still ends a process that does not end soon."""
    _DONE.set()


def tell() -> None:
    """Print the one line; a second call prints nothing."""
    if not _TOLD.is_set():
        _TOLD.set()
        with suppress(OSError):
            os.write(2, LINE)


def remove(path: str) -> None:
    """Remove a file, or a folder with its contents, as far as possible."""
    try:
        os.unlink(path)
    except OSError:
        with suppress(OSError):
            for name in os.listdir(path):
                remove(os.path.join(path, name))
            os.rmdir(path)


def occupy() -> None:
    """Open substitutes for closed standard streams; otherwise the next opened file would receive what is printed."""
    for name, number, flags, mode in (
        ("stdin", 0, os.O_WRONLY, "r"),
        ("stdout", 1, os.O_RDONLY, "w"),
        ("stderr", 2, os.O_WRONLY, "w"),
    ):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, flags)  # gets the lowest free number, so that using it is an error
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - for good


def _once(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C must not disturb the clean-up of the first
    if not _DONE.is_set():
        raise Interrupted


def _end(ear: int) -> None:
    while signal.SIGINT not in os.read(ear, 1):  # other signals wake the thread too
        pass
    time.sleep(GRACE)
    for path in list(UNFINISHED):
        remove(path)
    if os.isatty(2):
        os.write(2, b"\x1b[?25h\r\x1b[K")  # show the cursor, which a progress bar hides
    tell()
    os._exit(INTERRUPTED)


def _unraisable(caught: sys.UnraisableHookArgs, /) -> None:
    """Ctrl-C may come where Python drops exceptions, as in __del__; then the thread ends the process."""
    if not issubclass(caught.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(caught)
