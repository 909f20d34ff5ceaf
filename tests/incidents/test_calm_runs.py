# SPDX-License-Identifier: Apache-2.0
"""Calm runs of the bundled controllers: their records replay to equal writes, but for those that keep state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from kit.controllers import bundled_programs as bundled

from apimachinery.objects import ObjectKey
from controller_runtime.controller.controller import Controller
from controller_runtime.incidents.incident import Incident, State
from controller_runtime.manager.manager import Manager, Setup
from controller_runtime.resources import CRON_JOBS, DAEMON_SETS, DEPLOYMENTS, NODES, STATEFUL_SETS
from controller_runtime.testing import EmbeddedCluster, Simulation, a_node
from controller_runtime.testing.replay.comparing import Verdict
from controller_runtime.testing.replay.run import replay
from controllers.election.lease_candidate_election import lease_candidate_election
from controllers.expiry.apiserver_lease_gc import apiserver_lease_gc
from controllers.expiry.lease_candidate_gc import lease_candidate_gc
from controllers.node_lifecycle.node_lifecycle import node_lifecycle
from controllers.node_ttl import node_ttl
from controllers.taint_eviction.taint_eviction import taint_eviction
from controllers.workloads.workloads import add_workloads

pytestmark = pytest.mark.once

Run = Callable[[Simulation, EmbeddedCluster], None]

MOST = 30
"""Records of a run that are replayed, besides those with state: the others of the longest run are alike."""


def run_node_ttl(sim: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.manager.add(node_ttl(cluster.manager))
    cluster.start()
    for number in range(3):
        cluster.user.create(NODES, a_node(f"n{number}"))
        sim.advance(1.0)
    cluster.user.patch(NODES, ObjectKey("n0"), {"metadata": {"annotations": {"node.alpha.kubernetes.io/ttl": "7"}}})
    sim.advance(1.0)


def run_workloads(sim: Simulation, cluster: EmbeddedCluster) -> None:
    add_workloads(cluster.manager)
    cluster.start()
    user = cluster.user
    for kind, name, spec in (
        (DEPLOYMENTS, "web", {"replicas": 3}),
        (STATEFUL_SETS, "db", {"replicas": 2, "serviceName": "db"}),
        (DAEMON_SETS, "logs", {}),
    ):
        metadata = {"name": name, "namespace": "default"}
        user.create(kind, {"metadata": metadata, "spec": {**spec, "selector": {"matchLabels": LABELS}, **TEMPLATE}})
        sim.advance(20.0)
    spec = {"schedule": "*/2 * * * *", "jobTemplate": {"spec": {"template": JOB}}}
    user.create(CRON_JOBS, {"metadata": {"name": "cron", "namespace": "default"}, "spec": spec})
    changed = {"replicas": 5, "template": {"metadata": {"annotations": {"a": "b"}}}}
    user.patch(DEPLOYMENTS, ObjectKey("web", "default"), {"spec": changed})
    sim.advance(125.0)


LABELS = {"app": "a"}
POD = {"containers": [{"name": "c", "image": "i:1"}]}
TEMPLATE = {"template": {"metadata": {"labels": LABELS}, "spec": POD}}
JOB = {"spec": {**POD, "restartPolicy": "Never"}}


def adding(make: Callable[[Manager], Controller]) -> Setup:
    def setup(manager: Manager) -> None:
        manager.add(make(manager))

    return setup


BY_READS: dict[str, tuple[Run, Setup]] = {
    "apiserver lease gc": (bundled.run_lease_gc, adding(apiserver_lease_gc)),
    "lease candidate gc": (bundled.run_candidate_gc, adding(lease_candidate_gc)),
    "lease candidate election": (bundled.run_election, adding(lease_candidate_election)),
    "node ttl": (run_node_ttl, adding(node_ttl)),
    "taint eviction": (bundled.run_taint_eviction, adding(taint_eviction)),
    "workloads": (run_workloads, add_workloads),
}
"""Controllers that decide by their reads alone."""

BY_STATE: dict[str, tuple[Run, Setup]] = {
    "node lifecycle": (bundled.run_node_lifecycle, adding(node_lifecycle)),
}
"""Controllers that also decide by what they keep between reconciles, such as the monitor of nodes."""


def verdicts(sim: Simulation, run: Run, setup: Setup) -> Counter[Verdict]:
    """Replay the records of a run, and return the number of each verdict."""
    with EmbeddedCluster(sim.host("program"), record=[]) as cluster:
        run(sim, cluster)
        recorder = cluster.manager.incident_recorder
    assert recorder is not None
    every = [each.incident() for each in recorder.all()]
    chosen = [each for place, each in enumerate(every) if place % (1 + len(every) // MOST) == 0 or has_state(each)]
    return Counter(replay(each, setup).verdict for each in chosen)


def has_state(incident: Incident) -> bool:
    return any(isinstance(step, State) and bytes(step.value) not in (b'""', b"[]", b"{}") for step in incident.steps)


@pytest.mark.parametrize(("run", "setup"), BY_READS.values(), ids=[*BY_READS])
def test_records_of_a_controller_that_decides_by_its_reads_replay_to_equal_writes(
    simulation: Simulation, run: Run, setup: Setup
) -> None:
    found = verdicts(simulation, run, setup)

    assert {*found} == {Verdict.SAME}
    assert found.total() > 1


@pytest.mark.parametrize(("run", "setup"), BY_STATE.values(), ids=[*BY_STATE])
def test_a_controller_that_keeps_state_is_found_by_replaying_its_own_calm_run(
    simulation: Simulation, run: Run, setup: Setup
) -> None:
    assert verdicts(simulation, run, setup)[Verdict.DIFFERS]
