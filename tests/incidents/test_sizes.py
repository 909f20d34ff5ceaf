# SPDX-License-Identifier: Apache-2.0
"""A record fits into a file that a replay reads, whatever its lines hold; one that does not has no file."""

from __future__ import annotations

import logging

import attrs
import msgspec
import pytest
from kit.incidents.recording import acting, recorded

from controller_runtime.controller.reconciler import Request
from controller_runtime.incidents.incident import MOST_BYTES, Incident, Line, compact, decode
from controller_runtime.manager.manager import Manager


@pytest.mark.parametrize("character", ["漢", "\x01", "\ud800"], ids=["wide", "control", "surrogate"])
def test_lines_count_by_the_bytes_that_they_take_in_the_file(character: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Those of pytest would carry the lines to another process, as UTF-8, which has no surrogates.
    monkeypatch.setattr(logging.getLogger(), "handlers", [])

    def act(manager: Manager, request: Request) -> None:
        for _ in range(100):
            logging.getLogger("theirs").warning(character * 10_000)

    with recorded(acting(act)) as recording:
        recording.create("a")
        raw = recording.first().file()

    assert raw is not None
    assert "lines of the log" in decode(raw, "file").cut[0]


def test_a_record_that_no_replay_would_read_has_no_file() -> None:
    with recorded(acting(lambda manager, request: None)) as recording:
        recording.create("a")
        kept = recording.first()
    incident = kept.incident()

    def of(size: int) -> Incident:
        return msgspec.structs.replace(incident, lines=[Line("info", "a", "x" * size)])

    fits = MOST_BYTES - len(compact(of(0)))
    raw = attrs.evolve(kept, incident=lambda: of(fits)).file()
    assert raw is not None
    assert len(raw) == MOST_BYTES
    assert attrs.evolve(kept, incident=lambda: of(fits + 1)).file() is None
