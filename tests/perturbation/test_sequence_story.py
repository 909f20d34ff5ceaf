# SPDX-License-Identifier: Apache-2.0
"""Objects that a story declares, and how sequences of their states are told, judged and told again."""

from __future__ import annotations

import sys
from base64 import b64encode
from typing import Any

import attrs
import pytest

from controller_runtime import Client, Controller, Lister, Manager, ObjectKey, PatchType, Reconciler, Request, Result
from controller_runtime.errors import UsageError
from controller_runtime.resources import CONFIG_MAPS, NAMESPACES, PERSISTENT_VOLUME_CLAIMS, SECRETS, Resource
from controller_runtime.testing import EmbeddedCluster, Simulation
from controller_runtime.testing.perturbation import ambient
from controller_runtime.testing.perturbation.plans import from_json, to_json
from controller_runtime.testing.perturbation.sequence import plan_of, walk_of
from controller_runtime.testing.perturbation.sequence_explore import Explored, explore, try_sequences
from controller_runtime.testing.perturbation.sequence_plan import StateSequence
from controller_runtime.testing.perturbation.sequence_story import Primary, own_resources, primaries
from controller_runtime.testing.perturbation.session import Session


@attrs.frozen
class Copies(Reconciler):
    """Copies each config map with the label `copied` into a secret; `is_mended` forms remove it again."""

    maps: Lister[dict[str, Any]]
    secrets: Lister[dict[str, Any]]
    client: Client
    is_mended: bool

    def reconcile(self, request: Request) -> Result:
        given = self.maps.get(request)
        if given is not None and "copied" in given.get("data", {}):
            # Not `stringData`: what is left out of it later stays in `data`, which sequences find.
            data = {name: b64encode(text.encode()).decode() for name, text in given["data"].items()}
            body = {"metadata": {"name": request.name, "namespace": request.namespace}, "data": data}
            self.client.apply(SECRETS, body, field_manager="copies", force=True)
        elif self.is_mended and self.secrets.get(request) is not None:
            self.client.delete(SECRETS, request)
        return Result()


@attrs.frozen
class Keeps(Reconciler):
    """Makes an object without an owner for each secret."""

    given: Lister[dict[str, Any]]
    client: Client
    kind: Resource[Any]

    def reconcile(self, request: Request) -> Result:
        if self.given.get(request) is not None:
            body: dict[str, Any] = {"metadata": {"name": request.name, "namespace": request.namespace}}
            if self.kind is PERSISTENT_VOLUME_CLAIMS:
                resources = {"requests": {"storage": "1Gi"}}
                body["spec"] = {"accessModes": ["ReadWriteOnce"], "resources": resources}
            self.client.apply(self.kind, body, field_manager="keeps", force=True)
        return Result()


def setup_of(*, is_mended: bool) -> Any:
    def setup(manager: Manager) -> None:
        maps, secrets = manager.lister(CONFIG_MAPS, dict), manager.lister(SECRETS, dict)
        copies = Copies(maps, secrets, manager.client, is_mended)
        manager.add(Controller("copies", copies).watch(CONFIG_MAPS).watch(SECRETS))

    return setup


def story(cluster: EmbeddedCluster, simulation: Simulation) -> None:
    cluster.user.create(NAMESPACES, {"metadata": {"name": "here"}})
    metadata = {"name": "a", "namespace": "here", "labels": {"of": "story"}}
    cluster.user.create(CONFIG_MAPS, {"metadata": metadata, "data": {"copied": "1"}})
    simulation.settle()
    cluster.user.patch(CONFIG_MAPS, ObjectKey("a", "here"), {"data": {"more": "2"}})
    cluster.user.patch(CONFIG_MAPS, ObjectKey("a", "here"), {"data": {"x": "3"}}, type=PatchType.STRATEGIC)
    simulation.settle()


@pytest.fixture
def told(simulation: Simulation) -> tuple[EmbeddedCluster, Session]:
    """A calm run of the story, and its cluster."""
    former, session = ambient.session, Session()
    ambient.session = session
    try:
        with EmbeddedCluster(simulation.host("cluster")) as cluster:
            cluster.run(setup_of(is_mended=False))
            story(cluster, simulation)
            session.finish()
        return cluster, session
    finally:
        ambient.session = former


def found_in(told: tuple[EmbeddedCluster, Session]) -> list[Primary]:
    cluster, session = told
    return primaries(cluster.server.kinds, session.run.story, own_resources(cluster._manager.controllers))


def test_an_object_has_the_states_that_its_writes_declare(told: tuple[EmbeddedCluster, Session]) -> None:
    (primary,) = found_in(told)

    assert str(primary.target) == "configmaps here/a"
    assert primary.path == "/api/v1/namespaces/here/configmaps/a"
    assert primary.metadata == {"labels": {"of": "story"}}
    assert primary.states == [{"data": {"copied": "1"}}, {"data": {"copied": "1", "more": "2"}}]
    assert [request.path for request in primary.others] == ["/api/v1/namespaces"]


def test_an_object_that_a_cluster_writes_itself_has_no_declared_states(told: tuple[EmbeddedCluster, Session]) -> None:
    cluster, session = told

    found = primaries(cluster.server.kinds, session.run.story, {"configmaps", "namespaces"})

    assert [str(primary.target) for primary in found] == ["configmaps here/a"]


def test_a_plan_tells_its_states_as_patches_and_survives_a_file(told: tuple[EmbeddedCluster, Session]) -> None:
    (primary,) = found_in(told)
    walk = [{"data": {"copied": "2"}}, None, {"data": {}}]

    plan = plan_of(primary, walk)

    assert plan.patches == [{"data": {"copied": "2"}}, None, {"data": {"copied": None}}]
    assert walk_of(primary, plan) == walk
    assert from_json(to_json(plan)) == plan


def test_what_a_deletion_leaves_behind_is_found_and_replayed(told: tuple[EmbeddedCluster, Session]) -> None:
    (primary,) = found_in(told)
    _, session = told
    session.plan = plan_of(primary, [primary.states[0], None])

    (finding,) = explore(session, 60.0).findings

    assert finding.complaints == [
        "1. declared: the story's first state",
        "2. declared: nothing, the object is deleted",
        "secrets here/a: absent in a calm run, there here",
    ]


@pytest.mark.parametrize("is_mended", [False, True])
def test_what_a_program_keeps_of_an_earlier_state_is_found(is_mended: bool) -> None:
    explored = try_sequences(setup_of(is_mended=is_mended), story, sequences=8)

    assert bool(explored.findings) is not is_mended


def test_a_program_that_cannot_be_set_up_again_is_not_passed_over() -> None:
    calls: list[Manager] = []

    def setup(manager: Manager) -> None:
        calls.append(manager)
        if len(calls) > 1:
            raise ValueError("only once")
        setup_of(is_mended=True)(manager)

    (finding,) = try_sequences(setup, story, sequences=2).findings

    assert "the run ended with ValueError: only once" in finding.complaints


@pytest.mark.parametrize(("kind", "may_stay"), [(PERSISTENT_VOLUME_CLAIMS, True), (CONFIG_MAPS, False)])
def test_only_claims_may_outlive_their_object(kind: Resource[Any], may_stay: bool) -> None:
    def setup(manager: Manager) -> None:
        manager.add(Controller("keeps", Keeps(manager.lister(SECRETS, dict), manager.client, kind)).watch(SECRETS))

    def tell(cluster: EmbeddedCluster, simulation: Simulation) -> None:
        cluster.user.create(SECRETS, {"metadata": {"name": "a", "namespace": "default"}, "data": {"x": "YQ=="}})
        simulation.settle()

    assert bool(try_sequences(setup, tell, sequences=8).findings) is not may_stay


def test_the_same_seed_finds_the_same() -> None:
    first, second = (try_sequences(setup_of(is_mended=False), story, sequences=3, seed=3) for _ in range(2))

    assert first == second


def test_without_time_nothing_is_run(told: tuple[EmbeddedCluster, Session]) -> None:
    _, session = told
    session.plan = StateSequence()

    assert explore(session, 0.0, sequences=2) == Explored([], 2, 0, 2)


def test_without_hypothesis_the_pattern_says_what_to_install(
    told: tuple[EmbeddedCluster, Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    monkeypatch.delitem(sys.modules, "controller_runtime.testing.perturbation.sequence_draw", raising=False)

    with pytest.raises(UsageError, match="pip install hypothesis"):
        explore(told[1], 60.0)
