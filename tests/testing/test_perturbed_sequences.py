# SPDX-License-Identifier: Apache-2.0
"""`pytest --perturb=sequence`, as users of pytest run it, and what it prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from kit.processes.inline_pytest import run_printed

TEST = """
from controller_runtime import Controller, Reconciler, Result
from controller_runtime.resources import CONFIG_MAPS, SECRETS

class Copies(Reconciler):
    def __init__(self, maps, client):
        self.maps, self.client = maps, client

    def reconcile(self, request):
        given = self.maps.get(request)
        if given is not None and "copied" in given.get("data", {}):
            metadata = {"name": request.name, "namespace": request.namespace}
            body = {"metadata": metadata, "stringData": given["data"]}
            self.client.apply(SECRETS, body, field_manager="copies", force=True)
        return Result()

def setup(manager):
    manager.add(Controller("copies", Copies(manager.lister(CONFIG_MAPS, dict), manager.client)).watch(CONFIG_MAPS))

def test_copies(cluster, simulation):
    cluster.run(setup)
    cluster.user.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "default"}, "data": {"copied": "1"}})
    simulation.settle()
    assert cluster.user.list(SECRETS)
"""


def test_a_failing_sequence_is_told_as_patches_and_replayed_from_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_it.py").write_text(TEST, encoding="utf-8")

    printed = run_printed(tmp_path, capsys, "--perturb=sequence").text

    assert "sequence (lawful): 2 states of configmaps default/a" in printed
    assert "1. declared: the story's first state" in printed
    assert "secrets default/a: absent in a calm run, there here" in printed
    (script,) = re.findall(r"--perturb-script=(\S+)", printed)

    again = run_printed(tmp_path, capsys, f"--perturb-script={script}").text

    assert "2 states of configmaps default/a" in again
    assert "secrets default/a: absent in a calm run, there here" in again
