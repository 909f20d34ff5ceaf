# SPDX-License-Identifier: Apache-2.0
"""Updates of built-in kinds: the fields that a path may change, and refusals."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from embedded_apiserver.groups.coordination.kinds import LEASE
from embedded_apiserver.groups.core.kinds import NAMESPACE, NODE, SERVICE
from embedded_apiserver.groups.pods.kinds import POD
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.reads.selector_fields import check_fields, fields_for_selector, supported_fields
from embedded_apiserver.routes import Route
from embedded_apiserver.status import StatusError
from embedded_apiserver.typed.body import admit
from embedded_apiserver.writes.preconditions import check_uid
from embedded_apiserver.writes.strategy import check_name, deletion_grace, is_finished, prepare_create, prepare_update

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
POD_SPEC = {"containers": [{"name": "c", "image": "i"}], "nodeName": "n"}


def stored(kind: Kind, **parts: Any) -> dict[str, Any]:
    """Return an object as it is stored, at version 5."""
    shaped, _ = admit(kind, {**parts, "metadata": {"name": "x", **parts.get("metadata", {})}})
    made = prepare_create(kind, shaped, namespace="ns" if kind.namespaced else "", now=NOW, uid="u", suffix="")
    return {**made, "metadata": {**made["metadata"], "resourceVersion": "5"}}


def changed(obj: dict[str, Any], **parts: Any) -> dict[str, Any]:
    """Return an object with fields of its parts replaced; None removes a field."""
    new = copy.deepcopy(obj)
    for part, fields in parts.items():
        merged = {**new.get(part, {}), **fields}
        new[part] = {name: value for name, value in merged.items() if value is not None}
    return new


def updated(kind: Kind, old: dict[str, Any], new: dict[str, Any], subresource: str = "") -> dict[str, Any]:
    before = copy.deepcopy((old, new))
    shaped, _ = admit(kind, new)
    made = prepare_update(kind, old, shaped, subresource=subresource)
    assert (old, new) == before
    return made


def refused(kind: Kind, old: dict[str, Any], new: dict[str, Any], subresource: str = "") -> StatusError:
    with pytest.raises(StatusError) as error:
        updated(kind, old, new, subresource)
    return error.value


def test_an_update_that_says_what_is_already_so_answers_an_equal_object() -> None:
    lease = stored(LEASE, spec={"holderIdentity": "a"})

    assert updated(LEASE, lease, lease) == lease


def test_the_servers_own_metadata_is_not_the_clients_to_change() -> None:
    lease = stored(LEASE, metadata={"labels": {"a": "1"}})
    sent = {
        "name": "x",
        "resourceVersion": "5",
        "creationTimestamp": "2001-01-01T00:00:00Z",
        "generation": 9,
        "managedFields": [{"manager": "m"}],
        "labels": {"b": "2"},
    }

    made = updated(LEASE, lease, {"metadata": sent, "spec": {}})

    assert made["metadata"] == {**lease["metadata"], "labels": {"b": "2"}}


@pytest.mark.scenario("H-12")
def test_a_stale_version_is_a_conflict() -> None:
    """A PUT with a stale resourceVersion is 409 Conflict in the exact words of optimistic locking."""
    lease = stored(LEASE)

    error = refused(LEASE, lease, changed(lease, metadata={"resourceVersion": "4"}))

    assert (error.code, error.reason) == (409, "Conflict")
    assert error.message == (
        'Operation cannot be fulfilled on leases.coordination.k8s.io "x": the object has been modified; '
        "please apply your changes to the latest version and try again"
    )


@pytest.mark.scenario("H-13")
def test_a_lease_has_to_say_which_version_it_replaces_and_a_node_has_not() -> None:
    """A PUT without resourceVersion is answered 422 at that field for a Lease, and accepted for a Node."""
    lease, node = stored(LEASE), stored(NODE)

    body = refused(LEASE, lease, changed(lease, metadata={"resourceVersion": None})).body()
    made = updated(NODE, node, changed(node, metadata={"resourceVersion": None, "labels": {"a": "b"}}))

    assert (body["code"], body["details"]["kind"]) == (422, "leases")
    assert body["details"]["causes"][0]["field"] == "metadata.resourceVersion"
    assert made["metadata"] == {**node["metadata"], "labels": {"a": "b"}}


@pytest.mark.scenario("H-15")
def test_another_uid_is_a_fault_of_the_metadata() -> None:
    """A patched Lease whose uid is not the stored one is refused; a PUT has the uid as a precondition, see below."""
    lease = stored(LEASE)

    error = refused(LEASE, lease, changed(lease, metadata={"uid": "other"}))

    assert error.code == 422
    assert error.message.endswith('is invalid: metadata.uid: Invalid value: "other": field is immutable')


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        pytest.param(LEASE, "/registry/leases/ns/x", id="under its plural"),
        pytest.param(SERVICE, "/registry/services/specs/ns/x", id="elsewhere"),
    ],
)
def test_a_put_of_another_uid_is_a_conflict_that_names_the_place_in_the_store(kind: Kind, place: str) -> None:
    """A PUT whose uid is not the stored one is 409 and mentions the UID precondition and the key."""
    check_uid(Route(kind, "ns", "x"), "u", "u")
    with pytest.raises(StatusError) as refusal:
        check_uid(Route(kind, "ns", "x"), "other", "u")

    assert refusal.value.code == 409
    assert refusal.value.message.endswith("Precondition failed: UID in precondition: other, UID in object meta: u")
    assert f"Key: {place}," in refusal.value.message


@pytest.mark.scenario("H-18")
@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        pytest.param({"name": "y"}, "the name of the object (y) does not match the name on the URL (x)", id="name"),
        pytest.param({"name": None}, "the name of the object (x based on URL) was undeterminable: name", id="no name"),
        pytest.param(
            {"namespace": "other"},
            "the namespace of the provided object does not match the namespace sent on the request",
            id="namespace",
        ),
    ],
)
def test_objects_cannot_be_renamed_or_moved(metadata: dict[str, Any], message: str) -> None:
    """An object whose name or namespace differs from its path is answered 400."""
    lease = stored(LEASE)

    error = refused(LEASE, lease, changed(lease, metadata=metadata))

    assert error.code == 400
    assert error.message.startswith(message)


def test_a_name_is_checked_without_a_stored_object_too() -> None:
    check_name({"metadata": {"name": "x"}}, namespace="ns", name="x")

    with pytest.raises(StatusError, match="does not match"):
        check_name({"metadata": {"name": "y"}}, namespace="ns", name="x")


@pytest.mark.scenario("H-19")
def test_the_main_path_does_not_write_the_status() -> None:
    """A PUT of a Node with a changed status on the main endpoint leaves the status unchanged."""
    node = stored(NODE, status={"capacity": {"cpu": "4"}})

    made = updated(NODE, node, changed(node, status={"capacity": {"cpu": "5"}}, spec={"unschedulable": True}))

    assert made == changed(node, spec={"unschedulable": True})


@pytest.mark.scenario("H-20")
def test_the_status_path_writes_the_status_and_labels_alone() -> None:
    """A PUT on nodes/status with a changed spec and a new label stores the label and the status, not the spec."""
    node = stored(NODE)
    wanted = changed(node, metadata={"labels": {"a": "b"}}, status={"phase": "Running"})

    made = updated(NODE, node, changed(wanted, spec={"unschedulable": True}), "status")

    assert made == wanted


@pytest.mark.scenario("H-22")
@pytest.mark.parametrize(
    ("before", "after", "fields"),
    [
        pytest.param({}, {"podCIDR": "10.1.0.0/24"}, [], id="given"),
        pytest.param({"podCIDR": "10.1.0.0/24"}, {}, [], id="kept"),
        pytest.param(
            {"podCIDR": "10.1.0.0/24"},
            {"podCIDR": "10.2.0.0/24", "podCIDRs": ["10.2.0.0/24"]},
            ["spec.podCIDRs"],
            id="changed",
        ),
        pytest.param(
            {"podCIDR": "10.1.0.0/24"}, {"podCIDR": None, "podCIDRs": None}, ["spec.podCIDRs"], id="taken away"
        ),
        pytest.param({"providerID": "a"}, {"providerID": "b"}, ["spec.providerID"], id="another provider"),
    ],
)
def test_what_a_node_is_given_once_stays(before: dict[str, Any], after: dict[str, Any], fields: list[str]) -> None:
    """A podCIDR may be set once and never changed."""
    node = stored(NODE, spec=before)
    new = changed(node, spec=after)

    if not fields:
        assert updated(NODE, node, new)["spec"]["podCIDRs"] == ["10.1.0.0/24"]
    else:
        causes = refused(NODE, node, new).body()["details"]["causes"]
        assert [(cause["field"], cause["reason"]) for cause in causes] == [(fields[0], "FieldValueForbidden")]


def test_a_bad_taint_is_told_twice_when_a_node_is_updated() -> None:
    node = stored(NODE)

    body = refused(NODE, node, changed(node, spec={"taints": [{"key": "j", "effect": "Wrong"}]})).body()

    assert len(body["details"]["causes"]) == 2
    assert body["message"].count("Unsupported value") == 1


def test_a_node_has_no_address_twice() -> None:
    node = stored(NODE)
    addresses = [{"type": "InternalIP", "address": address} for address in "112"]

    causes = refused(NODE, node, changed(node, status={"addresses": addresses}), "status").body()["details"]["causes"]

    assert [cause["field"] for cause in causes] == ["status.addresses[1]"]


@pytest.mark.scenario("H-42")
def test_an_object_that_is_being_deleted_takes_no_new_finalizers() -> None:
    """Adding a finalizer to a terminating object is 422 with a Forbidden cause, twice; removing one is accepted."""
    lease = stored(LEASE, metadata={"finalizers": ["example.com/a"]})
    dying = changed(lease, metadata={"deletionTimestamp": "2026-01-02T03:04:05Z"})
    more = ["example.com/a", "example.com/b"]

    body = refused(LEASE, dying, changed(dying, metadata={"finalizers": more})).body()

    assert body["message"] == (
        'Lease.coordination.k8s.io "x" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added '
        'if the object is being deleted, found new finalizers []string{"example.com/b"}'
    )
    assert [cause["reason"] for cause in body["details"]["causes"]] == ["FieldValueForbidden"] * 2
    assert "finalizers" not in updated(LEASE, dying, changed(dying, metadata={"finalizers": None}))["metadata"]
    assert updated(LEASE, lease, changed(lease, metadata={"finalizers": more}))["metadata"]["finalizers"] == more


def test_metadata_is_checked_on_update_where_it_changes() -> None:
    lease = stored(LEASE)

    body = refused(LEASE, lease, changed(lease, metadata={"labels": {"a b": "c"}})).body()

    # As often as a real server tells it, which checks them by three rules.
    assert [cause["field"] for cause in body["details"]["causes"]] == 3 * ["metadata.labels"]


@pytest.mark.parametrize("name", ["deletionTimestamp", "deletionGracePeriodSeconds"])
def test_what_a_deletion_sets_is_not_set_by_an_update(name: str) -> None:
    lease, value = stored(LEASE), "2001-01-01T00:00:00Z" if name == "deletionTimestamp" else 5

    body = refused(LEASE, lease, changed(lease, metadata={name: value})).body()

    assert {cause["message"].rpartition(": ")[2] for cause in body["details"]["causes"]} == {"field is immutable"}


def test_a_pods_generation_counts_changes_of_its_spec() -> None:
    pod = stored(POD, spec=POD_SPEC)
    image = [{**pod["spec"]["containers"][0], "image": "j"}]

    labelled = updated(POD, pod, changed(pod, metadata={"labels": {"a": "b"}}))
    moved = updated(POD, pod, changed(pod, spec={"containers": image}))
    running = updated(POD, pod, changed(pod, status={"phase": "Running"}, spec={"nodeName": "m"}), "status")

    assert labelled["metadata"]["generation"] == 1
    assert moved["metadata"]["generation"] == 2
    assert running == changed(pod, status={"phase": "Running"})


@pytest.mark.parametrize(
    ("spec", "accepted"),
    [
        pytest.param({"nodeName": "m"}, False, id="another node"),
        pytest.param({"activeDeadlineSeconds": 5}, True, id="a deadline"),
        pytest.param({"tolerations": []}, True, id="defaults come back"),
        pytest.param({"terminationGracePeriodSeconds": 5}, False, id="another grace"),
        pytest.param({"priority": 7}, False, id="another priority"),
    ],
)
def test_hardly_anything_of_a_pods_spec_may_change(spec: dict[str, Any], accepted: bool) -> None:
    pod = stored(POD, spec=POD_SPEC)
    new = changed(pod, spec=spec)

    if accepted:
        updated(POD, pod, new)
    else:
        error = refused(POD, pod, new)
        assert error.message.startswith('Pod "x" is invalid: spec: Forbidden: pod updates may not change fields other')


def test_tolerations_may_be_added_and_not_taken_away() -> None:
    own = {"key": "k", "operator": "Exists"}
    pod = stored(POD, spec={**POD_SPEC, "tolerations": [own]})
    others = [one for one in pod["spec"]["tolerations"] if one != own]
    more = [*pod["spec"]["tolerations"], {"key": "l", "operator": "Exists"}]

    assert updated(POD, pod, changed(pod, spec={"tolerations": more}))["spec"]["tolerations"] == more
    assert refused(POD, pod, changed(pod, spec={"tolerations": others})).code == 422


def test_how_long_something_is_tolerated_may_change() -> None:
    own = {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 20}
    pod = stored(POD, spec={**POD_SPEC, "tolerations": [own]})
    for_ever = {name: value for name, value in own.items() if name != "tolerationSeconds"}
    others = [one for one in pod["spec"]["tolerations"] if one != own]

    for changes in ({**own, "tolerationSeconds": 200}, {**own, "tolerationSeconds": -1}, for_ever):
        after = [changes, *others]
        assert updated(POD, pod, changed(pod, spec={"tolerations": after}))["spec"]["tolerations"] == after


def test_a_namespaces_finalizers_are_written_through_a_path_of_their_own() -> None:
    namespace = stored(NAMESPACE)
    bare = {"metadata": {"name": "x"}, "spec": {"finalizers": []}}

    kept = updated(NAMESPACE, namespace, bare)
    finalized = updated(NAMESPACE, namespace, bare, "finalize")

    assert kept["spec"] == {"finalizers": ["kubernetes"]}
    assert (finalized["spec"], finalized["status"]) == ({}, {"phase": "Active"})
    assert finalized["metadata"]["labels"] == {"kubernetes.io/metadata.name": "x"}


def test_a_namespace_that_lives_is_active() -> None:
    namespace = stored(NAMESPACE)
    ending = changed(namespace, status={"phase": "Terminating"})
    dying = changed(namespace, metadata={"deletionTimestamp": "2026-01-02T03:04:05Z"})

    assert refused(NAMESPACE, namespace, ending, "status").code == 422
    assert updated(NAMESPACE, dying, ending, "status")["status"] == {"phase": "Terminating"}


@pytest.mark.parametrize(
    ("obj", "finished"),
    [
        pytest.param({"metadata": {}}, False, id="alive"),
        pytest.param(
            {"metadata": {"deletionTimestamp": "t", "deletionGracePeriodSeconds": 0}}, True, id="no grace left"
        ),
        pytest.param({"metadata": {"deletionTimestamp": "t"}}, True, id="never had any"),
        pytest.param({"metadata": {"deletionTimestamp": "t", "deletionGracePeriodSeconds": 5}}, False, id="in grace"),
        pytest.param({"metadata": {"deletionTimestamp": "t", "finalizers": ["a"]}}, False, id="held"),
        pytest.param(
            {"metadata": {"deletionTimestamp": "t"}, "spec": {"finalizers": ["kubernetes"]}},
            False,
            id="held by content",
        ),
    ],
)
def test_when_a_terminating_object_goes(obj: dict[str, Any], finished: bool) -> None:
    assert is_finished(NAMESPACE, obj) is finished


def test_in_the_spec_of_another_kind_finalizers_are_its_own() -> None:
    assert is_finished(POD, {"metadata": {"deletionTimestamp": "t"}, "spec": {"finalizers": ["kubernetes"]}})


@pytest.mark.parametrize(
    ("pod", "asked", "grace"),
    [
        pytest.param({"spec": {"nodeName": "n"}}, None, 30, id="default", marks=pytest.mark.scenario("H-43")),
        pytest.param({"spec": {"nodeName": "n", "terminationGracePeriodSeconds": 5}}, None, 5, id="its own"),
        pytest.param({"spec": {"nodeName": "n"}}, 7, 7, id="asked for"),
        pytest.param({"spec": {"nodeName": "n"}}, 0, 0, id="at once"),
        pytest.param({"spec": {"nodeName": "n"}}, -1, 1, id="less than nothing"),
        pytest.param({"spec": {}}, 7, 0, id="runs nowhere", marks=pytest.mark.scenario("H-44")),
        pytest.param({"spec": {"nodeName": "n"}, "status": {"phase": "Failed"}}, 7, 0, id="has ended"),
    ],
)
def test_how_long_a_pod_may_take_to_end(pod: dict[str, Any], asked: int | None, grace: int) -> None:
    """A scheduled pod has its grace period, by default 30 s; an unscheduled pod is deleted at once."""
    assert deletion_grace(POD, pod, asked) == grace
    assert deletion_grace(LEASE, pod, asked) == 0


def test_selectable_fields_are_texts() -> None:
    pod = stored(POD, spec=POD_SPEC)
    node = stored(NODE, spec={"unschedulable": True})

    fields = fields_for_selector(POD, pod)

    assert fields["spec.nodeName"] == "n"
    assert (fields["spec.hostNetwork"], fields["status.podIP"]) == ("false", "")
    assert tuple(fields) == supported_fields(POD)
    assert fields_for_selector(NODE, node) == {"metadata.name": "x", "spec.unschedulable": "true"}


@pytest.mark.scenario("H-53")
@pytest.mark.parametrize(
    ("kind", "field", "message"),
    [
        pytest.param(POD, "spec.nodeName", "", id="selectable"),
        pytest.param(POD, "spec.nope", "field label not supported: spec.nope", id="not selectable"),
        pytest.param(NODE, "metadata.namespace", "field label not supported: metadata.namespace", id="cluster-scoped"),
        pytest.param(
            LEASE,
            "spec.holderIdentity",
            '"spec.holderIdentity" is not a known field selector: only "metadata.name", "metadata.namespace"',
            id="a lease has name and namespace only",
        ),
    ],
)
def test_fields_that_cannot_be_selected_are_refused(kind: Kind, field: str, message: str) -> None:
    """spec.nodeName selects pods; spec.holderIdentity on leases is answered 400."""
    if not message:
        check_fields(kind, (field,))
    else:
        with pytest.raises(StatusError) as error:
            check_fields(kind, (field,))
        assert (error.value.code, error.value.message) == (400, message)
