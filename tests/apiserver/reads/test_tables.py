# SPDX-License-Identifier: Apache-2.0
"""Tables: columns, rows and the objects in them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from kit.apiserver.asking import LEASES, NODES, Asking, Object, events, lease, node

from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.groups.all import KINDS
from embedded_apiserver.groups.core.kinds import NODE, QUOTA, SECRET, SERVICE
from embedded_apiserver.groups.events.kinds import EVENT
from embedded_apiserver.groups.pods.columns import pod_status
from embedded_apiserver.groups.pods.kinds import CLAIM, POD
from embedded_apiserver.groups.storage.kinds import VOLUME
from embedded_apiserver.groups.workloads.kinds import JOB, REPLICATION_CONTROLLER
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.reads.columns import table_of

TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}
REAL = json.loads(
    (Path(__file__).parents[2] / "data" / "recordings" / "tables-1.36.2.json").read_text(encoding="utf-8")
)
NOW = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)
CREATED = {"name": "x", "namespace": "default", "creationTimestamp": "2026-01-01T00:00:00Z"}


def row(kind: Kind, **parts: Any) -> dict[str, Any]:
    """Return the cells of an object, by the name of the column."""
    obj = {**parts, "metadata": {**CREATED, **parts.get("metadata", {})}}
    return {column.name: column.cell(obj, NOW) for column in table_of(kind).columns}


@pytest.mark.scenario("H-63")
def test_a_table_of_leases_has_holder_and_age_and_carries_metadata(ask: Asking, sim: Simulation) -> None:
    """A table of leases has three columns, and for each lease a row with its metadata as PartialObjectMetadata."""
    ask.ok("POST", LEASES, lease("a"))
    ask.ok("POST", LEASES, lease("b", holderIdentity="me"))
    sim.advance(130)

    table = ask.ok("GET", LEASES, headers=TABLE)

    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "Holder", "Age"]
    assert [one["cells"] for one in table["rows"]] == [["a", "a", "2m10s"], ["b", "me", "2m10s"]]
    carried = table["rows"][0]["object"]
    assert (carried["kind"], carried["metadata"]["name"]) == ("PartialObjectMetadata", "a")
    assert "spec" not in carried


@pytest.mark.parametrize(
    ("include", "keys"),
    [
        pytest.param("None", None, id="nothing"),
        pytest.param("Metadata", {"kind", "apiVersion", "metadata"}, id="metadata"),
        pytest.param("Object", {"kind", "apiVersion", "metadata", "spec"}, id="everything"),
    ],
)
def test_a_row_carries_what_is_asked_for(include: str, keys: set[str] | None, ask: Asking) -> None:
    ask.ok("POST", LEASES, lease("a"))

    table = ask.ok("GET", f"{LEASES}/a", headers=TABLE, includeObject=include)

    carried = table["rows"][0]["object"]
    assert carried is keys or carried.keys() == keys


def test_a_word_for_what_to_include_that_is_none_is_refused(ask: Asking) -> None:
    assert ask("GET", LEASES, headers=TABLE, includeObject="All")[0] == 400


def test_a_watch_of_tables_tells_the_columns_once(ask: Asking) -> None:
    ask.ok("POST", LEASES, lease("a"))
    request = HTTPRequest("GET", LEASES, (("watch", "1"),), TABLE)
    watch = ask.server.handle(request, on_ready=lambda: None)
    assert not isinstance(watch, HTTPResponse)

    ask.ok("POST", LEASES, lease("b"))
    ask.ok("DELETE", f"{LEASES}/a")

    told = events(watch)
    assert [(one["type"], one["object"]["rows"][0]["cells"][0]) for one in told] == [
        ("ADDED", "a"),
        ("ADDED", "b"),
        ("DELETED", "a"),
    ]
    assert [one["object"]["columnDefinitions"] is None for one in told] == [False, True, True]


def test_a_table_is_paged_as_a_list_is(ask: Asking) -> None:
    for name in "abc":
        ask.ok("POST", NODES, node(name))

    first = ask.ok("GET", NODES, headers=TABLE, limit=2)
    rest = ask.ok("GET", NODES, headers=TABLE, limit=2, **{"continue": first["metadata"]["continue"]})

    assert [one["cells"][0] for table in (first, rest) for one in table["rows"]] == ["a", "b", "c"]
    assert first["metadata"]["remainingItemCount"] == 1


@pytest.mark.parametrize("path", REAL)
def test_tables_have_the_columns_of_a_real_server(path: str, ask: Asking) -> None:
    columns = ask.ok("GET", path, headers=TABLE)["columnDefinitions"]

    assert [[one[word] for word in ("name", "type", "format", "priority")] for one in columns] == REAL[path]


@pytest.mark.parametrize("kind", [pytest.param(kind, id=kind.resource) for kind in KINDS if kind.is_stored])
def test_every_kind_has_a_table_even_of_nearly_empty_objects(kind: Kind) -> None:
    parts = {"roleRef": {"kind": "Role", "name": "r"}}

    cells = row(kind, **parts)

    assert cells["Name"] == "x"


@pytest.mark.parametrize(
    ("parts", "cells"),
    [
        pytest.param({}, {"Status": "Unknown", "Roles": "<none>", "Version": "", "Internal-IP": "<none>"}, id="empty"),
        pytest.param(
            {
                "metadata": {"labels": {"node-role.kubernetes.io/b": "", "kubernetes.io/role": "a"}},
                "spec": {"unschedulable": True},
                "status": {
                    "conditions": [{"type": "Ready", "status": "True"}],
                    "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
                    "nodeInfo": {"kubeletVersion": "v1.36.2", "kernelVersion": "6.1", "architecture": "amd64"},
                },
            },
            {
                "Status": "Ready,SchedulingDisabled",
                "Roles": "a,b",
                "Version": "v1.36.2",
                "Internal-IP": "10.0.0.1",
                "Kernel-Version": "6.1 (amd64)",
                "OS-Image": "<unknown>",
            },
            id="cordoned",
        ),
        pytest.param(
            {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}, {"Status": "NotReady"}, id="silent"
        ),
    ],
)
def test_the_row_of_a_node(parts: Object, cells: Object) -> None:
    assert row(NODE, **parts).items() >= cells.items()


def test_the_row_of_an_event_tells_of_its_series() -> None:
    told = row(
        EVENT,
        involvedObject={"kind": "Node", "name": "n1"},
        firstTimestamp="2026-01-01T00:00:01Z",
        series={"count": 7, "lastObservedTime": "2026-01-01T00:00:58.000000Z"},
        source={"component": "kubelet", "host": "n1"},
        message=" it hurts\n",
    )

    assert told.items() >= {"Last Seen": "2s", "First Seen": "59s", "Count": 7, "Object": "node/n1"}.items()
    assert told.items() >= {"Source": "kubelet, n1", "Message": "it hurts", "Type": "", "Name": "x"}.items()


def ended(**how: Any) -> Object:
    return {"name": "c", "state": {"terminated": how}}


def waiting(reason: str) -> Object:
    return {"name": "c", "state": {"waiting": {"reason": reason}}}


RUNS = {"name": "d", "ready": True, "state": {"running": {}}}
NODE_LOST = {"phase": "Running", "reason": "NodeLost"}


@pytest.mark.parametrize(
    ("status", "metadata", "text"),
    [
        pytest.param({"phase": "Pending"}, {}, "Pending", id="phase"),
        pytest.param({"phase": "Failed", "reason": "Evicted"}, {}, "Evicted", id="its own reason"),
        pytest.param({"containerStatuses": [waiting("CrashLoopBackOff")]}, {}, "CrashLoopBackOff", id="waits"),
        pytest.param({"containerStatuses": [ended(exitCode=3)]}, {}, "ExitCode:3", id="exit code"),
        pytest.param({"containerStatuses": [ended(signal=9)]}, {}, "Signal:9", id="signal"),
        pytest.param({"containerStatuses": [ended(reason="Completed"), RUNS]}, {}, "NotReady", id="one is done"),
        pytest.param(
            {"containerStatuses": [ended(reason="Completed"), ended(reason="Error", exitCode=1)]},
            {},
            "Error",
            id="one is done and one has failed",
        ),
        pytest.param(
            {"containerStatuses": [ended(reason="Completed"), RUNS, ended(exitCode=3)]},
            {},
            "ExitCode:3",
            id="one has failed beside one that runs",
        ),
        pytest.param({"initContainerStatuses": [waiting("PodInitializing")]}, {}, "Init:0/1", id="initializing"),
        pytest.param({"initContainerStatuses": [ended(exitCode=1, reason="Error")]}, {}, "Init:Error", id="init fails"),
        pytest.param({"initContainerStatuses": [ended(exitCode=0)], "phase": "Running"}, {}, "Running", id="init done"),
        pytest.param({"phase": "Running"}, {"deletionTimestamp": "t"}, "Terminating", id="on its way out"),
        pytest.param({"phase": "Succeeded"}, {"deletionTimestamp": "t"}, "Succeeded", id="was done before"),
        pytest.param(NODE_LOST, {"deletionTimestamp": "t"}, "Unknown", id="its node is lost"),
    ],
)
def test_the_status_of_a_pod_is_its_most_telling_reason(status: Object, metadata: Object, text: str) -> None:
    pod = {"metadata": metadata, "spec": {"containers": [], "initContainers": [{"name": "i"}]}, "status": status}

    assert pod_status(pod) == text


def test_the_row_of_a_pod_counts_containers_and_restarts() -> None:
    restarted = {**RUNS, "restartCount": 2, "lastState": {"terminated": {"finishedAt": "2026-01-01T00:00:30Z"}}}
    gate = {"conditionType": "g"}

    told = row(
        POD,
        spec={"containers": [{}, {}], "nodeName": "n1", "readinessGates": [gate]},
        status={
            "phase": "Running",
            "containerStatuses": [restarted],
            "conditions": [{"type": "g", "status": "True"}],
            "podIPs": [{"ip": "10.0.0.9"}],
        },
    )

    assert told.items() >= {"Ready": "1/2", "Restarts": "2 (30s ago)", "Status": "Running", "Age": "60s"}.items()
    assert told.items() >= {"IP": "10.0.0.9", "Node": "n1", "Readiness Gates": "1/1"}.items()


def test_the_rows_of_other_kinds_say_what_people_look_for() -> None:
    ports = [{"port": 80, "protocol": "TCP"}, {"port": 53, "nodePort": 30053, "protocol": "UDP"}]

    service = row(SERVICE, spec={"type": "LoadBalancer", "ports": ports, "selector": {"b": "2", "a": "1"}})
    job = row(JOB, spec={"completions": 3}, status={"succeeded": 1, "startTime": "2026-01-01T00:00:30Z"})
    secret = row(SECRET, type="Opaque", data={"a": "", "b": ""})

    assert service.items() >= {"Port(s)": "80/TCP,53:30053/UDP", "External-IP": "<pending>"}.items()
    assert service["Selector"] == "a=1,b=2"
    assert job.items() >= {"Completions": "1/3", "Duration": "30s", "Status": "Running"}.items()
    assert secret.items() >= {"Type": "Opaque", "Data": 2}.items()


@pytest.mark.parametrize(
    ("parts", "cells"),
    [
        pytest.param(
            {
                "spec": {
                    "volumeName": "v",
                    "volumeMode": "Block",
                    "storageClassName": "slow",
                    "volumeAttributesClassName": "gold",
                },
                "status": {
                    "phase": "Bound",
                    "capacity": {"storage": "5Gi"},
                    "accessModes": ["ReadWriteOncePod", "ReadWriteMany", "ReadOnlyMany", "ReadWriteOnce"],
                },
            },
            {
                "Status": "Bound",
                "Volume": "v",
                "Capacity": "5Gi",
                "Access Modes": "RWO,ROX,RWX,RWOP",
                "StorageClass": "slow",
                "VolumeAttributesClass": "gold",
                "VolumeMode": "Block",
            },
            id="bound",
        ),
        pytest.param(
            {"spec": {"resources": {"requests": {"storage": "1Gi"}}}, "status": {"phase": "Pending"}},
            {"Status": "Pending", "Volume": "", "Capacity": "", "Access Modes": "", "VolumeMode": "<unset>"},
            id="not bound",
        ),
        pytest.param(
            {"metadata": {"deletionTimestamp": "2026-01-01T00:00:30Z"}, "spec": {"volumeName": "v"}},
            {"Status": "Terminating", "Capacity": "0"},
            id="going",
        ),
    ],
)
def test_the_row_of_a_claim(parts: Object, cells: Object) -> None:
    assert row(CLAIM, **parts).items() >= cells.items()


def test_the_row_of_a_volume_names_its_claim_and_its_class() -> None:
    told = row(
        VOLUME,
        metadata={"annotations": {"volume.beta.kubernetes.io/storage-class": "old"}},
        spec={"capacity": {"storage": "5Gi"}, "claimRef": {"namespace": "a", "name": "b"}, "storageClassName": "new"},
        status={"phase": "Bound"},
    )

    expected = {"Capacity": "5Gi", "Claim": "a/b", "StorageClass": "old", "Status": "Bound", "Reason": ""}
    assert told.items() >= expected.items()


def test_the_row_of_a_quota_tells_limits_apart() -> None:
    hard = {"services": "3", "pods": "2", "limits.cpu": "1", "requests.cpu": "1"}

    told = row(QUOTA, status={"hard": hard, "used": {"pods": "1", "limits.cpu": "500m"}})

    assert told["Request"] == "pods: 1/2, requests.cpu: 0/1, services: 0/3"
    assert told["Limit"] == "limits.cpu: 500m/1"


def test_the_row_of_a_replication_controller() -> None:
    template = {"spec": {"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "j"}]}}

    told = row(
        REPLICATION_CONTROLLER,
        spec={"replicas": 2, "selector": {"b": "2", "a": "1"}, "template": template},
        status={"replicas": 1},
    )

    expected = {"Desired": 2, "Current": 1, "Ready": 0, "Containers": "c,d", "Images": "i,j", "Selector": "a=1,b=2"}
    assert told.items() >= expected.items()
