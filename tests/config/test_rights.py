# SPDX-License-Identifier: Apache-2.0
"""Each file of `config/rights` grants what its program asks of a server, in the right place, and no more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from kit.controllers.bundled_programs import PROGRAMS, RIGHTS, SUBJECT, BundledProgram

from controller_runtime.testing import Simulation

FILES = sorted(RIGHTS.glob("*.yaml"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_program_runs_with_the_rights_of_its_file_which_are_those_it_asks_for(
    simulation: Simulation, program: BundledProgram
) -> None:
    asked = program.asked(simulation, role=[program.file, *program.others()])

    again = "python tests/tools/rights.py writes it"
    assert program.text(asked) == program.file.read_text(encoding="utf-8"), again


def test_each_file_has_a_program() -> None:
    assert sorted(program.file for program in PROGRAMS) == FILES


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_role_is_bound_to_the_service_account_of_the_deployment(file: Path) -> None:
    documents: list[dict[str, Any]] = [*yaml.safe_load_all(file.read_text(encoding="utf-8"))]
    roles = [(d["kind"], d["metadata"]) for d in documents if not d["kind"].endswith("Binding")]
    bindings = [d for d in documents if d["kind"].endswith("Binding")]

    assert [(d["roleRef"]["kind"], d["metadata"]) for d in bindings] == roles
    assert all(d["subjects"] == [SUBJECT] and d["roleRef"]["name"] == d["metadata"]["name"] for d in bindings)
