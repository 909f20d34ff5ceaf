# SPDX-License-Identifier: Apache-2.0
"""`pytest --perturb` as its users run it: which runs there are, what they are called, and what is said of failures."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest
from kit.processes.inline_pytest import Printed, run_printed

pytestmark = pytest.mark.ends

OPERATOR = """
import unittest
import attrs, pytest
from controller_runtime import Controller, ObjectKey, Reconciler, Result
from controller_runtime.errors import AlreadyExists
from controller_runtime.resources import CONFIG_MAPS, PODS

@attrs.frozen
class OnePod(Reconciler):
    maps: object
    pods: object
    client: object
    generates = False

    def reconcile(self, request):
        found = self.maps.get(request)
        if found is None:
            for pod in self.client.list(PODS, request.namespace, label_selector=f"of={request.name}", view=dict):
                self.client.delete(PODS, ObjectKey(pod["metadata"]["name"], request.namespace))
            return Result()
        if not self.pods.list(selector=f"of={request.name}"):
            metadata = {"namespace": request.namespace, "labels": {"of": request.name}}
            metadata |= {"generateName": "p-"} if self.generates else {"name": f"p-{request.name}"}
            try:
                self.client.create(PODS, {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i"}]}})
            except AlreadyExists:
                pass
        if "seen" not in found.get("data", {}):
            self.client.patch(CONFIG_MAPS, request, {"data": {"seen": "yes"}})
        return Result()

class TwoPods(OnePod):
    generates = True

def setup(kind):
    def run(manager):
        maps, pods = manager.lister(CONFIG_MAPS, dict), manager.lister(PODS, dict)
        manager.add(Controller("one-pod", kind(maps, pods, manager.client)).watch(CONFIG_MAPS))
    return run

def story(cluster, simulation, names="ab"):
    for name in names:
        cluster.user.create(CONFIG_MAPS, {"metadata": {"name": name, "namespace": "default"}})
        simulation.settle()
"""
RIGHT = """
def test_right(cluster, simulation):
    cluster.run(setup(OnePod))
    story(cluster, simulation)
"""
WRONG = """
@pytest.fixture(scope="module")
def shared():
    made = []
    yield made
    print("shared by", len(made))

class TestScales:
    @pytest.mark.parametrize("names", ["ab"])
    def test_wrong(self, cluster, simulation, names, shared):
        shared.append(1)
        cluster.run(setup(TwoPods))
        story(cluster, simulation, names)
"""
REFUSED = """
def test_part(cluster, simulation):
    cluster.run(setup(OnePod))
    cluster.client.list(PODS)

def test_start(cluster):
    cluster.start()

@pytest.mark.unperturbed("it takes long")
def test_marked(cluster):
    cluster.run(setup(OnePod))

@pytest.mark.xfail(strict=True)
def test_fails(cluster):
    cluster.run(setup(OnePod))
    assert False

class TestUnits(unittest.TestCase):
    def test_unit(self):
        pass

def test_without_a_cluster():
    pass
"""


Run = Callable[..., Printed]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs pytest in this process, which spares the imports, on a file of tests with the operator above."""
    monkeypatch.chdir(tmp_path)  # the files that options name are those of the run

    def run(text: str, *options: str) -> Printed:
        (tmp_path / "test_it.py").write_text(OPERATOR + text, encoding="utf-8")
        return run_printed(tmp_path, capsys, "--import-mode=importlib", *options)

    return run


def test_a_right_program_passes_all_its_plans_and_a_bare_flag_leaves_the_path_alone(run: Run) -> None:
    outcome = run(RIGHT, "-v", "--perturb", "test_it.py")

    assert outcome.status == 0
    text = outcome.text
    assert "test_it.py::test_right[crash before write 1] PASSED" in text
    assert re.search(r"test_it.py::test_right: passed \(\d+ possible, \d+ run, \d+ pruned", text)
    assert "1 test perturbed, 0 of" in text
    assert "[200%]" not in text


def test_a_failure_is_named_explained_shrunk_and_replayed_from_its_file(run: Run, tmp_path: Path) -> None:
    outcome = run(
        WRONG,
        "--perturb",
        "test_it.py",
        "--junitxml=all.xml",
    )

    text = outcome.text
    name = r"test_it.py::TestScales::test_wrong\[ab\]\[stale pods from version \d+ on\]"
    assert re.search(f"FAILED {name}", text)
    assert "stale (lawful): step " in text
    assert "the manager did not see until all else was at rest: the creation of pods default/p-*" in text
    assert re.search(r"pods default/p-\* was created \d times, and once in a calm run", text)
    assert re.search(r"story, the smallest that fails: 1 create configmaps default/\w\n", text)
    assert re.search(r"shared by \d\d", text), "the fixture of the module was made once"
    assert text.count("shared by") == 1
    cases = [case.get("name", "") for case in ElementTree.parse(tmp_path / "all.xml").iter("testcase")]
    assert len(cases) == len({*cases}) > 5

    [replay] = {*re.findall(r"replay: pytest '(.+)' (--perturb-script=\S+)", text)[:1]}
    again = run(WRONG, *replay)
    assert "1 failed, 1 passed" in again.text
    assert "the smallest that fails: 1 create" in again.text


def test_tests_that_cannot_be_perturbed_are_listed_with_the_line_that_prevents_it(run: Run) -> None:
    outcome = run(REFUSED, "--perturb")

    assert "5 passed, 1 xfailed" in outcome.text
    for line in (
        r"test_it.py::test_fails: not perturbed: it does not pass without a perturbation",
        r"test_it.py::test_marked: not perturbed: it takes long",
        r"test_it.py::test_part: not perturbed: \S*test_it.py:\d+: it takes the cluster's client, which is another",
        r"test_it.py::test_start: not perturbed: \S*test_it.py:\d+: the manager is started by start\(\), not by run",
        r"0 tests perturbed, .*4 not perturbed",
    ):
        assert re.search(line, outcome.text)
    assert "test_unit:" not in outcome.text
    assert "test_without_a_cluster:" not in outcome.text


def test_checks_of_the_test_itself_are_asked_after_each_write_and_at_rest(run: Run) -> None:
    text = """
def test_own(cluster, simulation):
    cluster.run(setup(KIND))
    def two_pods_at_most():
        assert len(cluster.user.list(PODS, view=dict)) <= 2, "three pods"
    cluster.always(two_pods_at_most)
    cluster.eventually(lambda: len(cluster.user.list(PODS, view=dict)) == 2)
    story(cluster, simulation)
"""

    assert run(text.replace("KIND", "OnePod"), "--perturb").status == 0
    outcome = run(text.replace("KIND", "TwoPods"), "--perturb=stale")

    told = outcome.text
    assert re.search(
        r"always two_pods_at_most \(\S*test_it.py:\d+\) does not hold after the creation of pods def", told
    )
    assert re.search(r"eventually \(\S*test_it.py:\d+\) does not hold at rest: it returned False", told)
    assert "AssertionError: three pods" in told


def test_an_act_that_cannot_be_done_and_a_panic_are_findings_with_their_plan(run: Run) -> None:
    text = """
class NotesFirst(OnePod):
    def reconcile(self, request):
        found = self.maps.get(request)
        if found is not None and "seen" not in found.get("data", {}):
            self.client.patch(CONFIG_MAPS, request, {"data": {"seen": "yes"}})
            metadata = {"name": "p", "namespace": "default"}
            self.client.create(PODS, {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "i"}]}})
        return Result()

def test_acts(cluster, simulation):
    cluster.run(setup(NotesFirst))
    story(cluster, simulation, "a")
    cluster.user.patch(PODS, ObjectKey("p", "default"), {"metadata": {"labels": {"a": "b"}}})

class Panics(OnePod):
    def reconcile(self, request):
        found = self.maps.get(request)
        live = self.client.get(CONFIG_MAPS, request, dict)  # the cache may be between our two writes in each run
        if live.get("data", {}) == {"first": "yes"}:
            self.client.patch(CONFIG_MAPS, request, {"data": {"second": "yes"}})
            raise ValueError("half a map")
        for word in ("first", "second") if found is not None and "data" not in found else ():
            self.client.patch(CONFIG_MAPS, request, {"data": {word: "yes"}})
        return Result()

def test_panics(cluster, simulation):
    cluster.run(setup(Panics))
    story(cluster, simulation, "a")
"""

    outcome = run(text, "--perturb=crash")

    assert re.search(r"FAILED test_it.py::test_acts\[crash after write 1\]", outcome.text)
    assert "pods default/p: there in a calm run, absent here" in outcome.text
    assert re.search(r"replay: pytest test_it.py::test_acts --perturb-script=\S+/test_acts-crash", outcome.text)
    assert re.search(r"FAILED test_it.py::test_panics\[crash after write 1\]", outcome.text)
    assert "half a map" in outcome.text
    assert re.search(r"replay: pytest test_it.py::test_panics --perturb-script=\S+/test_panics-crash", outcome.text)
    assert "ERROR at teardown" not in outcome.text


def test_a_plan_that_could_not_happen_is_skipped_with_its_reason(run: Run, tmp_path: Path) -> None:
    plan = {"test": "test_it.py::test_right", "plan": {"plan": "Crash", "write": 99, "landed": True}}
    (tmp_path / "plan.json").write_text(json.dumps(plan), encoding="utf-8")

    outcome = run(RIGHT, "-rs", "--perturb-script=plan.json")

    assert "1 passed, 1 skipped" in outcome.text
    assert "could not happen: the run had no such point" in outcome.text
    assert "1 could not happen" in outcome.text


def test_values_that_are_not_compared_are_named_and_a_run_with_too_many_is_not_judged(run: Run) -> None:
    text = """
class Draws(OnePod):
    def reconcile(self, request):
        found = self.maps.get(request)
        if found is not None and "data" not in found:
            drawn = {f"v{at}": str(simulations[-1].random()) for at in range(COUNT)}
            self.client.patch(CONFIG_MAPS, request, {"data": drawn})
        return Result()

simulations = []

def test_draws(cluster, simulation):
    import random
    simulations.append(random)
    cluster.run(setup(Draws))
    story(cluster, simulation, "a")
"""

    few = run(text.replace("COUNT", "1"), "--perturb=crash")
    many = run(text.replace("COUNT", "9"), "--perturb=crash", "-rs")

    assert "test_draws: passed" not in many.text
    assert re.search(r"test_draws: not judged \(", many.text)
    assert "not judged: 1 of 1 objects and 2 of 11 values are compared; not compared, as calm runs differ" in many.text
    assert "  not compared, as calm runs differ: configmaps default/a data.v0" in few.text


def test_a_value_that_was_the_same_in_three_calm_runs_by_chance_fails_no_plan(run: Run) -> None:
    text = """
class Draws(OnePod):
    def reconcile(self, request):
        found = self.maps.get(request)
        if found is not None and "data" not in found:
            self.client.patch(CONFIG_MAPS, request, {"data": {"color": self.color}})
        return Result()

drawn = ["red"] * 4 + ["blue"] * 4

def test_draws(cluster, simulation):
    def start(manager):
        Draws.color = drawn.pop(0) if drawn else "red"
        setup(Draws)(manager)
    cluster.run(start)
    story(cluster, simulation, "a")
"""

    outcome = run(text, "--perturb=crash")

    assert "0 of 3 plans failed" in outcome.text
    assert "  not compared, as calm runs differ: configmaps default/a data.color" in outcome.text


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("--perturb=crsh", "--perturb: there is no pattern 'crsh'; write --perturb alone"),
        ("--perturb-script=none.json", "--perturb-script=none.json: No such file"),
        ("--perturb-script=test_it.py", "--perturb-script=test_it.py: not a file that --perturb wrote"),
    ],
)
def test_a_bad_option_is_one_line(run: Run, option: str, told: str) -> None:
    outcome = run(RIGHT, option)

    assert outcome.status == pytest.ExitCode.USAGE_ERROR
    assert told in outcome.errors
    assert len(outcome.errors.strip().splitlines()) == 1


def test_the_first_failure_or_the_budget_ends_the_plans(run: Run) -> None:
    outcome = run(WRONG, "--perturb", "-x")
    assert re.search(r"1 failed, \d+ passed", outcome.text)

    outcome = run(RIGHT, "--perturb", "--perturb-budget=0.001")
    assert re.search(r"\d+ run, \d+ pruned, (1 could not happen, )?\d+ left out by --perturb-budget", outcome.text)


def test_a_story_that_begins_in_a_fixture_is_shrunk_by_the_steps_of_the_test_alone(run: Run) -> None:
    text = """
@pytest.fixture
def begun(cluster, simulation):
    cluster.run(setup(TwoPods))
    story(cluster, simulation, "a")

def test_begun(cluster, simulation, begun):
    story(cluster, simulation, "bc")
"""

    outcome = run(text, "--perturb=stale")

    assert " error" not in outcome.text
    assert re.search(
        r"the smallest that fails: 1 create configmaps default/a(, 2 create configmaps default/\w)?\n", outcome.text
    )


def test_workers_of_xdist_report_the_same(run: Run) -> None:
    outcome = run(WRONG + RIGHT, "--perturb=stale", "-n1")

    text = outcome.text
    assert re.search(r"FAILED test_it.py::TestScales::test_wrong\[ab\]\[stale pods from version \d+ on\]", text)
    assert "2 tests perturbed" in text
