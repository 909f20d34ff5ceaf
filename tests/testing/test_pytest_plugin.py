# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin, in a process of its own, as users of pytest run it."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys
from pathlib import Path

import pytest

from controller_runtime.testing import EmbeddedCluster, Simulation

PLUGIN = "controller_runtime.testing.pytest_plugin"


def run(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Run a file of tests with the plugin and without this project's own configuration of pytest."""
    (folder / "test_it.py").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", PLUGIN, "-p", "no:cacheprovider", "-c", "/dev/null"]
    return subprocess.run(
        [*command, "--rootdir", str(folder), "-v", str(folder)], capture_output=True, text=True, check=False
    )


def test_the_plugin_costs_nothing_until_it_is_used() -> None:
    program = f"import pytest, sys; before = {{*sys.modules}}; import {PLUGIN}; print(*{{*sys.modules}} - before)"

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert set(done.stdout.split()) <= {"controller_runtime", "controller_runtime.testing", PLUGIN}


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


def test_a_thread_that_fails_fails_its_test_whose_name_tells_the_seed(tmp_path: Path) -> None:
    text = """
import pytest

def fail():
    raise ZeroDivisionError("in a thread")

@pytest.mark.parametrize("simulation_seed", [1, 2])
def test_it(simulation, simulation_seed):
    simulation.host("here").spawn("failing", fail)
    simulation.settle()
"""

    outcome = run(tmp_path, text)

    assert outcome.returncode == 1
    assert "2 failed" in outcome.stdout
    assert "test_it[2]" in outcome.stdout
    assert "in a thread" in outcome.stdout


@pytest.mark.parametrize(
    ("marker", "told"),
    [
        pytest.param("embedded_cluster(True)", "takes options by name", id="an option without a name"),
        pytest.param("embedded_cluster(garbage=True)", "unexpected keyword argument 'garbage'", id="an unknown option"),
    ],
)
def test_a_marker_that_makes_no_sense_is_refused(marker: str, told: str, tmp_path: Path) -> None:
    outcome = run(tmp_path, f"import pytest\n\n@pytest.mark.{marker}\ndef test_it(cluster): pass\n")

    assert outcome.returncode == 1
    assert told in outcome.stdout
