# SPDX-License-Identifier: Apache-2.0
"""DELETE: objects that are removed at once, and objects that are marked and removed later."""

from __future__ import annotations

from typing import Any

import pytest
from kit.apiserver.asking import LEASES, NODES, PODS, Asking, brief, events, lease, node, pod, version

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

NAMESPACES = "/api/v1/namespaces"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


def test_lease_goes_at_once_and_a_status_says_so(ask: Asking) -> None:
    made = ask.ok("POST", LEASES, lease("a"))

    status, body = ask("DELETE", f"{LEASES}/a")

    details = {"name": "a", "group": "coordination.k8s.io", "kind": "leases", "uid": made["metadata"]["uid"]}
    assert (status, body["status"], body["details"]) == (200, "Success", details)
    assert ask("GET", f"{LEASES}/a")[0] == 404


@pytest.mark.scenario("H-39")
@pytest.mark.parametrize(
    ("path", "obj"),
    [
        pytest.param(NAMESPACES, {"metadata": {"name": "x"}}, id="namespace"),
        pytest.param(PODS, pod("x"), id="pod"),
    ],
)
def test_deletion_answers_the_object_of(path: str, obj: Any, ask: Asking) -> None:
    """The deletion of a namespace or a pod is answered with the object and not with a Status."""
    made = ask.ok("POST", path, obj)

    deleted = ask.ok("DELETE", f"{path}/x")

    assert (deleted["kind"], deleted["metadata"]["uid"]) == (made["kind"], made["metadata"]["uid"])


@pytest.mark.scenario("H-40")
@pytest.mark.parametrize("field", ["uid", "resourceVersion"])
def test_wrong_precondition_leaves_the_object(field: str, ask: Asking) -> None:
    """A deletion with the uid or version of another object is a conflict."""
    made = ask.ok("POST", LEASES, lease("a"))

    assert ask("DELETE", f"{LEASES}/a", {"preconditions": {field: "1"}})[0] == 409
    assert ask("DELETE", f"{LEASES}/a", {"preconditions": {field: made["metadata"][field]}})[0] == 200


@pytest.mark.scenario("H-41")
def test_object_waits_for_its_finalizers(ask: Asking) -> None:
    """It is marked and stays until an update removes the last finalizer. A watch sees both."""
    made = ask.ok("POST", LEASES, lease("a", {"finalizers": ["example.com/f"]}))
    watch = ask.watch(LEASES, resourceVersion=version(made))

    marked = ask.ok("DELETE", f"{LEASES}/a")
    assert marked["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:00Z"
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 0

    del marked["metadata"]["finalizers"]
    ask.ok("PUT", f"{LEASES}/a", marked)
    assert ask("GET", f"{LEASES}/a")[0] == 404
    assert brief(events(watch)) == [("MODIFIED", "a"), ("DELETED", "a")]


@pytest.mark.scenario("H-42")
def test_terminating_object_takes_no_new_finalizer(ask: Asking) -> None:
    """A finalizer that is added after the deletion began is refused."""
    ask.ok("POST", LEASES, lease("a", {"finalizers": ["example.com/f"]}))
    ask.ok("DELETE", f"{LEASES}/a")

    status, body = ask.patch(f"{LEASES}/a", {"metadata": {"finalizers": ["example.com/f", "example.com/g"]}})

    assert status == 422
    assert body["details"]["causes"][0]["reason"] == "FieldValueForbidden"


def test_deleting_again_changes_nothing(sim: Simulation, ask: Asking) -> None:
    ask.ok("POST", LEASES, lease("a", {"finalizers": ["example.com/f"]}))
    marked = ask.ok("DELETE", f"{LEASES}/a")
    sim.advance(10)

    assert ask.ok("DELETE", f"{LEASES}/a") == marked


@pytest.mark.scenario("H-43")
def test_running_pod_is_given_its_grace(ask: Asking) -> None:
    """It stays, with a deletionTimestamp in thirty seconds. A deletion with grace period 0 removes it."""
    ask.ok("POST", NODES, node("n"))
    ask.ok("POST", PODS, pod("p", nodeName="n"))

    marked = ask.ok("DELETE", f"{PODS}/p")
    assert marked["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:30Z"
    assert marked["metadata"]["deletionGracePeriodSeconds"] == 30
    assert ask("GET", f"{PODS}/p")[0] == 200

    ask.ok("DELETE", f"{PODS}/p", gracePeriodSeconds=0)
    assert ask("GET", f"{PODS}/p")[0] == 404


def test_grace_can_only_become_shorter(sim: Simulation, ask: Asking) -> None:
    ask.ok("POST", NODES, node("n"))
    ask.ok("POST", PODS, pod("p", nodeName="n"))
    first = ask.ok("DELETE", f"{PODS}/p")
    sim.advance(1)

    assert ask.ok("DELETE", f"{PODS}/p", gracePeriodSeconds=60) == first
    assert ask.ok("DELETE", f"{PODS}/p") == first

    shorter = ask.ok("DELETE", f"{PODS}/p", gracePeriodSeconds=10)
    assert shorter["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:10Z"
    assert shorter["metadata"]["generation"] == first["metadata"]["generation"]


@pytest.mark.scenario("H-44")
def test_pod_without_a_node_goes_at_once(ask: Asking) -> None:
    """No kubelet runs it, so no time is needed to end it."""
    ask.ok("POST", PODS, pod("p"))

    ask.ok("DELETE", f"{PODS}/p")

    assert ask("GET", f"{PODS}/p")[0] == 404


def test_namespace_is_terminating_until_it_is_finalized(ask: Asking) -> None:
    ask.ok("POST", NAMESPACES, {"metadata": {"name": "x"}})

    marked = ask.ok("DELETE", f"{NAMESPACES}/x")
    assert marked["status"]["phase"] == "Terminating"
    assert ask("POST", LEASES.replace("default", "x"), lease("a"))[0] == 403
    assert ask.ok("DELETE", f"{NAMESPACES}/x") == marked

    ask.ok("PUT", f"{NAMESPACES}/x/finalize", {"metadata": {"name": "x"}, "spec": {"finalizers": []}})
    assert ask("GET", f"{NAMESPACES}/x")[0] == 404


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_namespace_that_everybody_needs_stays(name: str, ask: Asking) -> None:
    assert ask("DELETE", f"{NAMESPACES}/{name}")[0] == 403


@pytest.mark.parametrize(
    ("options", "finalizers"),
    [
        pytest.param({"propagationPolicy": "Orphan"}, ["orphan"], id="orphan"),
        pytest.param({"orphanDependents": "true"}, ["orphan"], id="orphan, the old way"),
        pytest.param({"propagationPolicy": "Foreground"}, ["foregroundDeletion"], id="foreground"),
    ],
)
def test_policy_leaves_a_finalizer(options: dict[str, str], finalizers: list[str], ask: Asking) -> None:
    ask.ok("POST", LEASES, lease("a"))

    marked = ask.ok("DELETE", f"{LEASES}/a", **options)

    assert marked["metadata"]["finalizers"] == finalizers


@pytest.mark.parametrize("policy", ["Background", "Foreground"])
def test_later_policy_replaces_the_earlier(policy: str, ask: Asking) -> None:
    ask.ok("POST", LEASES, lease("a", {"finalizers": ["example.com/f"]}))
    ask.ok("DELETE", f"{LEASES}/a", propagationPolicy="Orphan")

    marked = ask.ok("DELETE", f"{LEASES}/a", propagationPolicy=policy)

    expected = {"Background": [], "Foreground": ["foregroundDeletion"]}[policy]
    assert marked["metadata"]["finalizers"] == ["example.com/f", *expected]


def test_old_wish_for_no_orphans_that_has_to_wait_is_only_accepted(ask: Asking) -> None:
    ask.ok("POST", LEASES, lease("a", {"finalizers": ["example.com/f"]}))
    ask.ok("POST", LEASES, lease("b"))

    assert ask("DELETE", f"{LEASES}/a", orphanDependents="false")[0] == 202
    assert ask("DELETE", f"{LEASES}/b", orphanDependents="false")[0] == 200


@pytest.mark.parametrize(
    ("options", "status"),
    [
        pytest.param({"propagationPolicy": "Orphan", "orphanDependents": "true"}, 422, id="both policies"),
        pytest.param({"dryRun": "Some"}, 422, id="unknown dry run"),
        pytest.param({"gracePeriodSeconds": "soon"}, 400, id="grace that is no number"),
    ],
)
def test_options_are_refused(options: dict[str, str], status: int, ask: Asking) -> None:
    ask.ok("POST", LEASES, lease("a"))

    assert ask("DELETE", f"{LEASES}/a", **options)[0] == status
    assert ask("GET", f"{LEASES}/a")[0] == 200


@pytest.mark.parametrize("body", [b"[]", b'{"gracePeriodSeconds": "1"}', b"{"])
def test_body_that_is_no_options_is_refused(body: bytes, ask: Asking) -> None:
    ask.ok("POST", LEASES, lease("a"))

    assert ask("DELETE", f"{LEASES}/a", body)[0] == 400


def test_dry_run_deletes_nothing(ask: Asking) -> None:
    made = ask.ok("POST", LEASES, lease("a"))

    assert ask("DELETE", f"{LEASES}/a", dryRun="All")[0] == 200
    assert ask.ok("GET", f"{LEASES}/a") == made


def test_collection_is_deleted_by_selection(ask: Asking) -> None:
    for name, labels in (("a", {"x": "1"}), ("b", {"x": "2"}), ("c", {"x": "1"})):
        ask.ok("POST", LEASES, lease(name, {"labels": labels}))

    deleted = ask.ok("DELETE", LEASES, labelSelector="x=1")

    assert [item["metadata"]["name"] for item in deleted["items"]] == ["a", "c"]
    assert [item["metadata"]["name"] for item in ask.ok("GET", LEASES)["items"]] == ["b"]


@pytest.mark.parametrize("seed", range(5))
def test_two_may_delete_one_collection_at_once(seed: int) -> None:
    with Simulation(seed=seed, switch_chance=0.5) as sim:
        host = sim.host("apiserver")
        ask = Asking(APIServer(host))
        for number in range(10):
            ask.ok("POST", LEASES, lease(f"l{number}"))
        answers: list[int] = []
        for number in range(2):
            host.spawn(f"client-{number}", lambda: answers.append(ask("DELETE", LEASES)[0]))
        sim.settle()

        assert answers == [200, 200]
        assert ask.ok("GET", LEASES)["items"] == []


def test_namespaces_are_deleted_one_by_one_only(ask: Asking) -> None:
    assert ask("DELETE", NAMESPACES)[0] == 405


@pytest.mark.parametrize(
    ("path", "obj", "told"),
    [
        pytest.param(PODS, pod("x"), ["MODIFIED", "DELETED"], id="a pod is marked first"),
        pytest.param(LEASES, lease("x"), ["DELETED"], id="a lease is not"),
    ],
)
def test_what_watchers_are_told_of_a_deletion_at_once(path: str, obj: Any, told: list[str], ask: Asking) -> None:
    made = ask.ok("POST", path, obj)
    watch = ask.watch(path, resourceVersion=version(made))

    ask.ok("DELETE", f"{path}/x")

    assert [event["type"] for event in events(watch)] == told


def test_a_deletion_that_waits_is_a_generation_of_its_own(ask: Asking) -> None:
    made = ask.ok("POST", BUDGETS, {"metadata": {"name": "x", "finalizers": ["a/b"]}, "spec": {"maxUnavailable": 1}})

    marked = ask.ok("DELETE", f"{BUDGETS}/x")

    assert marked["metadata"]["generation"] == made["metadata"]["generation"] + 1
    assert ask.ok("DELETE", f"{BUDGETS}/x")["metadata"]["generation"] == marked["metadata"]["generation"]


@pytest.mark.parametrize("name", ["default", "kube-system"])
def test_only_namespaces_are_kept_for_their_names(name: str, ask: Asking) -> None:
    ask.ok("POST", LEASES, lease(name))

    assert ask("DELETE", f"{LEASES}/{name}")[0] == 200
    assert ask("DELETE", f"{NAMESPACES}/{name}")[0] == 403
