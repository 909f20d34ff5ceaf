# SPDX-License-Identifier: Apache-2.0
"""The roles that each server has from the beginning, and roles that gather the rules of others."""

from __future__ import annotations

import pytest
from kit.apiserver.asking import NODES, Asking, events
from kit.apiserver.roles import CONFIG_MAPS, RBAC, as_user, bind, rule

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

CLUSTER_ROLES = f"{RBAC}/clusterroles"
SECRETS = CONFIG_MAPS.replace("configmaps", "secrets")


def test_a_new_server_has_the_roles_and_bindings_of_a_real_one(ask: Asking) -> None:
    counts = {
        name: len(ask.ok("GET", f"{RBAC}/{name}")["items"])
        for name in ("clusterroles", "clusterrolebindings", "roles", "rolebindings")
    }
    assert counts == {"clusterroles": 70, "clusterrolebindings": 51, "roles": 7, "rolebindings": 7}


def test_they_are_objects_like_others(ask: Asking) -> None:
    listed = ask.ok("GET", CLUSTER_ROLES)
    watch = ask.server.storage.follow(
        "clusterroles.rbac.authorization.k8s.io", int(listed["metadata"]["resourceVersion"]), int
    )
    role = ask.ok("GET", f"{CLUSTER_ROLES}/view")
    assert int(role["metadata"]["resourceVersion"]) <= int(listed["metadata"]["resourceVersion"])
    assert len({one["metadata"]["uid"] for one in listed["items"]}) == len(listed["items"])

    changed = ask.patch(f"{CLUSTER_ROLES}/view", {"metadata": {"labels": {"a": "b"}}})
    assert changed[0] == 200
    ask.ok("DELETE", f"{CLUSTER_ROLES}/edit")
    batch = watch.take(10)
    assert batch is not None
    assert [change.key for change in batch.changes] == ["view", "edit"]
    assert ask("GET", f"{CLUSTER_ROLES}/edit")[0] == 404


def test_a_watch_from_the_beginning_has_them_once(ask: Asking) -> None:
    told = events(ask.watch(CLUSTER_ROLES))

    assert len(told) == len({event["object"]["metadata"]["uid"] for event in told}) == 70


def test_a_server_that_does_not_use_them_does_not_make_them(sim: Simulation) -> None:
    server = APIServer(sim.host("server"))
    ask = Asking(server)
    before = server.storage.version

    ask.ok("GET", NODES)
    assert set(server.storage._provided) != set()
    ask.ok("GET", CLUSTER_ROLES)
    assert server.storage.version == before


def test_two_servers_have_different_ones(sim: Simulation) -> None:
    uids = [Asking(APIServer(sim.host(name))).ok("GET", f"{CLUSTER_ROLES}/view")["metadata"]["uid"] for name in "ab"]

    assert len(set(uids)) == 2


@pytest.mark.parametrize(
    ("role", "allowed"),
    [("view", {"GET": 200, "POST": 403}), ("edit", {"GET": 200, "POST": 201}), ("admin", {"GET": 200, "POST": 201})],
)
def test_roles_of_users_gather_their_rules(role: str, allowed: dict[str, int], ask: Asking) -> None:
    bind(ask, "jane", "ClusterRole", role, "default")
    body = {"metadata": {"name": "a"}}

    answers = {method: ask(method, CONFIG_MAPS, body, headers=as_user("jane"))[0] for method in allowed}

    assert answers == allowed
    assert ask("GET", SECRETS, headers=as_user("jane"))[0] == (403 if role == "view" else 200)
    assert ask("GET", NODES, headers=as_user("jane"))[0] == 403


def test_a_label_adds_rules_to_the_roles_that_select_it(ask: Asking) -> None:
    """Through two steps: what is added to `view` is in `edit` and `admin`, too."""
    for name in ("view", "edit", "admin"):
        bind(ask, f"{name}er", "ClusterRole", name)
    labels = {"rbac.authorization.k8s.io/aggregate-to-view": "true"}
    ask.ok("POST", CLUSTER_ROLES, {"metadata": {"name": "more", "labels": labels}, "rules": [rule("nodes", "list")]})

    assert [ask("GET", NODES, headers=as_user(f"{name}er"))[0] for name in ("view", "edit", "admin")] == [200] * 3
    ask.ok("DELETE", f"{CLUSTER_ROLES}/more")
    assert ask("GET", NODES, headers=as_user("admin" + "er"))[0] == 403


def test_roles_that_gather_each_other_end(ask: Asking) -> None:
    for name, other in (("a", "b"), ("b", "a")):
        selector = {"clusterRoleSelectors": [{"matchLabels": {"in": other}}, {"matchLabels": {"leaf": "yes"}}]}
        ask.ok("POST", CLUSTER_ROLES, {"metadata": {"name": name, "labels": {"in": name}}, "aggregationRule": selector})
    leaf = {"metadata": {"name": "leaf", "labels": {"leaf": "yes"}}, "rules": [rule("nodes", "list")]}
    ask.ok("POST", CLUSTER_ROLES, leaf)
    bind(ask, "jane", "ClusterRole", "a")

    assert ask("GET", NODES, headers=as_user("jane"))[0] == 200
