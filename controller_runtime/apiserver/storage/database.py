# SPDX-License-Identifier: Apache-2.0
"""The SQLite file of a journal: its tables, the checksum of a row, and how a file is made.

Triggers keep a summary of all rows within the transaction of each write: the number of writes,
of rows, and the sum of their checksums. SQLite itself notices damage to the structure of its
pages at best, and none to their content. The checksum stands before the bytes of the object, which may
be long: the triggers read it without them.
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

from controller_runtime.apiserver.storage.private import make_private_directory, open_private
from controller_runtime.apiserver.storage.stored import Stored

NAME = "objects.sqlite"
# What SQLite keeps beside the file: its write-ahead log, the index of the log, and the journal of a new file.
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
    """Return the CRC-32 of all that a row says."""
    return zlib.crc32(raw, zlib.crc32(f"{collection}\0{key}\0{version}\0".encode(errors="replace")))


def build(directory: Path, rows: Iterable[tuple[str, Stored]], writes: int, reserved: int) -> None:
    """Write a file with these rows, under another name until it is installed.

    Args:
        directory: Its folder.
        rows: The objects, with their collections.
        writes: The number of writes that the summary begins with.
        reserved: The end of the last reserved block of versions, 0 for none.

    Raises:
        OSError: The file cannot be written.
        sqlite3.Error: The file cannot be written.
    """
    for name in (_NEW, f"{_NEW}-journal", f"{_NEW}-wal"):  # of a process that was killed here
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
    """Put the file that was built in its place, in one step.

    Raises:
        FileExistsError: The file that is there has a log, whose content would be lost, or taken for the new file's.
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
    """Move the file and what belongs to it to a new folder `damaged-N`, with copies of further ones; return the folder.

    Raises:
        OSError: They cannot be moved.
    """
    number = 1
    while (aside := directory / f"damaged-{number}").exists():
        number += 1
    make_private_directory(aside)
    for name in copies:
        shutil.copy2(directory / name, aside / name)
    for name in (*SIDE_FILES, NAME):  # a log must not outlive its file
        with contextlib.suppress(FileNotFoundError):
            os.rename(directory / name, aside / name)
    sync_directory(aside)
    return aside


def sync_directory(directory: Path) -> None:
    """Wait until the names in a directory are on the disk."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
