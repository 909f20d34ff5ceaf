# SPDX-License-Identifier: Apache-2.0
"""The command finds the bug of an operator that it knows nothing of, over TLS, and none in the mended one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from kit.processes.commands import run_command

from controller_runtime.testing.perturbation.others.command import perturb
from controller_runtime.testing.perturbation.others.results import planned, written
from controller_runtime.testing.perturbation.plans import Crash
from embedded_apiserver.perturbation.plan_file import Perturbation, read
from embedded_apiserver.perturbation.triggers import AtWrite

OPERATOR = """
import attrs
from controller_runtime import *

@attrs.frozen
class Keeper(Reconciler):
    maps: Lister
    client: Client

    def reconcile(self, request):
        found = self.maps.get(request)
        if found is not None and "pod" not in (found.get("data") or {}):
            metadata = {"namespace": request.namespace, NAMED}
            spec = {"containers": [{"name": "c", "image": "i"}]}
            try:
                made = self.client.create(PODS, {"metadata": metadata, "spec": spec}).name
            except AlreadyExists:
                made = request.name
            self.client.patch(CONFIG_MAPS, request, {"data": {"pod": "made"}})
        return Result()

def setup(manager):
    maps = manager.lister(CONFIG_MAPS, dict)
    manager.add(Controller("keeper", Keeper(maps, manager.client)).watch(CONFIG_MAPS, when=matches("app=keeper")))

if __name__ == "__main__":
    run(setup)
"""
STORY = "steps: [{apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {app: keeper}}}}]"
SHOWN = [sys.executable, "-m", "controller_runtime.testing.perturb", "--story", "story.yaml", "--patterns", "crash"]


def perturbed(folder: Path, named: str) -> subprocess.CompletedProcess[str]:
    (folder / "operator.py").write_text(OPERATOR.replace("NAMED", named), encoding="utf-8")
    (folder / "story.yaml").write_text(STORY, encoding="utf-8")
    command = [*SHOWN, "--patience", "10", "--", sys.executable, "operator.py", "--kubeconfig", "{kubeconfig}"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.long
def test_a_creation_that_is_repeated_after_a_crash_is_found(tmp_path: Path) -> None:
    told = perturbed(tmp_path, '"generateName": f"{request.name}-"')

    assert told.returncode == 1, told.stdout + told.stderr
    assert "crash after write 1: FAILED 2 of 2" in told.stdout
    assert "pods default/a-* was created 2 times, and once in a calm run" in told.stdout


@pytest.mark.long
def test_nothing_is_found_in_the_mended_operator(tmp_path: Path) -> None:
    told = perturbed(tmp_path, '"name": request.name')

    assert (told.returncode, told.stderr) == (0, ""), told.stdout
    assert "0 plans failed" in told.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--story", "gone.yaml", "--", "true"], "Error: gone.yaml: No such file or directory"),
        (
            ["--story", "story.yaml", "--patterns", "crush", "--", "true"],
            "'crush' is not one of crash, outside, stale, missed",
        ),
        (
            ["--story", "story.yaml", "--replay", "gone", "--", "true"],
            "Error: --replay gone: No such file or directory",
        ),
        (
            ["--story", "story.yaml", "--shard", "3/2", "--", "true"],
            "Error: --shard 3/2: it takes the number of a part",
        ),
        (["--story", "story.yaml", "--update-baseline", "--", "true"], "--update-baseline needs --baseline FILE"),
        (["--story", "story.yaml", "--baseline", "story.yaml", "--", "true"], "Error: --baseline story.yaml: not a"),
        (["--story", "story.yaml", "--", "no-such-command"], "Error: cannot run no-such-command: No such file"),
    ],
)
def test_wrong_input_gets_one_line(
    tmp_path: Path,
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "story.yaml").write_text(STORY, encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    told = run_command(lambda: perturb.main(arguments), capsys)

    assert told.status == 2
    assert message in told.stderr
    assert "Traceback" not in told.stderr


def test_the_file_of_a_finding_is_a_plan_for_this_command_and_for_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found, trigger = Crash(3, landed=True), AtWrite("POST pods default/", 1, landed=True)

    path = written(found, trigger)

    assert planned(path) == found
    assert read(path) == Perturbation(trigger)
