# SPDX-License-Identifier: Apache-2.0
"""The SQLite file of a journal: its tables, the checksums of its rows, and how the file is made and replaced.

SQLite notices damage to the structure of its pages at best, and never to their content. So each row has a
checksum, and triggers update a summary of all rows within the transaction of each write: the number of writes, the
number of rows, and the sum of the checksums. The column of the checksum comes before the object's bytes, because
SQLite reads a row from its beginning: the triggers then need not read the bytes, which may be long.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sqlite3
import zlib
from collections.abc import Iterable
from pathlib import Path

from embedded_apiserver.storage.private import make_private_directory, open_private
from embedded_apiserver.storage.stored import Stored

NAME = "objects.sqlite"
# The files that SQLite makes beside the database: its write-ahead log, the index of the log, and a rollback journal.
LOG = f"{NAME}-wal"
SIDE_FILES = (LOG, f"{NAME}-shm", f"{NAME}-journal")
FORMAT, OLD_FORMAT = 2, 1
_NEW = f"{NAME}.new"

_SCHEMA = """
CREATE TABLE objects (
    collection TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, checksum INTEGER NOT NULL, raw BLOB NOT NULL,
    PRIMARY KEY (collection, key)
);
CREATE TABLE reserved (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL);
CREATE TABLE summary (
    one INTEGER PRIMARY KEY CHECK (one = 1), writes INTEGER NOT NULL, rows INTEGER NOT NULL, total INTEGER NOT NULL
);
CREATE TRIGGER inserted AFTER INSERT ON objects BEGIN
    UPDATE summary SET writes = writes + 1, rows = rows + 1, total = total + new.checksum;
END;
CREATE TRIGGER updated AFTER UPDATE ON objects BEGIN
    UPDATE summary SET writes = writes + 1, total = total + new.checksum - old.checksum;
END;
CREATE TRIGGER deleted AFTER DELETE ON objects BEGIN
    UPDATE summary SET writes = writes + 1, rows = rows - 1, total = total - old.checksum;
END;
"""


def checksum_of(collection: str, key: str, version: int, raw: bytes) -> int:
    """Return the CRC-32 of a row, computed over collection, key, version and bytes."""
    return zlib.crc32(raw, zlib.crc32(f"{collection}\0{key}\0{version}\0".encode(errors="replace")))


def build(directory: Path, rows: Iterable[tuple[str, Stored]], writes: int, reserved: int) -> None:
    """Write a new database file with these rows under a temporary name; `install` moves it into place.

    Args:
        directory: The data directory.
        rows: The objects, each with the name of its collection.
        writes: The initial number of writes in the summary.
        reserved: The end of the last reserved block of versions; 0 if none is reserved.

    Raises:
        OSError: The file cannot be written.
        sqlite3.Error: SQLite cannot write the file.
    """
    for name in (_NEW, f"{_NEW}-journal", f"{_NEW}-wal"):  # left by a process that was killed here
        (directory / name).unlink(missing_ok=True)
    os.close(open_private(directory / _NEW, os.O_RDWR))
    with contextlib.closing(sqlite3.connect(directory / _NEW, isolation_level=None)) as database:
        database.execute("PRAGMA synchronous = FULL")
        database.executescript(_SCHEMA)
        database.execute("BEGIN IMMEDIATE")
        sums = []
        for collection, item in rows:
            sums.append(checksum_of(collection, item.key, item.version, item.raw))
            row = (collection, item.key, item.version, sums[-1], item.raw)
            database.execute("INSERT INTO objects VALUES (?, ?, ?, ?, ?)", row)
        database.execute("INSERT INTO summary VALUES (1, ?, ?, ?)", (writes, len(sums), sum(sums)))
        if reserved:
            database.execute("INSERT INTO reserved VALUES (1, ?)", (reserved,))
        database.execute(f"PRAGMA user_version = {FORMAT}")
        database.execute("COMMIT")
        database.execute("PRAGMA journal_mode = WAL")


def install(directory: Path) -> None:
    """Replace the database file by the file that `build` wrote, in one atomic step.

    Raises:
        FileExistsError: The old file has a write-ahead log with content, which would be lost or misapplied.
        OSError: The file cannot be moved.
    """
    log = directory / LOG
    if log.exists() and log.stat().st_size:
        raise FileExistsError(errno.EEXIST, "the log cannot be folded into its file", str(log))
    for name in SIDE_FILES:
        (directory / name).unlink(missing_ok=True)
    os.replace(directory / _NEW, directory / NAME)
    sync_directory(directory)


def set_aside(directory: Path, *copies: str) -> Path:
    """Move the database file and the files that SQLite keeps next to it into a new folder `damaged-N`; return that
    folder.

    Args:
        directory: The data directory.
        copies: The names of further files, which are copied instead of moved.

    Raises:
        OSError: A file cannot be moved or copied.
    """
    number = 1
    while (aside := directory / f"damaged-{number}").exists():
        number += 1
    make_private_directory(aside)
    for name in copies:
        shutil.copy2(directory / name, aside / name)
    for name in (*SIDE_FILES, NAME):  # the log first: one without its file could be applied to a new file
        with contextlib.suppress(FileNotFoundError):
            os.rename(directory / name, aside / name)
    sync_directory(aside)
    return aside


def sync_directory(directory: Path) -> None:
    """Sync a directory's entries to the disk, so that renamed files survive a power failure."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
