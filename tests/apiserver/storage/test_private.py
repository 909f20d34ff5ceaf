# SPDX-License-Identifier: Apache-2.0
"""The modes of a data directory and its files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from kit.apiserver.journals import DATABASE, LOG, WITNESS, raw_of

from apimachinery.log import text_of
from embedded_apiserver.storage.journal import SQLiteJournal


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_directory_and_files_are_for_their_owner_alone_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        journal = SQLiteJournal(tmp_path / "data")
        journal.write("things", "a", 1, raw_of(1))
    finally:
        os.umask(before)

    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "data").iterdir()}
    journal.close()
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
    assert modes == dict.fromkeys((DATABASE, LOG, WITNESS), 0o600)


def test_a_directory_that_others_may_read_is_told_in_one_line_with_the_remedy(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = tmp_path / "data of mine"
    SQLiteJournal(data).close()
    assert not caplog.records
    data.chmod(0o755)
    (data / DATABASE).chmod(0o644)

    SQLiteJournal(data).close()

    told = f"other users may read what the server keeps: run chmod go= '{data}' '{data / DATABASE}'"
    assert [text_of(record) for record in caplog.records] == [told]
