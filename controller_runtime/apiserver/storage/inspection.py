# SPDX-License-Identifier: Apache-2.0
"""Reads a journal's database without changing any file, and judges whether it holds what was acknowledged.

SQLite folds a log into its file once a connection is closed, and removes a log in which it finds
nothing, such as one whose first bytes are damaged. So the files are read under other names,
through a connection that cannot write, before one is opened that can: what is refused is left as
it was found.
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

from controller_runtime.apiserver.storage.database import FORMAT, LOG, NAME, OLD_FORMAT, checksum_of
from controller_runtime.apiserver.storage.stored import Stored
from controller_runtime.apiserver.storage.witness import Mark

# Damaged objects that are named one by one.
_NAMED = 3
_LINK = f"{NAME}.read"
_ROWS = "SELECT collection, key, version, raw, {checksum} FROM objects {order}"


class Summary(NamedTuple):
    """What the database itself says of its rows."""

    writes: int
    rows: int
    total: int


@attrs.define(kw_only=True)
class Contents:
    """What was found in a database.

    Attributes:
        format: 0 if there is nothing yet.
        rows: The objects that are whole, with their collections, by key.
        damaged: The names of those that are not.
        total: The sum of the checksums, as they stand in the rows.
        summary: None if it cannot be read, or in the old format, which has none.
        reserved: The end of the last reserved block of versions.
        error: The reason why not everything could be read; empty if it could.
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
        """The newest version that is known to have been handed out."""
        return max(self.reserved, *(item.version for item in self.rows.values()), 0)


def read(directory: Path) -> Contents:
    """Read all that can be read.

    Raises:
        OSError: The directory cannot be written.
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
    """Return what is wrong with a database, given the last mark of its witness; nothing if all is there."""
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
    """Give the file and its log further names; what SQLite removes in the end are those."""
    names = {NAME: directory / _LINK, LOG: directory / f"{_LINK}-wal"}
    _remove(names.values())  # of a process that was killed here
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
    # Without locks of SQLite's own, an index of the log in shared memory is not needed; the witness is locked.
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
    finally:  # whatever else is damaged
        _read_rows(database, found)


def _read_rows(database: sqlite3.Connection, found: Contents) -> None:
    """Read the rows along the index, which names each one; what it does not lead to any more, from the table."""
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
    for collection, key, version, raw, checksum in rows:
        if (collection, key) in found.rows:
            continue
        if is_whole(collection, key, version, raw, checksum, found.format):
            found.rows[collection, key] = Stored(key, version, raw)
        else:
            damaged[collection, key] = None
        found.total += checksum if isinstance(checksum, int) else 0


def is_whole(collection: object, key: object, version: object, raw: object, checksum: object, form: int) -> bool:
    """Tell whether a row is as it was written. The old format has no checksum: there it has to be an object."""
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
