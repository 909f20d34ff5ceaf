# SPDX-License-Identifier: Apache-2.0
"""PUT and PATCH: concurrent writers, fields that a write cannot change, and refusals."""

from __future__ import annotations

from typing import Any

import pytest
from kit.apiserver.asking import JSON_PATCH, LEASES, NODES, STRATEGIC, Asking, events, lease, node, version

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

LOCKED = (
    'Operation cannot be fulfilled on leases.coordination.k8s.io "a": '
    "the object has been modified; please apply your changes to the latest version and try again"
)
READY = {"type": "Ready", "status": "True"}


def held_by(obj: dict[str, Any], holder: str) -> dict[str, Any]:
    return {**obj, "spec": {**obj["spec"], "holderIdentity": holder}}


def without(obj: dict[str, Any], *names: str) -> dict[str, Any]:
    return {**obj, "metadata": {name: value for name, value in obj["metadata"].items() if name not in names}}


@pytest.mark.scenario("H-12")
def test_stale_put_is_refused_and_changes_nothing(ask: Asking) -> None:
    """A PUT with an old version is a conflict, with the message that clients look for."""
    old = ask.ok("POST", LEASES, lease("a"))
    new = ask.ok("PUT", f"{LEASES}/a", held_by(old, "b"))

    status, body = ask("PUT", f"{LEASES}/a", held_by(old, "c"))

    assert (status, body["reason"], body["message"]) == (409, "Conflict", LOCKED)
    assert ask.ok("GET", f"{LEASES}/a") == new


@pytest.mark.scenario("H-13")
def test_put_without_version_is_refused_for_leases_and_done_for_nodes(ask: Asking) -> None:
    """A PUT without a version is refused for a lease and accepted for a node."""
    made_lease, made_node = ask.ok("POST", LEASES, lease("a")), ask.ok("POST", NODES, node("n"))

    status, body = ask("PUT", f"{LEASES}/a", without(made_lease, "resourceVersion"))
    assert status == 422
    assert [cause["field"] for cause in body["details"]["causes"]] == ["metadata.resourceVersion"]

    made_node["metadata"]["labels"] = {"x": "y"}
    assert ask("PUT", f"{NODES}/n", without(made_node, "resourceVersion"))[0] == 200


@pytest.mark.scenario("H-14")
def test_put_of_what_is_missing_creates_a_lease_but_no_node(ask: Asking) -> None:
    """A PUT of a missing lease creates it; a PUT of a missing node is answered 404."""
    assert ask("PUT", f"{LEASES}/a", lease("a"))[0] == 201
    assert ask("PUT", f"{NODES}/n", node("n"))[0] == 404


@pytest.mark.scenario("H-15")
def test_put_with_another_uid_conflicts(ask: Asking) -> None:
    """A PUT with another uid than the object's is a conflict."""
    made = ask.ok("POST", LEASES, lease("a"))
    made["metadata"]["uid"] = "11111111-1111-4111-8111-111111111111"

    other = ask("PUT", f"{LEASES}/a", made)
    ask.ok("DELETE", f"{LEASES}/a")
    gone = ask("PUT", f"{LEASES}/a", made)

    for status, body in (other, gone):
        assert status == 409
        assert "Precondition failed: UID in precondition: 11111111" in body["message"]


@pytest.mark.scenario("H-16")
def test_put_of_the_same_content_writes_nothing(ask: Asking) -> None:
    """A PUT that changes nothing makes neither a new version nor an event."""
    made = ask.ok("POST", LEASES, lease("a"))
    watch = ask.watch(LEASES, resourceVersion=version(made))

    assert ask("PUT", f"{LEASES}/a", made) == (200, made)
    assert ask("PUT", f"{LEASES}/a", dict(reversed(made.items()))) == (200, made)
    assert events(watch) == []


@pytest.mark.scenario("H-18")
def test_put_cannot_rename(ask: Asking) -> None:
    """A PUT whose body has another name than the path is refused."""
    made = ask.ok("POST", LEASES, lease("a"))

    assert ask("PUT", f"{LEASES}/b", made)[0] == 400


@pytest.mark.scenario("H-19")
def test_put_of_a_node_keeps_its_status(ask: Asking) -> None:
    """A PUT of a node does not change its status, which has a path of its own."""
    made = ask.ok("POST", NODES, node("n", status={"conditions": [READY]}))

    updated = ask.ok("PUT", f"{NODES}/n", {**made, "status": {"conditions": [{**READY, "status": "False"}]}})

    assert updated == made


@pytest.mark.scenario("H-20")
def test_put_of_a_status_keeps_the_spec_and_takes_labels(ask: Asking) -> None:
    """A PUT to the status path changes the status and the labels, but not the spec."""
    made = ask.ok("POST", NODES, node("n"))
    made["metadata"]["labels"] = {"x": "y"}

    updated = ask.ok("PUT", f"{NODES}/n/status", {**made, "spec": {"unschedulable": True}})

    assert updated["metadata"]["labels"] == {"x": "y"}
    assert updated["spec"] == made["spec"]


@pytest.mark.scenario("H-22")
def test_pod_range_of_a_node_is_set_once(ask: Asking) -> None:
    """An empty pod range can be set. After that it cannot be changed."""
    ask.ok("POST", NODES, node("n"))

    first = ask.patch(f"{NODES}/n", {"spec": {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24"]}})
    second = ask.patch(f"{NODES}/n", {"spec": {"podCIDR": "10.2.0.0/24", "podCIDRs": ["10.2.0.0/24"]}})

    assert (first[0], second[0]) == (200, 422)


@pytest.mark.scenario("H-25")
def test_leases_have_no_status_and_a_put_that_creates_ignores_the_version(ask: Asking) -> None:
    """A lease has no status path. The version in a PUT that creates a lease is ignored."""
    ask.ok("POST", LEASES, lease("a"))

    assert ask("GET", f"{LEASES}/a/status")[0] == 404
    assert ask("PUT", f"{LEASES}/b", lease("b", {"resourceVersion": "7"}))[0] == 201


@pytest.mark.scenario("H-26")
def test_null_in_a_merge_patch_removes(ask: Asking) -> None:
    """A merge patch with null for an annotation removes it."""
    ask.ok("POST", LEASES, lease("a", {"annotations": {"a": "1", "b": "2"}}))

    status, patched = ask.patch(f"{LEASES}/a", {"metadata": {"annotations": {"a": None}}})

    assert (status, patched["metadata"]["annotations"]) == (200, {"b": "2"})


@pytest.mark.scenario("H-27")
def test_conditions_merge_by_type(ask: Asking) -> None:
    """A strategic patch with one condition leaves the others as they are."""
    other = {"type": "DiskPressure", "status": "False"}
    ask.ok("POST", NODES, node("n", status={"conditions": [READY, other]}))

    status, patched = ask.patch(
        f"{NODES}/n/status", {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}, STRATEGIC
    )

    assert status == 200
    found = {condition["type"]: condition["status"] for condition in patched["status"]["conditions"]}
    assert found == {"Ready": "Unknown", "DiskPressure": "False"}


@pytest.mark.scenario("H-28")
def test_taints_are_replaced_as_a_whole(ask: Asking) -> None:
    """Taints have no merge key, so a strategic patch replaces the whole list."""
    ask.ok("POST", NODES, node("n", spec={"taints": [{"key": "a", "effect": "NoSchedule"}]}))

    _, patched = ask.patch(f"{NODES}/n", {"spec": {"taints": [{"key": "b", "effect": "NoExecute"}]}}, STRATEGIC)

    assert [taint["key"] for taint in patched["spec"]["taints"]] == ["b"]


@pytest.mark.scenario("H-29")
def test_directive_deletes_one_address(ask: Asking) -> None:
    """`$patch: delete` removes only the address of this type."""
    addresses = [{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "Hostname", "address": "n"}]
    ask.ok("POST", NODES, node("n", status={"addresses": addresses}))

    patch = {"status": {"addresses": [{"type": "InternalIP", "$patch": "delete"}]}}
    _, patched = ask.patch(f"{NODES}/n/status", patch, STRATEGIC)

    assert patched["status"]["addresses"] == addresses[1:]


@pytest.mark.scenario("H-30")
def test_owner_references_merge_by_uid(ask: Asking) -> None:
    """An owner with a new uid is appended; one with a known uid is merged."""
    owner = {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u1"}
    ask.ok("POST", LEASES, lease("a", {"ownerReferences": [owner]}))

    patch = {"metadata": {"ownerReferences": [{**owner, "uid": "u2"}, {"uid": "u1", "name": "m"}]}}
    _, patched = ask.patch(f"{LEASES}/a", patch, STRATEGIC)

    found = [(one["uid"], one["name"]) for one in patched["metadata"]["ownerReferences"]]
    assert sorted(found) == [("u1", "m"), ("u2", "n")]


@pytest.mark.scenario("H-32")
def test_patch_of_another_media_type_is_refused(ask: Asking) -> None:
    """A patch of plain text is answered 415."""
    ask.ok("POST", LEASES, lease("a"))

    assert ask.patch(f"{LEASES}/a", {}, "text/plain")[0] == 415


@pytest.mark.scenario("H-34")
def test_patch_that_changes_nothing_writes_nothing(ask: Asking) -> None:
    """A patch that changes nothing leaves the version as it was."""
    made = ask.ok("POST", LEASES, lease("a"))

    assert ask.patch(f"{LEASES}/a", {"spec": {"holderIdentity": "a"}}) == (200, made)


@pytest.mark.parametrize("media_type", [STRATEGIC, JSON_PATCH])
def test_patch_of_what_is_missing_is_not_found(media_type: str, ask: Asking) -> None:
    assert ask.patch(f"{LEASES}/a", [], media_type)[0] == 404


def test_dry_run_of_an_update_shows_it_and_stores_nothing(ask: Asking) -> None:
    made = ask.ok("POST", LEASES, lease("a"))

    status, shown = ask("PUT", f"{LEASES}/a", held_by(made, "b"), dryRun="All")

    assert (status, shown) == (200, held_by(made, "b"))
    assert ask.ok("GET", f"{LEASES}/a") == made


def in_parallel(sim: Simulation, count: int, act: Any) -> list[Any]:
    answers: list[Any] = []
    host = sim.host("clients")
    for number in range(count):
        host.spawn(f"client-{number}", lambda number=number: answers.append(act(number)))
    sim.settle()
    return answers


@pytest.mark.scenario("H-74")
@pytest.mark.parametrize("seed", range(3))
def test_of_a_hundred_puts_of_one_version_one_wins(seed: int) -> None:
    """Exactly one of a hundred PUTs of one version succeeds, and 99 conflict."""
    with Simulation(seed=seed, switch_chance=0.5) as sim:
        ask = Asking(APIServer(sim.host("apiserver")))
        made = ask.ok("POST", LEASES, lease("a"))

        statuses = in_parallel(sim, 100, lambda n: ask("PUT", f"{LEASES}/a", held_by(made, f"h{n}"))[0])

    assert sorted(statuses) == [200, *[409] * 99]


@pytest.mark.scenario("H-75")
@pytest.mark.parametrize("seed", range(3))
def test_a_hundred_patches_without_version_all_succeed(seed: int) -> None:
    """A patch without a version is tried again until no other write comes first."""
    with Simulation(seed=seed, switch_chance=0.5) as sim:
        ask = Asking(APIServer(sim.host("apiserver")))
        ask.ok("POST", NODES, node("n"))

        def annotate(number: int) -> int:
            return ask.patch(f"{NODES}/n", {"metadata": {"annotations": {f"a{number}": "x"}}}, STRATEGIC)[0]

        statuses = in_parallel(sim, 100, annotate)

        assert statuses == [200] * 100
        assert len(ask.ok("GET", f"{NODES}/n")["metadata"]["annotations"]) == 100


@pytest.mark.scenario("H-33")
def test_patch_with_a_version_is_refused_once_that_is_old(ask: Asking) -> None:
    """A patch with an old version is a conflict. A patch without a version succeeds."""
    old = ask.ok("POST", LEASES, lease("a"))
    ask.ok("PUT", f"{LEASES}/a", held_by(old, "b"))
    patch = {"metadata": {"resourceVersion": old["metadata"]["resourceVersion"]}, "spec": {"holderIdentity": "c"}}

    assert ask.patch(f"{LEASES}/a", patch)[0] == 409
    assert ask.patch(f"{LEASES}/a", {"spec": {"holderIdentity": "c"}})[0] == 200
