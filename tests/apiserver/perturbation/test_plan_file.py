# SPDX-License-Identifier: Apache-2.0
"""A perturbation in a file is read as it was written, or refused in one line that says how to mend it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from embedded_apiserver.__main__ import main
from embedded_apiserver.perturbation.plan_file import Perturbation, read, to_fields
from embedded_apiserver.perturbation.triggers import AtChange, AtRest, AtWrite, Trigger


@pytest.mark.parametrize(
    "trigger",
    [
        AtWrite("PATCH pods default/* status", 2, landed=False),
        AtChange("pods", "", 3, is_missed=False),
        AtChange("pods", "pods default/a", 1, is_missed=True),
        AtRest(0, "", 0, "pods default/a", 2),
        AtRest(0, "pods", 1, "", 0),
    ],
)
def test_a_perturbation_is_read_as_perturb_writes_it(tmp_path: Path, trigger: Trigger) -> None:
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"plan": {"plan": "Crash"}, **to_fields(trigger)}), encoding="utf-8")

    assert read(path) == Perturbation(trigger)


def test_a_plan_by_hand_needs_the_least(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text("missed: {object: pods default/a}\nforced: true\nclient: kopf\nquiet: 3\n", encoding="utf-8")

    assert read(path) == Perturbation(AtChange("pods", "pods default/a", 1, is_missed=True), "kopf", True, 3.0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "a plan has one of crash, restart, late, missed, stale, such as `crash: {write: POST pods default/"),
        ("{crash: {write: a}, late: {}}", "a plan has one of crash, restart, late, missed, stale, such as"),
        ("crash: {}", "`crash` needs the field `write`"),
        ("crash: 3", "`crash` has the fields write, occurrence, landed, and not 3"),
        ("crash: {write: a, number: 1}", "`crash` has no field 'number': there are write, occurrence, landed"),
        ("crash: {write: a, occurrence: yes}", "`crash`: `occurrence` is a whole number from 0, and not True"),
        ("{restart: {}, quiet: -1}", "a plan: `quiet` is seconds, and not -1.0"),
        ("{crash: {write: a}, user: b}", "a plan has no field 'user': there are client, forced, quiet, plan"),
        ("{crash: {write: a}, forced: true}", "`forced` belongs to missed and stale: a lawful cluster may do each"),
        ("crash: {", "neither YAML nor JSON: "),
        ("restart: {}", "a plan that ends a client at rest needs --perturb-restart COMMAND"),
        (None, "No such file or directory"),
    ],
)
def test_other_files_are_refused_by_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, message: str
) -> None:
    path = tmp_path / "plan.yaml"
    if text is not None:
        path.write_text(text, encoding="utf-8")

    assert main(["--perturb", str(path)]) == 2

    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: --perturb {path}: ")
    assert message in line


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "error: --perturb-restart needs --perturb PLAN, which says when the client ends"),
        (("--perturb", "{path}"), 'error: --perturb-restart kill ": no closing quotation'),
    ],
)
def test_a_command_for_nothing_or_of_no_words_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text("restart: {}", encoding="utf-8")

    assert main([*(each.format(path=path) for each in arguments), "--perturb-restart", 'kill "']) == 2

    assert capsys.readouterr().err == f"{message}\n"
