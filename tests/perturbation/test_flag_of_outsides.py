# SPDX-License-Identifier: Apache-2.0
"""`pytest --perturb` on a program with an outside: the names of the runs, the report and the replay."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from kit.processes.inline_pytest import run_printed

pytestmark = pytest.mark.once

TEST = """
import attrs
from controller_runtime import Controller, ObjectKey, Reconciler, Result
from controller_runtime.errors import TemporaryError
from controller_runtime.resources import CONFIG_MAPS
from controller_runtime.testing.outside import outside, reads

HELD = "example.com/held"

class Down(Exception):
    pass

@outside(refused=Down, timed_out=Down)
class Topics:
    def __init__(self):
        self.state = {}

    def open(self, name):
        self.state[name] = {"size": 1}

    def close(self, name):
        self.state.pop(name, None)

    @reads
    def names(self):
        return sorted(self.state)

@attrs.frozen
class Opens(Reconciler):
    maps: object
    client: object
    topics: object

    def reconcile(self, request):
        found = self.maps.get(request)
        if found is None:
            return Result()
        if HELD not in found["metadata"].get("finalizers", []):
            if "deletionTimestamp" not in found["metadata"]:
                self.client.patch(CONFIG_MAPS, request, {"metadata": {"finalizers": [HELD]}})
            return Result()
        try:
            if "deletionTimestamp" not in found["metadata"]:
                if request.name not in self.topics.names():
                    self.topics.open(request.name)
                return Result()
            self.release(request)
        except Down as error:
            raise TemporaryError(str(error)) from error
        return Result()

    def release(self, request):
        self.topics.close(request.name)
        self.client.patch(CONFIG_MAPS, request, {"metadata": {"finalizers": None}})

class Forgets(Opens):
    def release(self, request):
        try:
            self.topics.close(request.name)
        except Down:
            pass
        self.client.patch(CONFIG_MAPS, request, {"metadata": {"finalizers": None}})

def story(cluster, simulation, kind):
    topics = cluster.outside(Topics())
    def setup(manager):
        opens = kind(manager.lister(CONFIG_MAPS, dict), manager.client, topics)
        manager.add(Controller("topics", opens).watch(CONFIG_MAPS))
    cluster.run(setup)
    for name in "ab":
        cluster.user.create(CONFIG_MAPS, {"metadata": {"name": name, "namespace": "default"}})
        simulation.settle()
    assert topics.state == {"a": {"size": 1}, "b": {"size": 1}}
    topics.close("b")  # somebody's drift
    cluster.user.patch(CONFIG_MAPS, ObjectKey("b", "default"), {"data": {"again": "yes"}})
    simulation.settle()
    cluster.user.delete(CONFIG_MAPS, ObjectKey("a", "default"))
    simulation.settle()

def test_right(cluster, simulation):
    story(cluster, simulation, Opens)

def test_wrong(cluster, simulation):
    story(cluster, simulation, Forgets)
"""


def test_a_program_with_an_outside_is_perturbed_told_of_shrunk_and_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_it.py").write_text(TEST, encoding="utf-8")

    right = run_printed(
        tmp_path, capsys, "--import-mode=importlib", "--perturb=outside", "-v", "test_it.py::test_right"
    )
    assert right.status == 0, right.text
    for run in ("refused at call 2", "request lost at call 3", "answer lost at call 3", "late at call 3"):
        assert f"test_it.py::test_right[{run}] PASSED" in right.text
    assert "not compared" not in right.text

    wrong = run_printed(tmp_path, capsys, "--import-mode=importlib", "--perturb=outside", "test_it.py::test_wrong")
    found = re.search(
        r"""outside \(lawful\): step 2: call \d+, Topics.close\('a'\), was refused before it was sent
  Topics a: absent in a calm run, {'size': 1} here
  story, the smallest that fails: 1 create configmaps default/a, 2 delete configmaps default/a
  remedy: turn the errors of the service's library into a TemporaryError .*
  replay: pytest test_it.py::test_wrong (--perturb-script=\S+)""",
        wrong.text,
    )
    assert found is not None, wrong.text
    assert "3 call Topics.close('b'), 4 patch configmaps default/b, 5 delete configmaps default/a" in wrong.text
    assert "2 of" in wrong.text

    again = run_printed(tmp_path, capsys, "--import-mode=importlib", found[1], "test_it.py::test_wrong")
    assert "Topics a: absent in a calm run, {'size': 1} here" in again.text
    assert "1 of 1 plans failed" in again.text


def test_plans_are_listed_and_none_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_it.py").write_text(TEST, encoding="utf-8")

    options = ("--perturb=outside", "--perturb-list", "test_it.py::test_wrong")
    listed = run_printed(tmp_path, capsys, "--import-mode=importlib", *options)
    assert listed.status == 0, listed.text
    assert re.search(r"test_it.py::test_wrong: \d+ possible, 0 run", listed.text)
    assert "\n  refused at call 2\n" in listed.text
    assert "refused at call 2]" not in listed.text
