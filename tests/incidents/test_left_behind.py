# SPDX-License-Identifier: Apache-2.0
"""A failing test leaves the last reconciles of its controllers behind, and one that passes leaves nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from kit.incidents.recording import Acting

from apimachinery.objects import ObjectKey
from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Request
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.cluster import EmbeddedCluster
from controller_runtime.testing.left_behind import MOST_LEFT
from controller_runtime.testing.replay.comparing import Verdict
from controller_runtime.testing.replay.file import read
from controller_runtime.testing.replay.run import replay
from controller_runtime.testing.simulation import Simulation


def setup(manager: Manager) -> None:
    maps = manager.lister(CONFIG_MAPS, dict, namespace="default")

    def act(manager: Manager, request: Request) -> None:
        maps.get(request)

    for name in ("cabins", "others"):
        manager.add(Controller(name, Acting(manager, act)).watch(CONFIG_MAPS, namespace="default"))


def reconciled(cluster: EmbeddedCluster, sim: Simulation, count: int) -> None:
    cluster.run(setup)
    for number in range(count):
        cluster.user.create(CONFIG_MAPS, {"metadata": {"name": f"m{number}", "namespace": "default"}})
    sim.settle()


def failing(sim: Simulation, count: int, **options: Any) -> None:
    with EmbeddedCluster(sim.host("failing"), **options) as cluster:
        reconciled(cluster, sim, count)
        raise AssertionError


def test_a_failing_test_leaves_the_reconciles_of_the_controllers_that_it_names(
    sim: Simulation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError):
        failing(sim, 3, record=["cabins"])

    incidents = [read(path) for path in sorted(Path("incidents").iterdir())]
    assert {each.controller for each in incidents} == {"cabins"}
    assert {ObjectKey(each.name, each.namespace) for each in incidents} == {
        ObjectKey(f"m{n}", "default") for n in range(3)
    }
    assert all(replay(each, setup).verdict is Verdict.SAME for each in incidents)


def test_a_test_that_passes_and_one_that_records_nothing_leave_nothing(
    sim: Simulation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with EmbeddedCluster(sim.host("a"), record=[]) as cluster:
        reconciled(cluster, sim, 3)
    with pytest.raises(AssertionError):
        failing(sim, 3)

    assert [*tmp_path.iterdir()] == []


def test_a_failing_test_leaves_a_bounded_number_of_files(
    sim: Simulation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError):
        failing(sim, MOST_LEFT, record=[])

    assert len([*Path("incidents").iterdir()]) == MOST_LEFT


def test_the_fixture_leaves_them_once_its_test_fails(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest
        from controller_runtime import Controller, Reconciler, Result
        from controller_runtime.resources import CONFIG_MAPS

        class Nothing(Reconciler):
            def reconcile(self, request):
                return Result()

        @pytest.mark.embedded_cluster(record=["maps"])
        @pytest.mark.parametrize("fails", [True, False])
        def test_maps(cluster, simulation, fails):
            cluster.run(lambda manager: manager.add(Controller("maps", Nothing()).watch(CONFIG_MAPS)))
            cluster.user.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "default"}})
            simulation.settle()
            assert not fails
        """
    )
    pytester.runpytest_inprocess("-p", "no:cacheprovider").assert_outcomes(passed=1, failed=1)

    assert [path.name for path in (pytester.path / "incidents").iterdir()] == ["maps-2026-01-01T00-00-00.json"]
