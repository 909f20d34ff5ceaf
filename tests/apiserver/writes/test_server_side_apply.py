# SPDX-License-Identifier: Apache-2.0
"""Field managers and server-side apply, as clients of the server see them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from kit.apiserver.asking import JSON_PATCH, LEASES, NODES, Asking, lease, node

APPLY = "application/apply-patch+yaml"
X = f"{LEASES}/x"

Object = dict[str, Any]


def config(metadata: Object | None = None, **spec: Any) -> Object:
    """Return a configuration of the lease `x`."""
    whole = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "x", **(metadata or {})}}
    return {**whole, "spec": spec} if spec else whole


def managers(obj: Object) -> list[str]:
    return [entry["manager"] for entry in obj["metadata"].get("managedFields", ())]


def message(answer: tuple[int, Any]) -> str:
    return str(answer[1]["message"])


@pytest.mark.scenario("H-35")
def test_a_patch_of_nothing_is_not_found_but_an_apply_creates(ask: Asking) -> None:
    """A patch of a missing object is answered 404. An apply creates it, and is refused without a field manager."""
    assert ask.patch(X, {"spec": {}})[0] == 404
    assert ask.patch(X, config(), APPLY)[0] == 422

    status, created = ask.patch(X, config(holderIdentity="a"), APPLY, fieldManager="one")

    assert (status, created["spec"], managers(created)) == (201, {"holderIdentity": "a"}, ["one"])


@pytest.mark.scenario("H-36")
def test_another_value_is_a_conflict_unless_it_is_forced(ask: Asking) -> None:
    """Applying another value to a field of another manager is a conflict with a cause; force takes the field over."""
    ask.patch(X, config(leaseDurationSeconds=1), APPLY, fieldManager="a")

    status, refused = ask.patch(X, config(leaseDurationSeconds=2), APPLY, fieldManager="b")
    forced = ask.patch(X, config(leaseDurationSeconds=2), APPLY, fieldManager="b", force="true")

    assert (status, refused["details"]["causes"]) == (
        409,
        [{"reason": "FieldManagerConflict", "message": 'conflict with "a"', "field": ".spec.leaseDurationSeconds"}],
    )
    assert (forced[0], forced[1]["spec"], managers(forced[1])) == (200, {"leaseDurationSeconds": 2}, ["b"])


@pytest.mark.scenario("H-37")
def test_a_label_that_is_no_longer_applied_goes(ask: Asking) -> None:
    """A label with one owner is removed when that manager stops applying it. A label with two owners stays."""
    ask.patch(X, config({"labels": {"mine": "1", "ours": "1"}}), APPLY, fieldManager="a")
    ask.patch(X, config({"labels": {"ours": "1"}}), APPLY, fieldManager="b")

    _, left = ask.patch(X, config(leaseDurationSeconds=1), APPLY, fieldManager="a")

    assert left["metadata"]["labels"] == {"ours": "1"}


def test_applying_the_same_again_writes_nothing(ask: Asking) -> None:
    _, first = ask.patch(X, config(holderIdentity="a"), APPLY, fieldManager="one")

    status, again = ask.patch(X, config(holderIdentity="a"), APPLY, fieldManager="one")

    assert (status, again) == (200, first)


def test_what_is_applied_to_the_status_is_owned_there_and_needs_an_object(ask: Asking) -> None:
    status = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}, "status": {"phase": "Running"}}
    missing = ask.patch(f"{NODES}/n/status", status, APPLY, fieldManager="m")
    ask.ok("POST", NODES, node("n"))

    _, applied = ask.patch(f"{NODES}/n/status", status, APPLY, fieldManager="m")

    (entry,) = applied["metadata"]["managedFields"]
    assert (missing[0], entry["subresource"], entry["fieldsV1"]) == (404, "status", {"f:status": {"f:phase": {}}})


def test_a_dry_run_applies_nothing(ask: Asking) -> None:
    status, answer = ask.patch(X, config(holderIdentity="a"), APPLY, fieldManager="one", dryRun="All")

    assert (status, managers(answer), ask("GET", X)[0]) == (201, ["one"], 404)


def test_an_applied_version_or_uid_must_be_the_objects(ask: Asking) -> None:
    uid = {"uid": "11111111-1111-1111-1111-111111111111"}
    without = ask.patch(X, config(uid), APPLY, fieldManager="m")
    ask.ok("POST", LEASES, lease("x"))

    codes = [ask.patch(X, config(wrong), APPLY, fieldManager="m")[0] for wrong in (uid, {"resourceVersion": "1"})]

    assert "uid mismatch: " in message(without)
    assert (without[0], codes) == (409, [422, 409])


def test_the_manager_is_named_by_the_client_or_by_its_user_agent(ask: Asking) -> None:
    ask("POST", LEASES, lease("x"), headers={"user-agent": "agent/1.0 (test)"})
    ask("PATCH", X, {"spec": {"leaseTransitions": 1}}, headers={"content-type": "application/merge-patch+json"})

    named = ask.patch(X, {"spec": {"leaseDurationSeconds": 1}}, fieldManager="me")[1]

    assert sorted(managers(named)) == ["agent", "me", "unknown"]


@pytest.mark.parametrize(
    ("query", "text"),
    [
        pytest.param({"fieldManager": "x" * 129}, "fieldManager: Too long: may not be more than 128 bytes", id="long"),
        pytest.param({"fieldManager": "a\tb"}, "invalid character U+0009 (at position 1)", id="not printable"),
        pytest.param({"force": "true"}, "force: Forbidden: may not be specified for non-apply patch", id="force"),
    ],
)
def test_field_managers_and_force_are_checked(ask: Asking, query: dict[str, str], text: str) -> None:
    ask.ok("POST", LEASES, lease("x"))

    answer = ask.patch(X, {}, **query)

    assert answer[0] == 422
    assert text in message(answer)


def test_a_patch_may_rewrite_who_owns_what(ask: Asking) -> None:
    ask.ok("POST", LEASES, lease("x"), fieldManager="old")

    patch = [{"op": "replace", "path": "/metadata/managedFields/0/manager", "value": "new"}]
    _, patched = ask.patch(X, patch, JSON_PATCH, fieldManager="m")
    _, cleared = ask.patch(X, {"metadata": {"managedFields": []}})

    assert (managers(patched), managers(cleared)) == (["new"], [])


def test_a_put_without_managed_fields_keeps_them(ask: Asking) -> None:
    created = ask.ok("POST", LEASES, lease("x", leaseDurationSeconds=1), fieldManager="creator")
    del created["metadata"]["managedFields"]

    put = ask.ok("PUT", X, {**created, "spec": {**created["spec"], "holderIdentity": "b"}}, fieldManager="other")

    assert managers(put) == ["creator", "other"]


def test_who_changes_to_server_side_apply_is_not_in_conflict_with_himself(ask: Asking) -> None:
    note = (
        '{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"x"},"spec":{"holderIdentity":"a"}}'
    )
    annotation = {"kubectl.kubernetes.io/last-applied-configuration": note}
    ask.ok("POST", LEASES, lease("x", {"annotations": annotation}), fieldManager="kubectl-client-side-apply")

    stranger = ask.patch(X, config(holderIdentity="b"), APPLY, fieldManager="stranger")
    status, applied = ask.patch(X, config(holderIdentity="b"), APPLY, fieldManager="kubectl")

    assert (stranger[0], status, applied["spec"]["holderIdentity"]) == (409, 200, "b")
    noted = json.loads(applied["metadata"]["annotations"].popitem()[1])
    assert noted["spec"] == {"holderIdentity": "b"}
    assert "annotations" not in noted["metadata"]  # which were not sent


def test_what_somebody_changed_since_client_side_apply_is_still_in_conflict(ask: Asking) -> None:
    note = (
        '{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"x"},"spec":{"holderIdentity":"a"}}'
    )
    annotation = {"kubectl.kubernetes.io/last-applied-configuration": note}
    ask.ok("POST", LEASES, lease("x", {"annotations": annotation}), fieldManager="kubectl-client-side-apply")
    ask.patch(X, {"spec": {"holderIdentity": "c"}}, fieldManager="other")

    assert ask.patch(X, config(holderIdentity="b"), APPLY, fieldManager="kubectl")[0] == 409
