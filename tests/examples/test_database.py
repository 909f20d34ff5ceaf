# SPDX-License-Identifier: Apache-2.0
"""The database operator: no member goes before its data was moved, and a planted bug by which one may is found."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest
from database import COMPLETE, Database, DatabaseSpec, Step, next_step, setup
from kit.perturbation.noting_database import NotingDatabases

from controller_runtime import ObjectKey, ObjectMeta
from controller_runtime.errors import Invalid
from controller_runtime.resources import JOBS, PERSISTENT_VOLUME_CLAIMS, STATEFUL_SETS
from controller_runtime.testing import EmbeddedCluster, Simulation
from controller_runtime.testing.perturbation.plans import Crash
from controller_runtime.testing.perturbation.sequence_explore import try_sequences
from controller_runtime.testing.perturbation.sequence_plan import StateSequence
from controller_runtime.testing.perturbation.trial import perturb
from embedded_apiserver.perturbation import Name

ORDERS = ObjectKey("orders", "default")


@pytest.mark.parametrize(
    ("wanted", "members", "moves", "step"),
    [
        (3, None, {}, Step("create", 3)),
        (3, 1, {}, Step("grow", 3)),
        (3, 1, {2: True}, Step("forget", 2)),
        (2, 3, {}, Step("move", 2)),
        (2, 3, {2: False}, Step("wait")),
        (2, 3, {2: True}, Step("shrink", 2)),
        (1, 3, {2: True}, Step("shrink", 2)),
        (3, 3, {2: True}, Step("forget", 2)),
        (2, 2, {2: True}, Step("rest")),
    ],
)
def test_the_next_step_follows_from_what_is_there(
    wanted: int, members: int | None, moves: dict[int, bool], step: Step
) -> None:
    assert next_step(wanted, members, moves) == step


class Claims:
    """The claims of a database, and whether any went before the data on it was moved."""

    def __init__(self, cluster: EmbeddedCluster) -> None:
        self.cluster = cluster
        self.known: dict[str, str] = {}
        self.lost: list[str] = []

    def are_safe(self) -> bool:
        found = {each["metadata"]["name"]: each["metadata"] for each in self.list(PERSISTENT_VOLUME_CLAIMS)}
        for name in [*self.known.keys() - found.keys()]:
            born = self.known.pop(name)
            member = name.rpartition("-")[2]
            moves = [job for job in self.list(JOBS) if job["metadata"]["name"] == f"orders-move-{member}"]
            if not any(COMPLETE(job) and job["metadata"]["creationTimestamp"] >= born for job in moves):
                self.lost.append(name)
        self.known |= {name: metadata["creationTimestamp"] for name, metadata in found.items()}
        return not self.lost

    def list(self, resource: Any) -> list[dict[str, Any]]:
        return self.cluster.user.list(resource, view=dict)


def story(cluster: EmbeddedCluster, simulation: Simulation, sizes: Sequence[int] = (1, 2, 1)) -> None:
    """Create a database of two members and change its size: no claim goes before its data was moved."""
    claims = Claims(cluster)
    cluster.always(claims.are_safe)
    cluster.user.create(Database(DatabaseSpec(members=2), metadata=ObjectMeta(name="orders", namespace="default")))
    simulation.advance(30.0)
    for members in sizes:
        cluster.user.patch(Database, ORDERS, {"spec": {"members": members}})
        simulation.advance(30.0)

    status = cluster.user.get(Database, ORDERS).status
    assert status is not None
    assert status.members == 1
    assert cluster.user.get(STATEFUL_SETS, ORDERS, dict)["status"]["readyReplicas"] == 1
    assert [*claims.known] == ["data-orders-0"]


@pytest.mark.story
@pytest.mark.embedded_cluster(workloads=True)
def test_data_is_moved_before_a_member_goes(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.run(setup)
    story(cluster, simulation)


def test_a_crash_shows_that_a_member_may_go_before_its_data_has_been_moved() -> None:
    outcome = perturb(
        lambda manager: setup(manager, NotingDatabases),
        partial(story, sizes=[1]),
        plans=[Crash(write=4, landed=True)],  # of the note, after those of the service, the set and the status
        workloads=True,
    )

    (found,) = outcome.findings
    assert "always are_safe" in found.complaints[0]
    assert "jobs.batch default/orders-move-1: there in a calm run, absent here" in found.complaints


def test_a_move_that_is_over_may_stay_in_a_sequence_of_states_whose_pods_run() -> None:
    smaller = StateSequence(Name("databases.db.example.com", "default/orders"), [{}, {"spec": {"members": 1}}])

    explored = try_sequences(setup, partial(story, sizes=[1]), plan=smaller, workloads=True)

    assert (explored.run, explored.findings) == (1, [])


@pytest.mark.parametrize("storage", ["", "0", "-1Gi", "much"])
def test_a_claim_that_no_server_would_take_is_refused_in_the_database(cluster: EmbeddedCluster, storage: str) -> None:
    cluster.run(setup)

    with pytest.raises(Invalid, match="is a quantity greater than zero, such as 1Gi"):
        cluster.user.create(
            Database(DatabaseSpec(storage=storage), metadata=ObjectMeta(name="orders", namespace="default"))
        )
