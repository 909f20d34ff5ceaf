# SPDX-License-Identifier: Apache-2.0
"""Each right of a ring's member that is missing is told of at the start, though it may be needed much later."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from apimachinery.errors import ConnectionLost
from apimachinery.http import HTTPRequest
from apimachinery.objects import ObjectKey
from apimachinery.stop import Stop
from controller_runtime.api.resources import NODES, Resource
from controller_runtime.client.client import Client
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.manager.health import health_of
from controller_runtime.manager.inspection import describe
from controller_runtime.manager.manager import Manager
from controller_runtime.ring.by import RingBy
from controller_runtime.ring.review import SOON, RightsReview
from controller_runtime.ring.rights import rights_of, ring_rules
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

RBAC = "rbac.authorization.k8s.io"
ROLES: Resource[Any] = Resource(RBAC, "v1", "Role", "roles")
BINDINGS: Resource[Any] = Resource(RBAC, "v1", "RoleBinding", "rolebindings")
CLUSTER_ROLES: Resource[Any] = Resource(RBAC, "v1", "ClusterRole", "clusterroles", namespaced=False)
CLUSTER_BINDINGS: Resource[Any] = Resource(RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", namespaced=False)
OBJECTS = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch", "get"]}
RULES = [*ring_rules("seers"), OBJECTS]
NOTES = {"list configmaps", "watch configmaps", "watch leases", "delete leases"}
"""Without these a member does its work."""


class Idle(Reconciler):
    def reconcile(self, request: Request) -> Result:
        return Result()


class World:
    """A server that asks roles, and one replica of a ring by owner, which has a Role of its own."""

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.server, user = APIServer(sim.host("server")), sim.host("user")
        self.user = Client(user, InProcessTransport(user, self.server))
        subjects = [{"kind": "User", "name": "seer", "apiGroup": RBAC}]
        for kind, to in ((BINDINGS, "Role"), (CLUSTER_BINDINGS, "ClusterRole")):
            role = {"roleRef": {"apiGroup": RBAC, "kind": to, "name": "seers"}, "subjects": subjects}
            self.user.create(kind, {"metadata": {"name": "seers"}, **role}, *(["default"] if to == "Role" else []))

    def start(self, rules: list[dict[str, Any]]) -> Manager:
        role = {"metadata": {"name": "seers", "namespace": "default"}, "rules": rules[:-1]}
        self.user.create(ROLES, role)
        self.user.create(CLUSTER_ROLES, {"metadata": {"name": "seers"}, "rules": rules[-1:]})
        host = self.sim.host("a")
        manager = Manager(host, InProcessTransport(host, self.server, user="seer"))
        ring = manager.ring("seers", RingBy.OWNER)
        nodes = manager.lister(NODES, dict)
        manager.add(Controller("seen", ring.shared(Idle(), NODES)).watch(NODES).receive(ring.requests(nodes)))
        host.spawn("program", lambda: manager.run(Stop(host)))
        return manager


@pytest.fixture
def world() -> Iterator[World]:
    with Simulation(5) as sim:
        yield World(sim)


def ready(manager: Manager) -> tuple[int, str]:
    answer = health_of(manager).answer(HTTPRequest("GET", "/readyz", (("verbose", ""),)), trusted=True)
    return answer.status, answer.body.decode()


def without(number: int, verb: str) -> list[dict[str, Any]]:
    """Return the rules without one verb of one of them."""
    return [
        {**rule, "verbs": [each for each in rule["verbs"] if (index, each) != (number, verb)] or ["free"]}
        for index, rule in enumerate(RULES)
    ]


@pytest.mark.parametrize(
    ("number", "verb"),
    [
        pytest.param(number, verb, id=f"{verb} {rule['resources'][0]}")
        for number, rule in enumerate(RULES)
        for verb in rule["verbs"]
        if rule is not OBJECTS or verb == "get"  # the others are those of any cache
    ],
)
def test_a_missing_verb_is_told_of_at_the_start_with_the_role_that_grants_it(
    world: World, number: int, verb: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("WARNING")
    manager = world.start(without(number, verb))
    world.sim.advance(1.0)

    resource = RULES[number]["resources"][0]
    told = [line for line in caplog.messages if "a right of a ring's member is missing" in line]
    assert len(told) == 1
    assert f'right="{verb} {resource}' in told[0]
    assert "seers-ring" in told[0]
    assert "manifests PROGRAM --ring` makes: apply it" in told[0]
    (missing,) = describe(manager)["rings"][0]["missing_rights"]
    assert missing.startswith(f"{verb} {resource}")
    status, text = ready(manager)
    is_note = f"{verb} {resource}" in NOTES
    assert f"[{'!' if is_note else '-'}]{'rights' if is_note else 'rings'} " in text
    assert f"this replica may not {verb} {resource}" in text
    assert status == (200 if is_note else 500)


def test_a_right_that_is_granted_later_is_noticed_and_one_that_nobody_lacks_is_not_told_of(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    manager = world.start(without(2, "update"))
    world.sim.advance(1.0)
    assert len(manager.rings[0].rights.missing) == 1

    world.user.patch(ROLES, ObjectKey("seers", "default"), {"rules": RULES[:-1]})
    world.sim.advance(SOON)

    assert manager.rings[0].rights.missing == ()
    assert ready(manager)[0] == 200
    assert [line for line in caplog.messages if "is there now" in line] == [
        "a right of a ring's member is there now ring=seers right=\"update leases.coordination.k8s.io in the namespace "
        'default"'
    ]


def test_where_the_server_does_not_tell_nothing_counts_as_missing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(self: RightsReview, right: object) -> bool:
        raise ConnectionLost("no answer in time")

    monkeypatch.setattr(RightsReview, "_may", lost)
    manager = world.start(without(2, "delete"))
    world.sim.advance(1.0)

    assert manager.rings[0].rights.missing == ()
    assert ready(manager)[0] == 200


def test_each_verb_of_the_rules_is_a_right() -> None:
    rights = {(right.resource.plural, right.verb, right.name) for right in rights_of("seers", "default")}

    assert rights == {
        (rule["resources"][0], verb, name)
        for rule in ring_rules("seers")
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }
