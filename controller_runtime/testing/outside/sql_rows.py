# SPDX-License-Identifier: Apache-2.0
"""All rows of a SQLite database as a mapping, and back."""

from __future__ import annotations

import sqlite3
from typing import Any

RowsByKey = dict[tuple[str, ...], dict[str, Any]]
"""Rows, each a dict by column, by table and values of the primary key; by number where a table has no such key."""


def rows_of(db: sqlite3.Connection) -> RowsByKey:
    """Return the rows of all tables."""
    rows: RowsByKey = {}
    for table in _tables(db):
        info = db.execute(f'pragma table_info("{table}")').fetchall()
        keys = [name for _, name, _, _, _, in_key in info if in_key]
        for number, values in enumerate(db.execute(f'select * from "{table}"').fetchall()):
            row = dict(zip([name for _, name, *_ in info], values, strict=True))
            rows[table, *([str(row[each]) for each in keys] or [str(number)])] = row
    return rows


def replace_rows(db: sqlite3.Connection, rows: RowsByKey) -> None:
    """Delete the rows of all tables, and insert `rows`."""
    for table in _tables(db):
        db.execute(f'delete from "{table}"')
    for (table, *_), row in rows.items():
        names = ", ".join(f'"{each}"' for each in row)
        marks = ", ".join("?" for _ in row)
        db.execute(f'insert into "{table}" ({names}) values ({marks})', [*row.values()])


def _tables(db: sqlite3.Connection) -> list[str]:
    found = db.execute("select name from sqlite_master where type = 'table' and name not like 'sqlite_%'")
    return sorted(name for (name,) in found)
