# SPDX-License-Identifier: Apache-2.0
"""Stores acknowledged writes in a SQLite file, so that they survive the process.

A write is handed to the operating system before it is answered (in SQLite's write-ahead log, not synced), so
`kill -9` loses nothing; a power failure may lose the last writes. Versions are reserved in blocks, and each
reservation is synced, so that even after a power failure no version is handed out twice. Damage is detected at the
start by `inspection`, with the help of a witness file that records how many writes were acknowledged.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from apimachinery.errors import UsageError
from apimachinery.log import get_logger
from embedded_apiserver.status import internal
from embedded_apiserver.storage import database, inspection
from embedded_apiserver.storage.private import check_is_usable, remedy_for, warn_if_shared
from embedded_apiserver.storage.stored import Stored
from embedded_apiserver.storage.witness import NAME as WITNESS
from embedded_apiserver.storage.witness import DamagedWitness, Mark, Witness, locked

log = get_logger(__name__)

# The versions reserved at a time: a sync of the disk, which takes milliseconds, is needed once in so many writes.
_BLOCK = 10_000
# INSERT OR REPLACE would be shorter, but delete and insert the row, and so write its index entry again.
_PUT = """
INSERT INTO objects VALUES (?, ?, ?, ?, ?) ON CONFLICT (collection, key)
DO UPDATE SET version = excluded.version, checksum = excluded.checksum, raw = excluded.raw
"""
_DELETE = "DELETE FROM objects WHERE collection = ? AND key = ?"
_REMEDY = (
    "restore a backup of the directory, or start once with --accept-loss, "
    "which keeps the damaged files aside and serves the {} objects that can be read"
)


class SQLiteJournal:
    """A `storage.Journal` in one directory, which is locked against other processes.

    Args:
        directory: The data directory. It is created with mode 0700 if it is missing, and its files with mode 0600. If
            other users may read it, a warning says how to prevent that.
        accept_loss: True to move damaged files into a folder `damaged-N` and continue with the readable objects. If
            False, damage is an error and no file is changed.
        witness: The witness file of the directory, if the caller has already locked it; `close` closes it.

    Raises:
        UsageError: The directory cannot be written, is in use by another server, is damaged, or has a file of another
            format.

    Threads: guarded by the storage's lock.
    """

    def __init__(self, directory: Path, *, accept_loss: bool = False, witness: Witness | None = None) -> None:
        self._directory = directory
        self._database: sqlite3.Connection | None = None
        self._rows: list[tuple[str, Stored]] = []
        self._witness = locked(directory) if witness is None else witness
        try:
            warn_if_shared((directory, *sorted(directory.iterdir())))
            self._open(accept_loss)
        except (OSError, sqlite3.Error, UsageError) as error:
            self.close()
            raise error if isinstance(error, UsageError) else self._unusable(error) from error

    def load(self) -> tuple[int, list[tuple[str, Stored]]]:
        """Return an upper bound of all issued resourceVersions, and each object with its collection. Call it once.

        A second call returns no objects, because the journal does not keep them in memory.
        """
        rows, self._rows = self._rows, []
        return self._used, rows

    def write(self, collection: str, key: str, version: int, raw: bytes | None) -> None:
        """Store one write in its own transaction.

        Args:
            collection: The collection's name.
            key: The object's key.
            version: The version of the write.
            raw: The object's bytes; None for a deletion.

        Raises:
            StatusError: 500, the journal is closed, or the disk is full or failed. Then nothing has been stored.
        """
        if self._database is None:
            raise internal(f"data directory {self._directory}: it is closed")
        try:
            self._witness.settle()
            if version > self._reserved:
                self._reserve(self._database, version + _BLOCK)
            if raw is None:
                done = self._database.execute(_DELETE, (collection, key)).rowcount
            else:
                row = (collection, key, version, database.checksum_of(collection, key, version, raw), raw)
                done = self._database.execute(_PUT, row).rowcount
        except (sqlite3.Error, OSError) as error:
            raise internal(f"data directory {self._directory}: {error}") from error
        self._writes += done
        self._witness.note(Mark(self._writes, version))

    def close(self) -> None:
        """Merge the write-ahead log into the file, close both, and release the directory. Idempotent."""
        if self._database is not None:
            self._database.close()
            self._database = None
        self._witness.close()

    def _open(self, accept_loss: bool) -> None:
        """Inspect the files, refuse or replace damaged ones, and open the database for writing."""
        for name in (database.NAME, database.LOG):  # its error says more than SQLite's "unable to open database file"
            check_is_usable(self._directory / name)
        mark, faults = self._mark()
        found = inspection.read(self._directory)
        if found.format not in (0, database.OLD_FORMAT, database.FORMAT):
            raise UsageError(
                f"data directory {self._directory}: cannot be used: its format is {found.format}, not "
                f"{database.FORMAT}: use the version of the server that wrote it, or another directory"
            )
        faults += inspection.faults_of(found, mark)
        if faults and not accept_loss:
            remedy = _REMEDY.format(len(found.rows))
            raise UsageError(f"data directory {self._directory} is damaged: {'; '.join(faults)}: {remedy}")
        self._writes = max(mark.writes if mark else 0, found.summary.writes if found.summary else 0)
        # All versions up to it count as used: how many of the last block were handed out is unknown.
        self._used = self._reserved = max(found.version, mark.version if mark else 0)
        self._rows = [(collection, item) for (collection, _), item in found.rows.items()]
        if faults or found.format != database.FORMAT:
            self._make(found.format, faults)
        self._database = self._connected()
        if faults or mark is None or mark.writes != self._writes:
            self._witness.begin(Mark(self._writes, self._used))

    def _make(self, old_format: int, faults: Sequence[str]) -> None:
        """Make a new file from the objects that were read; it replaces a damaged one or one of the old format."""
        if old_format == database.OLD_FORMAT and not faults:
            self._connected().close()  # closing merges the log into the file, so that `install` finds none
        database.build(self._directory, self._rows, self._writes, self._reserved)
        if faults:
            aside = database.set_aside(self._directory, WITNESS)
            log.warning("damage accepted", kept=aside, lost="; ".join(faults))
        database.install(self._directory)

    def _unusable(self, error: Exception) -> UsageError:
        return UsageError(f"data directory {self._directory}: cannot be used: {error}: {remedy_for(error)}")

    def _reserve(self, connection: sqlite3.Connection, version: int) -> None:
        """Record on the disk, synced, that all versions up to `version` may have been handed out."""
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("INSERT OR REPLACE INTO reserved VALUES (1, ?)", (version,))
        connection.execute("PRAGMA synchronous = NORMAL")
        self._reserved = version

    def _mark(self) -> tuple[Mark | None, list[str]]:
        """Return the witness's last mark, and what is wrong with the witness, in words."""
        try:
            return self._witness.read(), []
        except DamagedWitness:
            return None, [f"{WITNESS} cannot be read"]

    def _connected(self) -> sqlite3.Connection:
        path = self._directory / database.NAME
        connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=0.0)
        try:
            # Exclusive: a second server on one directory is refused, and no shared memory file is needed.
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("SELECT one FROM reserved").fetchone()  # takes the lock
        except sqlite3.Error:
            connection.close()
            raise
        return connection
