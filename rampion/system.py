"""What differs between operating systems: locks, memory, other processes.

Modules and functions that not all systems have are used only here; the rest of the code is the same everywhere.
"""

from __future__ import annotations

import errno
import mmap
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

if sys.platform == "win32":
    import ctypes
    import msvcrt

    _BEHIND = 1 << 30  # an offset beyond the end of our files, because Windows lets nobody read locked bytes

    def locked(handle: int) -> bool:
        """Try to lock the open file, and return whether it worked; raise OSError if the file system has no locks."""
        os.lseek(handle, _BEHIND, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno == errno.EACCES:
                return False
            raise
        return True

    def alive(process: int) -> bool:
        """Whether a process with this number runs on this machine."""
        kernel, code = ctypes.WinDLL("kernel32", use_last_error=True), ctypes.c_ulong()
        if not (opened := kernel.OpenProcess(0x1000, False, process)):  # PROCESS_QUERY_LIMITED_INFORMATION
            return ctypes.get_last_error() == 5  # it exists, but belongs to another user
        kernel.GetExitCodeProcess(opened, ctypes.byref(code))
        kernel.CloseHandle(opened)
        return code.value == 259  # STILL_ACTIVE

    def end(process: subprocess.Popen[bytes]) -> None:
        """End the process."""
        process.kill()

    def peak() -> int:
        """The peak of this process's memory in bytes; 0, because this system does not report it."""
        return 0

    def private(size: int) -> mmap.mmap:
        """Zeroed memory of this many bytes."""
        return mmap.mmap(-1, max(1, size))

    def settle(folder: Path) -> None:
        """Do nothing: Windows cannot open folders."""

    @contextmanager
    def held(path: Path) -> Iterator[bool]:
        """Hold nothing: Windows cannot rename open files."""
        yield False

else:
    import fcntl
    import resource

    def locked(handle: int) -> bool:
        """Try to lock the open file, and return whether it worked; raise OSError if the file system has no locks."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                return False
            raise
        return True

    def alive(process: int) -> bool:
        """Whether a process with this number runs on this machine."""
        if not 0 < process < 1 << 31:
            return False
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True

    def end(process: subprocess.Popen[bytes]) -> None:
        """End the process, which leads a session, and whatever it has started."""
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    def peak() -> int:
        """The peak of this process's memory in bytes."""
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return used if sys.platform == "darwin" else used << 10

    def private(size: int) -> mmap.mmap:
        """Zeroed memory of this many bytes, on huge pages where the system has them."""
        memory = mmap.mmap(-1, max(1, size), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with suppress(AttributeError, OSError):
            memory.madvise(mmap.MADV_HUGEPAGE)
        return memory

    def settle(folder: Path) -> None:
        """Put the folder's entries on the disk, so that a new name outlives a power cut."""
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

    @contextmanager
    def held(path: Path) -> Iterator[bool]:
        """Lock a file or a folder that is being written, and yield whether that worked."""
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            try:
                mine = locked(handle)
            except OSError:  # a file system without locks
                mine = False
            yield mine
        finally:
            os.close(handle)


def resident() -> int:
    """Bytes that the process uses now, where the system tells; else the most that it has used."""
    status = Path("/proc/self/statm")
    return int(status.read_text().split()[1]) * mmap.PAGESIZE if status.exists() else peak()
