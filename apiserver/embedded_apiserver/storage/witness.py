# SPDX-License-Identifier: Apache-2.0
"""The witness of a journal: a small file next to the database that records how many writes were acknowledged.

SQLite treats a write-ahead log that is damaged, truncated or missing as a shorter log, without an error. The witness
reveals the loss. It is written after each transaction and before the write is acknowledged, so whenever the process is
killed, the database has at least as many writes as the witness says; a database with fewer has lost acknowledged
writes. Neither file is synced at each write: after a power failure the witness may be as old as the database, and
then the loss goes unnoticed.

The lock on the witness keeps a second server away from the directory. `locked` takes it before anything else of the
directory is read or made, the server's identity included.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import zlib
from pathlib import Path
from typing import NamedTuple

from apimachinery.errors import UsageError
from embedded_apiserver.storage.private import check_is_usable, make_private_directory, open_private, remedy_for

NAME = "acknowledged"

_LENGTH = len(b"%020d %020d %08x\n" % (0, 0, 0))
_SLOTS = 2


class Mark(NamedTuple):
    """The record of the last acknowledged write.

    Attributes:
        writes: The number of acknowledged writes since the first database in the directory was made.
        version: The version of the last acknowledged write.
    """

    writes: int
    version: int


class DamagedWitness(Exception):
    """The witness file does not have valid content."""


class Witness:
    """The witness file of a data directory: it counts the acknowledged writes, and locks the directory.

    The file has two lines with checksums, which are overwritten alternately. So one line is complete at any time, even
    if the process is killed while it writes the other.

    Args:
        directory: The data directory.

    Raises:
        BlockingIOError: Another process has locked the file.
        OSError: The file cannot be opened.

    Threads: guarded by the storage's lock, like the journal.
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
        """Return the record of the last acknowledged write; None if the file is empty because there was none.

        Raises:
            DamagedWitness: The file is not empty, and has a wrong length or no valid line.
        """
        content = os.pread(self._descriptor, _LENGTH * _SLOTS + 1, 0)
        if not content:
            return None
        marks = [mark for start in range(0, len(content), _LENGTH) if (mark := _mark(content[start : start + _LENGTH]))]
        if not marks or len(content) != _LENGTH * _SLOTS:
            raise DamagedWitness
        return max(marks)

    def begin(self, mark: Mark) -> None:
        """Replace the content of the file by `mark`, and sync the file to the disk.

        Raises:
            OSError: The file cannot be written.
        """
        self._put(_line(mark) * _SLOTS, 0)
        os.ftruncate(self._descriptor, _LENGTH * _SLOTS)
        os.fsync(self._descriptor)

    def note(self, mark: Mark) -> None:
        """Record a write that is about to be acknowledged. If that fails, the next `settle` tries again and raises the
        error.
        """
        self._due = mark
        with contextlib.suppress(OSError):
            self.settle()

    def settle(self) -> None:
        """Write the mark that `note` failed to write, if there is one. Call it before each write to the journal.

        Raises:
            OSError: The mark still cannot be written, so no further write may be acknowledged.
        """
        if self._due is not None:
            self._put(_line(self._due), self._due.writes % _SLOTS * _LENGTH)
            self._due = None

    def close(self) -> None:
        """Close the file, which releases its lock. Idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _put(self, content: bytes, place: int) -> None:
        if os.pwrite(self._descriptor, content, place) != len(content):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def locked(directory: Path) -> Witness:
    """Return the witness of a data directory and lock it. A missing directory or file is created.

    Raises:
        UsageError: The directory cannot be used, or is in use by another server.
    """
    try:
        make_private_directory(directory)
        check_is_usable(directory / NAME)
        return Witness(directory)
    except BlockingIOError as error:
        raise UsageError(f"data directory {directory} is in use by another server: stop that one first") from error
    except OSError as error:
        raise UsageError(f"data directory {directory}: cannot be used: {error}: {remedy_for(error)}") from error


def _line(mark: Mark) -> bytes:
    text = b"%020d %020d" % mark
    return b"%b %08x\n" % (text, zlib.crc32(text))


def _mark(line: bytes) -> Mark | None:
    try:
        mark = Mark(*map(int, line.split()[:2]))
    except (ValueError, TypeError):
        return None
    return mark if _line(mark) == line else None
