# SPDX-License-Identifier: Apache-2.0
"""Data directories with a journal of 222 writes, and what can be read from them."""

from __future__ import annotations

import shutil
from pathlib import Path

from embedded_apiserver.storage.journal import SQLiteJournal

DATABASE, LOG, WITNESS = "objects.sqlite", "objects.sqlite-wal", "acknowledged"
COUNT = 150
"""The objects created; so few that all writes fit into the write-ahead log."""
FIRST = 5_000
"""The version before the first one."""

Rows = dict[str, tuple[int, bytes]]


def raw_of(number: int) -> bytes:
    """Return the bytes of an object; different numbers give different lengths."""
    return b'{"metadata":{"name":"t%d"},"data":"%b"}' % (number, b"x" * (number * 37 % 900))


def write_all(journal: SQLiteJournal) -> None:
    """Make 222 writes: create `COUNT` objects, change each third and delete each seventh of them."""
    version = FIRST
    for number in range(COUNT):
        journal.write("things", f"t{number}", version := version + 1, raw_of(number))
        if number % 3 == 0:
            journal.write("things", f"t{number}", version := version + 1, raw_of(number + 1))
        if number % 7 == 0:
            journal.write("things", f"t{number}", version := version + 1, None)


def rows_of(directory: Path, *, accept_loss: bool = False) -> Rows:
    """Open a directory and close it again; return its objects, each with its version, by key."""
    journal = SQLiteJournal(directory, accept_loss=accept_loss)
    rows = {item.key: (item.version, item.raw) for _, item in journal.load()[1]}
    journal.close()
    return rows


def content_of(directory: Path) -> dict[str, bytes]:
    """Return the content of each file. Empty files are left out, because SQLite treats them like missing ones."""
    files = {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}
    return {name: content for name, content in files.items() if content}


def rows_of_copy(directory: Path, copy: Path) -> Rows:
    """Copy a directory and return the objects of the copy, so that the directory itself is not opened."""
    shutil.copytree(directory, copy)
    return rows_of(copy)
