# SPDX-License-Identifier: Apache-2.0
"""A kill at any moment damages nothing: the next start finds all acknowledged writes and does not complain."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from kit.apiserver.journals import DATABASE, FIRST, LOG, WITNESS, Rows, raw_of, rows_of, rows_of_copy

from embedded_apiserver.storage.journal import SQLiteJournal


def test_each_moment_of_a_kill_is_without_complaint(tmp_path: Path) -> None:
    journal = SQLiteJournal(tmp_path / "data")
    kept: Rows = {}
    for number in range(12):
        raw = None if number % 4 == 3 else raw_of(number)
        key = f"t{number - number % 4 // 3}"
        witness = (tmp_path / "data" / WITNESS).read_bytes()
        journal.write("things", key, FIRST + number, raw)
        if raw is None:
            del kept[key]
        else:
            kept[key] = (FIRST + number, raw)
        # Killed between the transaction and the write of the witness, and then after both.
        for name, known in (("before", witness), ("after", None)):
            shutil.copytree(tmp_path / "data", tmp_path / name)
            if known is not None:
                (tmp_path / name / WITNESS).write_bytes(known)
            assert rows_of(tmp_path / name) == kept
            assert rows_of(tmp_path / name) == kept
            shutil.rmtree(tmp_path / name)
    journal.close()


@pytest.mark.parametrize(
    "left",
    [
        pytest.param({WITNESS: b""}, id="before the first file was built"),
        pytest.param({WITNESS: b"", f"{DATABASE}.new": b"half", f"{DATABASE}.new-journal": b"half"}, id="while it was"),
        pytest.param({DATABASE: b"", f"{DATABASE}-journal": b""}, id="by the first version of the server"),
    ],
)
def test_a_kill_in_the_first_start_is_no_damage(tmp_path: Path, left: dict[str, bytes]) -> None:
    for name, content in left.items():
        (tmp_path / name).write_bytes(content)

    journal = SQLiteJournal(tmp_path)
    journal.write("things", "a", 1, raw_of(1))
    journal.close()

    assert rows_of(tmp_path) == {"a": (1, raw_of(1))}
    assert {path.name for path in tmp_path.iterdir()} == {DATABASE, WITNESS}


def test_a_kill_in_the_first_start_after_the_database_was_built_is_no_damage(tmp_path: Path) -> None:
    SQLiteJournal(tmp_path).close()
    (tmp_path / WITNESS).write_bytes(b"")

    assert rows_of(tmp_path) == {}


def test_a_kill_while_the_files_were_inspected_leaves_them_whole(killed: Path) -> None:
    whole = rows_of_copy(killed, killed.parent / "whole")
    for name in (DATABASE, LOG):
        os.link(killed / name, killed / name.replace(DATABASE, f"{DATABASE}.read"))

    assert rows_of(killed) == whole
    assert {path.name for path in killed.iterdir()} == {DATABASE, WITNESS}


def test_a_log_that_ends_in_half_a_transaction_is_no_damage(killed: Path) -> None:
    whole = rows_of_copy(killed, killed.parent / "whole")
    content = (killed / LOG).read_bytes()
    (killed / LOG).write_bytes(content + content[32 : 32 + 4000])  # as after a kill in the middle of a write

    assert rows_of(killed) == whole
