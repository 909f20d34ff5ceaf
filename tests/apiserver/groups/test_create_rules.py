# SPDX-License-Identifier: Apache-2.0
"""Creation of built-in kinds: defaults, server-set fields and refusals, as recorded from a real server."""

from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from embedded_apiserver.groups.coordination.kinds import LEASE
from embedded_apiserver.groups.core.kinds import NAMESPACE, NODE
from embedded_apiserver.groups.pods.kinds import POD
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.status import StatusError
from embedded_apiserver.typed.body import admit
from embedded_apiserver.writes.strategy import prepare_create

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


def created(kind: Kind, obj: dict[str, Any], namespace: str = "ns") -> dict[str, Any]:
    shaped, _ = admit(kind, obj)
    before = copy.deepcopy(shaped)
    made = prepare_create(
        kind, shaped, namespace=namespace if kind.namespaced else "", now=NOW, uid="fresh", suffix="x2345"
    )
    assert shaped == before
    return made


def refused(kind: Kind, obj: dict[str, Any]) -> StatusError:
    with pytest.raises(StatusError) as error:
        created(kind, obj)
    return error.value


def lease(**metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a", **metadata}, "spec": {}}


def pod(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}], **spec}}


@pytest.mark.scenario("H-02")
def test_the_servers_own_metadata_is_the_servers() -> None:
    """A uid and a timestamp sent by the client are replaced; managedFields are dropped."""
    sent = lease(
        uid="x",
        creationTimestamp="2001-01-01T00:00:00Z",
        selfLink="/x",
        managedFields=[{"manager": "m"}],
        labels={"a": "b"},
    )

    made = created(LEASE, sent)

    assert made["metadata"] == {
        "name": "a",
        "namespace": "ns",
        "uid": "fresh",
        "creationTimestamp": "2026-01-02T03:04:05Z",
        "labels": {"a": "b"},
    }


def test_parts_stand_in_the_order_of_a_real_server() -> None:
    made = created(NODE, {"status": {}, "spec": {}, "metadata": {"labels": {"a": "b"}, "name": "n"}})

    assert list(made) == ["metadata", "spec", "status"]
    assert list(made["metadata"]) == ["name", "uid", "creationTimestamp", "labels"]


@pytest.mark.parametrize(
    ("stem", "name"),
    [
        pytest.param("a-", "a-x2345", id="short", marks=pytest.mark.scenario("H-07")),
        pytest.param("a" * 70, "a" * 58 + "x2345", id="cut", marks=pytest.mark.scenario("H-08")),
    ],
)
def test_names_are_generated_from_a_stem(stem: str, name: str) -> None:
    """A generated name has at most 58 characters of the stem and five of the server's."""
    made = created(LEASE, {"metadata": {"generateName": stem}, "spec": {}})

    assert (made["metadata"]["name"], made["metadata"]["generateName"]) == (name, stem)


@pytest.mark.scenario("H-09")
def test_an_object_needs_a_name() -> None:
    """An object without name and generateName is answered 422 with FieldValueRequired at metadata.name alone."""
    body = refused(LEASE, {"metadata": {}, "spec": {}}).body()

    assert body["message"] == (
        'Lease.coordination.k8s.io "" is invalid: metadata.name: Required value: name or generateName is required'
    )
    assert body["details"]["causes"][0]["reason"] == "FieldValueRequired"
    assert "name" not in body["details"]


@pytest.mark.scenario("H-11")
def test_the_namespace_of_the_object_is_that_of_the_path() -> None:
    """A body namespace other than the path's is answered 400; a cluster-scoped object just loses it."""
    error = refused(LEASE, lease(namespace="other"))

    assert (error.code, error.reason) == (400, "BadRequest")
    assert "namespace" not in created(NODE, {"metadata": {"name": "n", "namespace": "x"}})["metadata"]


@pytest.mark.parametrize(
    ("metadata", "field", "message"),
    [
        pytest.param({"name": "Bad_Name"}, "metadata.name", 'Invalid value: "Bad_Name": a lowercase RFC', id="name"),
        pytest.param(
            {"labels": {"bad key!": "x"}}, "metadata.labels", 'Invalid value: "bad key!": name part', id="label key"
        ),
        pytest.param(
            {"labels": {"k": "x" * 64}}, "metadata.labels", f'Invalid value: "{"x" * 64}": must be no more', id="label"
        ),
        pytest.param(
            {"annotations": {"a": "x" * (256 * 1024)}}, "metadata.annotations", "Too long: may not be", id="annotations"
        ),
        pytest.param(
            {"ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "n"}]},
            "metadata.ownerReferences.uid",
            'Invalid value: "": must not be empty',
            id="owner without uid",
        ),
        pytest.param(
            {"finalizers": ["a.b/c d"]}, "metadata.finalizers", 'Invalid value: "a.b/c d": name part', id="finalizer"
        ),
        pytest.param(
            {"finalizers": ["orphan", "foregroundDeletion"]},
            "metadata.finalizers",
            'Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan',
            id="two policies",
        ),
    ],
)
def test_bad_metadata_is_refused_at_its_field(metadata: dict[str, Any], field: str, message: str) -> None:
    (cause,) = refused(LEASE, lease(**metadata)).body()["details"]["causes"]

    assert cause["field"] == field
    assert cause["message"].startswith(message)


def test_an_object_has_at_most_one_controller_and_no_event_for_an_owner() -> None:
    owner = {"apiVersion": "v1", "kind": "Event", "name": "n", "uid": "u", "controller": True}

    causes = refused(LEASE, lease(ownerReferences=[owner, {**owner, "kind": "Node"}])).body()["details"]["causes"]

    assert [cause["message"].partition(": ")[2].rpartition(": ")[2].split()[0] for cause in causes] == ["/v1,", "Only"]


@pytest.mark.parametrize(
    ("spec", "causes"),
    [
        pytest.param({}, {}, id="nothing set"),
        pytest.param(
            {"leaseDurationSeconds": 0},
            {"spec.leaseDurationSeconds": "Invalid value: 0: must be greater than 0"},
            id="no duration",
        ),
        pytest.param(
            {"leaseTransitions": -1},
            {"spec.leaseTransitions": "Invalid value: -1: must be greater than or equal to 0"},
            id="negative transitions",
        ),
        pytest.param({"strategy": "OldestEmulationVersion", "preferredHolder": "p"}, {}, id="a known strategy"),
        pytest.param({"strategy": "example.com/mine"}, {}, id="a strategy of one's own"),
        pytest.param(
            {"strategy": "Nope"},
            {"spec.strategy.strategy": 'Unsupported value: "Nope": supported values: "OldestEmulationVersion"'},
            id="an unknown strategy",
        ),
        pytest.param(
            {"strategy": "", "preferredHolder": "p"},
            {
                "spec.strategy.strategy": 'Unsupported value: "": supported values: "OldestEmulationVersion"',
                "spec.preferredHolder": "Forbidden: may only be specified if `strategy` is defined",
            },
            id="an empty strategy",
        ),
        pytest.param(
            {"preferredHolder": "p"},
            {"spec.preferredHolder": "Forbidden: may only be specified if `strategy` is defined"},
            id="a preference without a strategy",
        ),
    ],
)
def test_rules_of_leases(spec: dict[str, Any], causes: dict[str, str]) -> None:
    obj = {"metadata": {"name": "a"}, "spec": spec}

    if not causes:
        assert created(LEASE, obj)["spec"] == spec
    else:
        found = refused(LEASE, obj).body()["details"]["causes"]
        assert {cause["field"]: cause["message"] for cause in found} == causes


def test_a_namespace_is_active_and_carries_its_name_and_finalizer() -> None:
    made = created(NAMESPACE, {"metadata": {"name": "n"}, "status": {"phase": "Terminating"}})

    assert made["metadata"]["labels"] == {"kubernetes.io/metadata.name": "n"}
    assert (made["spec"], made["status"]) == ({"finalizers": ["kubernetes"]}, {"phase": "Active"})
    assert refused(NAMESPACE, {"metadata": {"name": "a.b"}}).code == 422


@pytest.mark.scenario("H-21")
def test_a_node_keeps_its_status_and_a_pod_starts_as_pending() -> None:
    """A Node is created with the status sent; a Pod's is reset to phase Pending."""
    node = created(NODE, {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "4"}}})
    made = created(POD, {**pod(), "status": {"phase": "Running"}})

    assert node["status"]["capacity"] == node["status"]["allocatable"] == {"cpu": "4"}
    assert made["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert made["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        pytest.param(
            {"taints": [{"key": "j", "effect": "Wrong"}]},
            "metadata.taints[0].effect",
            'Unsupported value: "Wrong": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
            id="effect",
        ),
        pytest.param({"taints": [{"key": "j"}]}, "metadata.taints[0].effect", "Required value", id="no effect"),
        pytest.param(
            {"taints": [{"key": "a b", "effect": "NoExecute"}]}, "metadata.taints[0].key", 'Invalid value: "a', id="key"
        ),
        pytest.param(
            {"taints": [{"key": "k", "value": "-", "effect": "NoExecute"}]},
            "metadata.taints[0].value",
            'Invalid value: "-": a valid label',
            id="value",
        ),
        pytest.param(
            {"taints": [{"key": "k", "value": value, "effect": "NoExecute"} for value in "ab"]},
            "metadata.taints[1]",
            'Duplicate value: {"Key":"k","Value":"b","Effect":"NoExecute","TimeAdded":null}: taints must be unique',
            id="twice",
            marks=pytest.mark.scenario("H-23"),
        ),
        pytest.param({"podCIDR": "10"}, "spec.podCIDRs[0]", 'Invalid value: "10": must be a valid CIDR', id="no range"),
        pytest.param(
            {"podCIDRs": ["10.1.0.0/24", "10.2.0.0/24"]},
            "spec.podCIDRs",
            'Invalid value: ["10.1.0.0/24","10.2.0.0/24"]: may specify no more than one CIDR for each IP family',
            id="two ranges of one family",
        ),
    ],
)
def test_bad_nodes_are_refused_at_the_field_a_real_server_names(spec: dict[str, Any], field: str, message: str) -> None:
    """Taints must be well-formed and unique by key and effect, pod ranges one for each address family."""
    (cause,) = refused(NODE, {"metadata": {"name": "n"}, "spec": spec}).body()["details"]["causes"]

    assert cause["field"] == field
    assert cause["message"].startswith(message)


def test_one_range_of_a_node_is_written_in_both_forms() -> None:
    both = {"podCIDR": "10.1.0.0/24", "podCIDRs": ["10.1.0.0/24", "fd00::/64"]}

    one = created(NODE, {"metadata": {"name": "n"}, "spec": {"podCIDR": "10.1.0.0/24"}})["spec"]
    many = created(NODE, {"metadata": {"name": "n"}, "spec": {"podCIDRs": both["podCIDRs"]}})["spec"]

    assert one["podCIDRs"] == ["10.1.0.0/24"]
    assert many["podCIDR"] == "10.1.0.0/24"


def test_a_pod_is_filled_in_as_recorded() -> None:
    made = created(POD, pod())["spec"]

    assert (made["restartPolicy"], made["terminationGracePeriodSeconds"]) == ("Always", 30)
    assert made["containers"][0] == {
        "name": "c",
        "image": "i",
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "Always",
    }


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        pytest.param("i", "Always", id="no tag"),
        pytest.param("host:5000/i", "Always", id="a port is no tag"),
        pytest.param("i:latest", "Always", id="latest"),
        pytest.param("host:5000/i:v1", "IfNotPresent", id="a tag"),
        pytest.param(f"i@sha256:{'0' * 64}", "IfNotPresent", id="a digest"),
    ],
)
def test_images_that_may_change_are_pulled_each_time(image: str, policy: str) -> None:
    made = created(POD, pod(containers=[{"name": "c", "image": image}]))

    assert made["spec"]["containers"][0]["imagePullPolicy"] == policy


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        pytest.param({}, "BestEffort", id="nothing"),
        pytest.param({"requests": {"cpu": "1"}}, "Burstable", id="asks for something"),
        pytest.param({"limits": {"cpu": "1", "memory": "1"}}, "Guaranteed", id="limits are what it asks for"),
        pytest.param(
            {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1"}}, "Burstable", id="may have more"
        ),
    ],
)
def test_quality_of_service(resources: dict[str, Any], quality: str) -> None:
    made = created(POD, pod(containers=[{"name": "c", "image": "i", "resources": resources}]))

    assert made["status"]["qosClass"] == quality


@pytest.mark.parametrize(
    ("spec", "fields"),
    [
        pytest.param({"containers": []}, ["spec.containers"], id="no containers"),
        pytest.param({"containers": [{}]}, ["spec.containers[0].name", "spec.containers[0].image"], id="nothing in it"),
        pytest.param(
            {"containers": [{"name": "c", "image": "i"}] * 2},
            ["spec.containers[1].name"],
            id="one name, two containers",
        ),
        pytest.param({"initContainers": [{"name": "A", "image": "i"}]}, ["spec.initContainers[0].name"], id="bad name"),
    ],
)
def test_bad_pods_are_refused(spec: dict[str, Any], fields: list[str]) -> None:
    causes = refused(POD, pod(**spec)).body()["details"]["causes"]

    assert [cause["field"] for cause in causes] == fields


@pytest.mark.parametrize(
    ("kind", "obj"),
    [
        pytest.param(NODE, {"metadata": {"name": "n"}, "status": {"capacity": {"cpu": "4"}}}, id="node"),
        pytest.param(POD, pod(), id="pod"),
        pytest.param(NAMESPACE, {"metadata": {"name": "n"}}, id="namespace"),
        pytest.param(LEASE, lease(), id="lease"),
    ],
)
def test_what_the_server_adds_to_an_object_is_that_objects_own(kind: Kind, obj: dict[str, Any]) -> None:
    first = created(kind, copy.deepcopy(obj))
    before = copy.deepcopy(first)
    second = created(kind, copy.deepcopy(obj))

    scribble(second)

    assert first == before
    assert created(kind, copy.deepcopy(obj)) == before


def scribble(value: Any) -> None:
    """Modify each list and each dict inside a value."""
    if isinstance(value, dict):
        for item in list(value.values()):
            scribble(item)
        value["scribbled"] = True
    elif isinstance(value, list):
        for item in list(value):
            scribble(item)
        value.append("scribbled")
