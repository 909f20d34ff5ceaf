# SPDX-License-Identifier: Apache-2.0
"""Data directories in the first format, which has neither checksums nor a witness."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from pathlib import Path

import pytest
from kit.apiserver.journals import COUNT, DATABASE, LOG, raw_of, rows_of

from apimachinery.errors import UsageError
from embedded_apiserver.storage.journal import SQLiteJournal

# The tables in the first format.
OLD_SCHEMA = """
CREATE TABLE objects (
    collection TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, raw BLOB NOT NULL,
    PRIMARY KEY (collection, key)
);
CREATE TABLE reserved (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL);
"""


def test_a_directory_of_the_first_format_is_taken_over(tmp_path: Path) -> None:
    old, left = tmp_path / "old", tmp_path / "left"
    old.mkdir()
    with contextlib.closing(sqlite3.connect(old / DATABASE, isolation_level=None)) as database:
        database.executescript(f"PRAGMA journal_mode = WAL; {OLD_SCHEMA} PRAGMA user_version = 1;")
        for number in range(COUNT):
            database.execute("INSERT INTO objects VALUES ('things', ?, ?, ?)", (f"t{number}", number, raw_of(number)))
        database.execute("INSERT INTO reserved VALUES (1, 90000)")
        shutil.copytree(old, left)
    expected = {f"t{number}": (number, raw_of(number)) for number in range(COUNT)}

    for directory in (old, left):  # stopped and killed
        journal = SQLiteJournal(directory)
        used, rows = journal.load()
        journal.write("things", "new", used + 1, raw_of(1))
        journal.close()
        assert used == 90_000
        assert {item.key: (item.version, item.raw) for _, item in rows} == expected
        assert rows_of(directory) == {**expected, "new": (used + 1, raw_of(1))}


@pytest.mark.parametrize("raw", ["text", 7, b"no JSON", b"{}", b'{"metadata":{"name":7}}', b'["metadata"]'])
def test_a_row_of_the_first_format_that_is_no_object_is_told(tmp_path: Path, raw: object) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / DATABASE, isolation_level=None)) as database:
        database.executescript(f"PRAGMA journal_mode = WAL; {OLD_SCHEMA} PRAGMA user_version = 1;")
        database.execute("INSERT INTO objects VALUES ('things', 'bad', 1, ?)", (raw,))
        database.execute("INSERT INTO objects VALUES ('things', 'good', 2, ?)", (raw_of(1),))

    with pytest.raises(UsageError, match="the content of things bad has changed"):
        SQLiteJournal(tmp_path)

    assert rows_of(tmp_path, accept_loss=True) == {"good": (2, raw_of(1))}


def test_a_log_whose_database_is_in_the_first_format_again_is_told(killed: Path) -> None:
    with contextlib.closing(sqlite3.connect(killed / "other", isolation_level=None)) as database:
        database.executescript(f"{OLD_SCHEMA} PRAGMA user_version = 1;")
    (killed / LOG).unlink()
    (killed / "other").rename(killed / DATABASE)

    with pytest.raises(UsageError, match="222 writes were acknowledged"):
        SQLiteJournal(killed)
