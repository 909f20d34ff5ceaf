# SPDX-License-Identifier: Apache-2.0
"""Reads a journal's database without changing any file, and judges whether it holds what was acknowledged.

When a connection is closed, SQLite merges the write-ahead log into the database file; and it removes a log in which
it finds nothing, such as one whose first bytes are damaged. So before a connection is opened that can write, the files
are read under temporary names through one that cannot. If the server then refuses to start, the files are as they
were found.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import attrs
import msgspec

from embedded_apiserver.storage.database import FORMAT, LOG, NAME, OLD_FORMAT, checksum_of
from embedded_apiserver.storage.stored import Stored
from embedded_apiserver.storage.witness import Mark

# The most damaged objects that a message names.
_NAMED = 3
_LINK = f"{NAME}.read"
_ROWS = "SELECT collection, key, version, raw, {checksum} FROM objects {order}"


class Summary(NamedTuple):
    """The summary of all rows, which the database's triggers maintain; see `database.py`.

    Attributes:
        writes: The number of writes since the first database in the directory was made.
        rows: The number of rows.
        total: The sum of the rows' checksums.
    """

    writes: int
    rows: int
    total: int


@attrs.define(kw_only=True)
class Contents:
    """The contents of a database, as far as they can be read.

    Attributes:
        format: The format of the file; 0 if there is no data yet.
        rows: The undamaged objects, by collection and key.
        damaged: The damaged rows, each as the text `collection key`.
        total: The sum of the checksums stored in the rows, damaged rows included.
        summary: The summary; None if it cannot be read, or the file has the old format, which has no summary.
        reserved: The end of the last reserved block of versions; 0 if none was reserved.
        error: The reason why a part could not be read; empty if everything was read.
    """

    format: int = 0
    rows: dict[tuple[str, str], Stored] = attrs.field(factory=dict)
    damaged: list[str] = attrs.field(factory=list)
    total: int = 0
    summary: Summary | None = None
    reserved: int = 0
    error: str = ""

    @property
    def version(self) -> int:
        """An upper bound of all resourceVersions issued so far, as recorded in the database."""
        return max(self.reserved, *(item.version for item in self.rows.values()), 0)


def read(directory: Path) -> Contents:
    """Return the readable contents of the database in a directory. Damage is reported in the result, not raised.

    Raises:
        OSError: Temporary files cannot be created in the directory.
    """
    found = Contents()
    path, log = directory / NAME, directory / LOG
    if not path.exists() or not path.stat().st_size:
        if log.exists() and log.stat().st_size:
            found.error = "it is missing or empty, though its log is there"
        return found
    try:
        with _linked(directory) as link, contextlib.closing(_opened(link)) as database:
            _read_all(database, found)
    except (sqlite3.Error, TypeError, ValueError, OverflowError) as error:
        found.error = str(error)
    return found


def faults_of(found: Contents, mark: Mark | None) -> list[str]:
    """Return the problems of a database as sentences; an empty list if it contains all acknowledged writes.

    Args:
        found: The contents of the database.
        mark: The last record in the witness file; None if that file is empty or damaged.
    """
    faults = [f"{NAME} cannot be read ({found.error})"] if found.error else []
    if found.damaged:
        more = f" and {len(found.damaged) - _NAMED} more" if len(found.damaged) > _NAMED else ""
        faults.append(f"the content of {', '.join(found.damaged[:_NAMED])}{more} has changed")
    if mark is not None and mark.writes and found.format != FORMAT and not found.error:
        return [*faults, f"{NAME} is missing, empty or replaced, though {mark.writes} writes were acknowledged"]
    if found.format != FORMAT or found.error:
        return faults
    return [*faults, *_summary_faults(found, mark)]


def _summary_faults(found: Contents, mark: Mark | None) -> list[str]:
    """Return how the rows differ from the stored summary, and the summary from `mark`, its copy beside it."""
    summary = found.summary
    if summary is None:
        return [f"{NAME} has no summary of its objects"]
    faults = []
    if (there := len(found.rows) + len(found.damaged)) != summary.rows:
        faults.append(f"{there} objects are in {NAME} where there were {summary.rows}")
    elif found.total != summary.total:
        faults.append(f"{NAME} holds other objects than were written last")
    if mark is None and summary.writes:
        faults.append("the witness file is missing or empty, so it is unknown whether the last writes are there")
    elif mark is not None and summary.writes < mark.writes:
        lost = mark.writes - summary.writes
        faults.append(
            f"the last {lost} of {mark.writes} acknowledged writes are missing ({LOG} was cut, changed or removed)"
        )
    return faults


@contextlib.contextmanager
def _linked(directory: Path) -> Iterator[Path]:
    """Link the database file and its log under temporary names; SQLite may remove those, not the files."""
    names = {NAME: directory / _LINK, LOG: directory / f"{_LINK}-wal"}
    _remove(names.values())  # left by a process that was killed here
    try:
        for name, link in names.items():
            with contextlib.suppress(FileNotFoundError):
                _link_or_copy(directory / name, link)
        yield names[NAME]
    finally:
        _remove(names.values())


def _link_or_copy(path: Path, link: Path) -> None:
    try:
        os.link(path, link)
    except FileNotFoundError:
        raise
    except OSError:  # a file system without hard links
        shutil.copy2(path, link)


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _opened(path: Path) -> sqlite3.Connection:
    # `unix-none` is without file locks, which the lock on the witness replaces: no index of the log in shared memory
    # (a further file) is needed then.
    address = f"file:{quote(str(path.absolute()))}?mode=ro&vfs=unix-none"
    database = sqlite3.connect(address, uri=True, isolation_level=None)
    database.text_factory = lambda content: content.decode(errors="replace")
    database.execute("PRAGMA locking_mode = EXCLUSIVE")
    return database


def _read_all(database: sqlite3.Connection, found: Contents) -> None:
    (found.format,) = database.execute("PRAGMA user_version").fetchone()
    if found.format not in (OLD_FORMAT, FORMAT):
        if not found.format and database.execute("SELECT count(*) FROM sqlite_master").fetchone() != (0,):
            found.error = "it holds something else"
        return
    try:
        row = database.execute("SELECT version FROM reserved").fetchone()
        found.reserved = int(row[0]) if row else 0
        if found.format == FORMAT and (row := database.execute("SELECT writes, rows, total FROM summary").fetchone()):
            found.summary = Summary(*map(int, row))
    finally:  # read the rows even if the tables above are damaged
        _read_rows(database, found)


def _read_rows(database: sqlite3.Connection, found: Contents) -> None:
    """Read the rows through the index, which gives the name even of a damaged row.

    If the index itself is damaged, the rows that it no longer leads to are read from the table, and the error is
    raised again.
    """
    columns = "checksum" if found.format == FORMAT else "NULL"
    damaged: dict[tuple[Any, Any], None] = {}
    try:
        _take_rows(database.execute(_ROWS.format(checksum=columns, order="ORDER BY collection, key")), found, damaged)
    except sqlite3.Error:
        with contextlib.suppress(sqlite3.Error):
            _take_rows(database.execute(_ROWS.format(checksum=columns, order="NOT INDEXED")), found, damaged)
        raise
    finally:
        found.damaged = [f"{collection} {key}" for collection, key in damaged]


def _take_rows(rows: sqlite3.Cursor, found: Contents, damaged: dict[tuple[Any, Any], None]) -> None:
    """Add rows to `found`, or to `damaged`; one that is in `found` already is skipped."""
    for collection, key, version, raw, checksum in rows:
        if (collection, key) in found.rows:
            continue
        if is_whole(collection, key, version, raw, checksum, found.format):
            found.rows[collection, key] = Stored(key, version, raw)
        else:
            damaged[collection, key] = None
        found.total += checksum if isinstance(checksum, int) else 0


def is_whole(collection: object, key: object, version: object, raw: object, checksum: object, form: int) -> bool:
    """Return whether a row is undamaged. In the old format without checksums, this tests whether the bytes are an
    object.
    """
    match collection, key, version, raw:
        case str(collection), str(key), int(version), bytes(raw):
            if form == FORMAT:
                return checksum == checksum_of(collection, key, version, raw)
            return _is_object(raw)
    return False


def _is_object(raw: bytes) -> bool:
    try:
        return isinstance(msgspec.json.decode(raw, type=dict[str, Any])["metadata"]["name"], str)
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
