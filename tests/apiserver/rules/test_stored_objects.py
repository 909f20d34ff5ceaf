# SPDX-License-Identifier: Apache-2.0
"""Objects of all built-in kinds are stored as a real server stores them: recorded answers, replayed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from kit.asking import Asking
from kit.stored_samples import Case, cases, comparable

FILE = Path(__file__).resolve().parents[2] / "data" / "stored-objects-1.36.json.gz"
RECORDED: dict[str, Any] = json.loads(gzip.decompress(FILE.read_bytes()))


@pytest.mark.parametrize("number", range(48))
def test_objects_are_stored_as_a_real_server_stores_them(number: int, ask: Asking) -> None:
    for case in (one for one in cases() if one.name.split()[0] == str(number) and one.name in RECORDED):
        assert comparable(_created(ask, case)) == RECORDED[case.name], case.name


def _created(ask: Asking, case: Case) -> Any:
    group = f"/apis/{case.kind.group}/{case.kind.version}" if case.kind.group else "/api/v1"
    middle = "/namespaces/default" if case.kind.namespaced else ""
    return ask.ok("POST", f"{group}{middle}/{case.kind.plural}", case.body, dryRun="All")
