# SPDX-License-Identifier: Apache-2.0
"""Keeps what a storage acknowledges in a SQLite file, so that it survives the process.

A write is handed to the operating system before it is answered (write-ahead log, not
synced), so `kill -9` loses nothing. Versions are reserved in blocks, which are synced:
even after a power failure no version is handed out twice.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from controller_runtime.apiserver.status import internal
from controller_runtime.apiserver.storage.stored import Stored
from controller_runtime.core.errors import UsageError

_BLOCK = 10_000
_FORMAT = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS objects (
    collection TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, raw BLOB NOT NULL,
    PRIMARY KEY (collection, key)
);
CREATE TABLE IF NOT EXISTS reserved (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL);
"""
# Replacing the row would write its index anew as well.
_PUT = """
INSERT INTO objects VALUES (?, ?, ?, ?)
ON CONFLICT (collection, key) DO UPDATE SET version = excluded.version, raw = excluded.raw
"""


class SQLiteJournal:
    """A `storage.Journal` in one directory, which no other process may use meanwhile.

    Args:
        directory: Made if it is missing.

    Raises:
        UsageError: The directory cannot be written, is in use, or holds something else.

    Threads: whoever holds the storage's lock.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / "objects.sqlite"
        # The last version of the block in use: all up to it are spent, whether used or not.
        self._reserved = 0
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=0.0)
        except (OSError, sqlite3.Error) as error:
            raise self._unusable(error) from error
        try:
            self._prepare()
        except (sqlite3.Error, UsageError) as error:
            self.close()
            raise self._unusable(error) from error

    def load(self) -> tuple[int, list[tuple[str, Stored]]]:
        """The end of the last reserved block, and every object with its collection.

        Raises:
            UsageError: The file is damaged; it is closed.
        """
        try:
            return self._reserved, list(self._objects())
        except sqlite3.Error as error:
            self.close()
            raise self._unusable(error) from error

    def write(self, collection: str, key: str, version: int, raw: bytes | None) -> None:
        """Keep one write; one statement is one transaction.

        Raises:
            StatusError: 500: the disk is full or gone. Nothing has been kept.
        """
        try:
            if version > self._reserved:
                self._reserve(version + _BLOCK)
            if raw is None:
                self._database.execute("DELETE FROM objects WHERE collection = ? AND key = ?", (collection, key))
            else:
                self._database.execute(_PUT, (collection, key, version, raw))
        except sqlite3.Error as error:
            raise internal(f"data directory {self._path.parent}: {error}") from error

    def close(self) -> None:
        """Fold the log into the file and let go of it. Idempotent."""
        self._database.close()

    def _prepare(self) -> None:
        # Exclusive: a second server on one directory is refused, and no shared memory file is needed.
        self._database.execute("PRAGMA locking_mode = EXCLUSIVE")
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        (found,) = self._database.execute("PRAGMA user_version").fetchone()
        if found not in (0, _FORMAT):
            raise UsageError(f"its format is {found}, not {_FORMAT}")
        if not found:  # else nothing is written: one may read what there is when the disk is full
            self._database.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {_FORMAT}; COMMIT;")
        row = self._database.execute("SELECT version FROM reserved").fetchone()
        self._reserved = row[0] if row else 0

    def _objects(self) -> Iterator[tuple[str, Stored]]:
        rows = self._database.execute("SELECT collection, key, version, raw FROM objects ORDER BY collection, key")
        for collection, key, version, raw in rows:
            yield collection, Stored(key, version, raw)

    def _reserve(self, version: int) -> None:
        self._database.execute("PRAGMA synchronous = FULL")
        self._database.execute("INSERT OR REPLACE INTO reserved VALUES (1, ?)", (version,))
        self._database.execute("PRAGMA synchronous = NORMAL")
        self._reserved = version

    def _unusable(self, error: Exception) -> UsageError:
        return UsageError(f"data directory {self._path.parent}: cannot be used: {error}")
