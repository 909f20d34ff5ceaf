# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin, as users of pytest run it."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from kit.processes.inline_pytest import Printed, run_printed

from controller_runtime.testing import EmbeddedCluster, Simulation

pytestmark = pytest.mark.ends

PLUGIN = "controller_runtime.testing.pytest_plugin"


Run = Callable[..., Printed]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a file of tests with the plugin and without this project's own configuration of pytest, in this process."""

    def run(text: str) -> Printed:
        (tmp_path / "test_it.py").write_text(text, encoding="utf-8")
        return run_printed(tmp_path, capsys, "-v", "-W", "default")

    return run


def test_the_plugin_costs_nothing_until_it_is_used() -> None:
    program = f"import pytest, sys; before = {{*sys.modules}}; import {PLUGIN}; print(*{{*sys.modules}} - before)"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert set(done.stdout.split()) <= {
        "controller_runtime",
        "controller_runtime.testing",
        "controller_runtime.testing.markers",
        PLUGIN,
    }


def test_an_installed_package_announces_it_under_the_name_of_the_module() -> None:
    announced = importlib.metadata.entry_points(group="pytest11", name=PLUGIN)

    if not announced:
        pytest.skip("this is a clone whose metadata is older than the plugin")
    assert {entry.value for entry in announced} == {PLUGIN}


@pytest.mark.elsewhere("micronaut-projects/micronaut-kubernetes#43")
def test_the_fixtures_are_a_cluster_on_a_simulation(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.start()
    simulation.advance(3600.0)

    assert simulation.seed == 0
    assert cluster.host.name == "cluster"


@pytest.mark.parametrize("simulation_seed", [7])
def test_the_seed_can_be_chosen(simulation: Simulation, simulation_seed: int) -> None:
    assert simulation.seed == simulation_seed


def test_a_thread_that_fails_fails_its_test_whose_name_tells_the_seed(run: Run) -> None:
    text = """
import pytest

def fail():
    raise ZeroDivisionError("in a thread")

@pytest.mark.parametrize("simulation_seed", [1, 2])
def test_it(simulation, simulation_seed):
    simulation.host("here").spawn("failing", fail)
    simulation.settle()
"""

    outcome = run(text)

    assert outcome.status == 1
    assert "2 failed" in outcome.text
    assert "test_it[2]" in outcome.text
    assert "in a thread" in outcome.text


OPERATOR = """
import time
import pytest
from controller_runtime import Controller, Reconciler, Result
from controller_runtime.resources import NODES
from controller_runtime.testing import a_node

class Failing(Reconciler):
    def reconcile(self, request):
        BODY
        return Result()

@pytest.fixture
def node(cluster):
    cluster.run(lambda manager: manager.add(Controller("failing", Failing()).watch(NODES)))
    cluster.user.create(NODES, a_node("a"))
"""


def test_a_test_fails_if_its_reconciles_raise_unless_it_says_so(run: Run) -> None:
    text = (
        OPERATOR.replace("BODY", 'raise KeyError("team")')
        + """
def test_it(simulation, cluster, node):
    simulation.settle()

@pytest.mark.embedded_cluster(allow_panics=True)
def test_allowed(simulation, node):
    simulation.settle()

def test_expected(simulation, cluster):
    with cluster.expect_panics(KeyError):
        cluster.run(lambda manager: manager.add(Controller("failing", Failing()).watch(NODES)))
        cluster.user.create(NODES, a_node("a"))
        simulation.settle()
        cluster.stop()
"""
    )

    outcome = run(text)

    assert "1 failed, 2 passed" in outcome.text
    assert "FAILED" in outcome.text.partition("test_it.py::test_it ")[2].splitlines()[0], "in its call, not its end"
    assert "failing a: KeyError: 'team'" in outcome.text


def test_a_reconcile_that_blocks_in_real_time_is_named_and_the_next_test_runs(tmp_path: Path) -> None:
    text = (
        OPERATOR.replace("BODY", "time.sleep(3600)")
        + """
from controller_runtime.testing import EmbeddedCluster, Simulation

@pytest.fixture
def simulation(simulation_seed, request):
    with Simulation(simulation_seed, stuck_after=0.5 if request.node.name == "test_it" else 60.0) as simulation:
        yield simulation

def test_it(simulation, cluster, node):
    simulation.settle()

def test_next(simulation, cluster):
    cluster.start()
"""
    )

    (tmp_path / "test_it.py").write_text(text, encoding="utf-8")

    # In a process of its own: the thread that sleeps does not end.
    command = [sys.executable, "-m", "pytest", "-p", PLUGIN, "-p", "no:cacheprovider", "-c", os.devnull, "-v"]
    outcome = subprocess.run([*command, "--rootdir", tmp_path, tmp_path], capture_output=True, text=True, check=False)

    assert "1 failed, 1 passed" in outcome.stdout
    assert "cluster/failing/worker-0 is stuck outside the simulation" in outcome.stdout
    assert "time.sleep(3600)" in outcome.stdout


def test_code_that_asks_the_real_clock_is_warned_of(run: Run) -> None:
    text = (
        OPERATOR.replace("BODY", "time.time()")
        + """
def test_it(simulation, cluster, node):
    simulation.settle()
"""
    )

    outcome = run(text)

    assert "1 passed, 1 warning" in outcome.text
    assert "test_it.py:10: RealClockWarning: time.time asks the real clock" in outcome.text


@pytest.mark.parametrize(
    ("marker", "told"),
    [
        pytest.param("embedded_cluster(True)", "takes options by name", id="an option without a name"),
        pytest.param("embedded_cluster(garbage=True)", "unexpected keyword argument 'garbage'", id="an unknown option"),
    ],
)
def test_a_marker_that_makes_no_sense_is_refused(marker: str, told: str, run: Run) -> None:
    outcome = run(f"import pytest\n\n@pytest.mark.{marker}\ndef test_it(cluster): pass\n")

    assert outcome.status == 1
    assert told in outcome.text
