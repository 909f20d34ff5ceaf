# SPDX-License-Identifier: Apache-2.0
"""State that is kept between reconciles is recorded and restored: of `Dependents`, and of reconcilers that give it."""

from __future__ import annotations

from typing import Any

import attrs
import msgspec
import pytest
from kit.incidents.recording import recorded
from kit.source_package import ROOT

from apimachinery.objects import ObjectKey, cached_from_bytes
from controller_runtime.api.builtin_resources import CONFIG_MAPS, DEPLOYMENTS, SECRETS
from controller_runtime.cache.own_writes import OwnWrites
from controller_runtime.client.client import Client
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import AsyncReconciler, Reconciler, Request, Result
from controller_runtime.dependents.memory import PrimaryMemory, Record, RefusedApply
from controller_runtime.dependents.plain_memory import plain_memory, restore_memory
from controller_runtime.incidents.finished import Kept
from controller_runtime.incidents.incident import Ask, Incident, decode
from controller_runtime.incidents.options import Incidents
from controller_runtime.manager.manager import Manager
from controller_runtime.testing.replay.comparing import Verdict
from controller_runtime.testing.replay.run import replay
from controller_runtime.testing.replay.telling import told
from controller_runtime.testing.simulation import Simulation

MEMORY = Incidents(memory=64 * 1024 * 1024)


def decoded(kept: Kept) -> Incident:
    raw = kept.file()
    assert raw is not None
    return decode(raw, "file")


class Counting(Reconciler):
    """Decides by the number of its reconciles, which it gives."""

    def __init__(self, manager: Manager) -> None:
        self.client = manager.client
        self.maps = manager.lister(CONFIG_MAPS, dict, namespace="default")
        self.seen: dict[Request, int] = {}

    def snapshot(self, request: Request) -> int:
        return self.seen.get(request, 0)

    def restore(self, request: Request, state: int) -> None:
        self.seen[request] = state

    def reconcile(self, request: Request) -> Result:
        self.seen[request] = self.seen.get(request, 0) + 1
        if self.seen[request] < 4:
            self.client.patch(CONFIG_MAPS, request, {"data": {"seen": f"n{self.seen[request]}"}})
        return Result()


class CountingLater(AsyncReconciler):
    """Does the same as a coroutine."""

    def __init__(self, manager: Manager) -> None:
        self.inner = Counting(manager)
        self.snapshot, self.restore = self.inner.snapshot, self.inner.restore

    async def reconcile(self, request: Request) -> Result:
        return self.inner.reconcile(request)


@pytest.mark.parametrize("reconciler", [Counting, CountingLater])
def test_a_reconciler_that_gives_its_state_is_replayed_to_equal_writes(reconciler: Any) -> None:
    def setup(manager: Manager) -> None:
        controller = Controller("counting", reconciler(manager), may_wake_itself=True)
        manager.add(controller.watch(CONFIG_MAPS, namespace="default"))

    with recorded(setup, MEMORY) as recording:
        recording.create()
        incidents = [decoded(each) for each in recording.recorder.all()]

    assert len(incidents) == 4
    for incident in incidents:
        assert (replay(incident, setup).verdict, incident.cut) == (Verdict.SAME, [])


class Writing(Reconciler):
    """Writes until the cache is behind its last write."""

    def __init__(self, manager: Manager) -> None:
        self.client = manager.client
        self.maps = manager.lister(CONFIG_MAPS, dict, namespace="default")
        self.own, self.other = OwnWrites(manager.host), OwnWrites(manager.host, "other")

    def reconcile(self, request: Request) -> Result:
        self.other.check(request)
        self.own.check(request)
        self.client.patch(CONFIG_MAPS, request, {"data": {"seen": "yes"}})
        self.own.wrote(request, "u", self.maps, "9" * 17)
        return Result()


def test_a_stale_read_that_was_refused_is_replayed_to_the_same_outcome() -> None:
    def setup(manager: Manager) -> None:
        controller = Controller("writing", Writing(manager), may_wake_itself=True)
        manager.add(controller.watch(CONFIG_MAPS, namespace="default"))

    with recorded(setup, MEMORY) as recording:
        recording.create()
        incidents = [decoded(each) for each in recording.recorder.all()]

    refused = [each for each in incidents if each.end.error is not None]
    assert {each.end.error.type for each in refused if each.end.error is not None} == {"StaleCache"}
    assert [replay(each, setup).verdict for each in incidents] == [Verdict.SAME] * len(incidents)
    assert not any(isinstance(step, Ask) for each in refused for step in each.steps)
    assert len(incidents) > len(refused) > 0


def test_a_memory_is_as_before_when_it_was_json_and_has_no_secrets() -> None:
    deployment, secret = (DEPLOYMENTS, ObjectKey("a", "default")), (SECRETS, ObjectKey("s", "default"))
    answer = cached_from_bytes(b'{"metadata":{"name":"a","namespace":"default","uid":"u","resourceVersion":"7"}}')
    record, refusal = Record(b"d", "u", "7", b"v", 0, answer), RefusedApply(b"d", b"p", "no", 2, 12.0)
    memory = PrimaryMemory("p", {deployment: record, secret: record}, {deployment: refusal, secret: refusal})
    memory.not_ours, memory.deleted, memory.told = {"x"}, {"y"}, {deployment: "no"}
    memory.status_version = "9"

    raw = msgspec.json.encode(plain_memory(memory, 10.0))
    found = PrimaryMemory("p")
    restore_memory(found, msgspec.json.decode(raw), {str(DEPLOYMENTS): DEPLOYMENTS}, 20.0)

    assert b'"s"' not in raw
    assert attrs.evolve(found.applied[deployment], answer=None) == attrs.evolve(record, answer=None)
    assert found.applied[deployment].answer is not None
    assert found.refused == {deployment: attrs.evolve(refusal, retry_at=22.0)}
    assert (found.not_ours, found.deleted, found.told, found.status_version) == ({"x"}, {"y"}, {deployment: "no"}, "9")


@pytest.fixture
def memcached(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    import memcached

    return memcached


def test_a_calm_run_of_an_operator_with_dependents_is_replayed_to_equal_writes(memcached: Any) -> None:
    with recorded(memcached.setup, MEMORY) as recording:
        for number in range(4):
            metadata = {"name": f"m{number}", "namespace": "default"}
            recording.user.create(memcached.Memcached, {"metadata": metadata, "spec": {"size": 2}})
            recording.simulation.settle()
            deployments(recording.user, recording.simulation)
        recording.user.patch(memcached.Memcached, ObjectKey("m0", "default"), {"spec": {"size": 3}})
        recording.user.delete(DEPLOYMENTS, ObjectKey("m1", "default"))
        recording.simulation.advance(60.0)
        incidents = [decoded(each) for each in recording.recorder.all()]

    differing = [
        told(found) for each in incidents if (found := replay(each, memcached.setup)).verdict is not Verdict.SAME
    ]
    assert differing == []
    assert len(incidents) > 15


def deployments(user: Client, simulation: Simulation) -> None:
    """Give each deployment the status of one that is rolled out."""
    for found in user.list(DEPLOYMENTS, "default", view=dict):
        names = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
        status = dict.fromkeys(names, found["spec"]["replicas"])
        whole = {"status": {**status, "observedGeneration": found["metadata"]["generation"]}}
        user.patch(DEPLOYMENTS, ObjectKey(found["metadata"]["name"], "default"), whole, subresource="status")
        simulation.settle()
