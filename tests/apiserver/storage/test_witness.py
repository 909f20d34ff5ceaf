# SPDX-License-Identifier: Apache-2.0
"""The witness: a mark is written completely or not at all, and nothing is acknowledged without one."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from kit.apiserver.journals import WITNESS, raw_of, rows_of

from embedded_apiserver.status import StatusError
from embedded_apiserver.storage.journal import SQLiteJournal
from embedded_apiserver.storage.witness import Mark, Witness


def test_a_mark_that_was_written_in_part_leaves_the_one_before_it(tmp_path: Path) -> None:
    witness = Witness(tmp_path)
    witness.begin(Mark(0, 0))
    for writes in range(1, 6):
        before = (tmp_path / WITNESS).read_bytes()
        witness.note(Mark(writes, 100 + writes))
        after = (tmp_path / WITNESS).read_bytes()
        changed = [place for place in range(len(after)) if before[place] != after[place]]

        for written in changed:
            (tmp_path / WITNESS).write_bytes(after[: written + 1] + before[written + 1 :])
            assert witness.read() in (Mark(writes - 1, 99 + writes if writes > 1 else 0), Mark(writes, 100 + writes))
        (tmp_path / WITNESS).write_bytes(after)
    witness.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no disk that is always full")
def test_nothing_more_is_acknowledged_while_the_witness_cannot_be_written(tmp_path: Path) -> None:
    journal = SQLiteJournal(tmp_path)
    journal.write("things", "a", 1, raw_of(1))
    mine = journal._witness._descriptor
    kept, full = os.dup(mine), os.open("/dev/full", os.O_RDWR)
    os.dup2(full, mine)

    journal.write("things", "b", 2, raw_of(2))  # its transaction was complete before the witness failed
    with pytest.raises(StatusError, match="No space left"):
        journal.write("things", "c", 3, raw_of(3))
    os.dup2(kept, mine)
    journal.write("things", "d", 3, raw_of(4))
    journal.close()
    os.close(kept)
    os.close(full)

    assert rows_of(tmp_path).keys() == {"a", "b", "d"}
