# SPDX-License-Identifier: Apache-2.0
"""The witness of a journal: a small file beside the database that says how many writes were acknowledged.

SQLite takes a write-ahead log that is damaged, cut or gone for a shorter one, and says nothing.
The witness is written after a transaction is complete and before its write is acknowledged. So
the database is never behind it, whenever the process is killed; one that is behind has lost
writes that were acknowledged. Neither is synced at each write: after a power failure the witness
may be older than the last write as well, and then cannot tell.

The lock on the witness keeps a second server away from the directory.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import zlib
from pathlib import Path
from typing import NamedTuple

from controller_runtime.apiserver.storage.private import open_private

NAME = "acknowledged"

_LENGTH = len(b"%020d %020d %08x\n" % (0, 0, 0))
_SLOTS = 2


class Mark(NamedTuple):
    """How far a journal had come.

    Attributes:
        writes: The number of acknowledged writes since the database was made.
        version: The version of the last of them.
    """

    writes: int
    version: int


class DamagedWitness(Exception):
    """The file is not what a witness writes."""


class Witness:
    """The file and its lock.

    Two lines are written in turn, each with a checksum, so that one of them is whole at any time.

    Args:
        directory: Its folder.

    Raises:
        BlockingIOError: Another process has locked it.
        OSError: The file cannot be opened.

    Threads: guarded by its journal's owner.
    """

    def __init__(self, directory: Path) -> None:
        self._due: Mark | None = None
        self._descriptor = open_private(directory / NAME, os.O_RDWR)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
            raise

    def read(self) -> Mark | None:
        """Return the last mark, or None if the file is empty: nothing was acknowledged yet.

        Raises:
            DamagedWitness: There is something else.
        """
        content = os.pread(self._descriptor, _LENGTH * _SLOTS + 1, 0)
        if not content:
            return None
        marks = [mark for start in range(0, len(content), _LENGTH) if (mark := _mark(content[start : start + _LENGTH]))]
        if not marks or len(content) != _LENGTH * _SLOTS:
            raise DamagedWitness
        return max(marks)

    def begin(self, mark: Mark) -> None:
        """Make the file say `mark`, on the disk, whatever it said before.

        Raises:
            OSError: It cannot be written.
        """
        self._put(_line(mark) * _SLOTS, 0)
        os.ftruncate(self._descriptor, _LENGTH * _SLOTS)
        os.fsync(self._descriptor)

    def note(self, mark: Mark) -> None:
        """Write down what is about to be acknowledged. If that fails, `settle` tries again and tells."""
        self._due = mark
        with contextlib.suppress(OSError):
            self.settle()

    def settle(self) -> None:
        """Write down what could not be written before; nothing more may be acknowledged until that is done.

        Raises:
            OSError: It still cannot be written.
        """
        if self._due is not None:
            self._put(_line(self._due), self._due.writes % _SLOTS * _LENGTH)
            self._due = None

    def close(self) -> None:
        """Let go of the file and its lock. Idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _put(self, content: bytes, place: int) -> None:
        if os.pwrite(self._descriptor, content, place) != len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _line(mark: Mark) -> bytes:
    text = b"%020d %020d" % mark
    return b"%b %08x\n" % (text, zlib.crc32(text))


def _mark(line: bytes) -> Mark | None:
    try:
        mark = Mark(*map(int, line.split()[:2]))
    except (ValueError, TypeError):
        return None
    return mark if _line(mark) == line else None
