# SPDX-License-Identifier: Apache-2.0
"""Large collections, made as they are read, without a server: pods, nodes, and the metadata of Secrets."""

from __future__ import annotations

import base64
import functools
import itertools
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from apimachinery.http import HTTPRequest, HTTPResponse
from benchmarks.nodes import big_node
from controller_runtime.client.decoding import PARTIAL
from controller_runtime.client.transport import Stream

VERSION = 1_000_000
"""The resourceVersion of the list."""
_LINES = 64
"""Lines that a read returns, about as many as a record of TLS has."""
_TIMES = "2026-11-%02dT%02d:%02d:%02dZ"


APPS, TEAMS, NODES_OF = 400, 20, 5_000
"""Deployments and namespaces of the pods, and the nodes that they are on."""

_MARKS = ("@NAME@", "@UID@", "@VERSION@", "@STARTED@", "@SINCE@", "@NODE@", "@HOST@", "@ADDRESS@")
_RECORDED = ("@IMAGE@", "@CONTAINER@", "@TOKEN@")


def _hex(chance: random.Random, digits: int) -> str:
    return f"{chance.getrandbits(digits * 4):0{digits}x}"


def uid_of(chance: random.Random) -> str:
    """Return a random uid."""
    return "-".join(_hex(chance, digits) for digits in (8, 4, 4, 4, 12))


def _time(chance: random.Random) -> str:
    return _TIMES % (chance.randint(1, 28), chance.randint(0, 23), chance.randint(0, 59), chance.randint(0, 59))


def _address(chance: random.Random) -> str:
    return f"10.{chance.randrange(256)}.{chance.randrange(256)}.{chance.randrange(256)}"


def pod(index: int, version: int, *, is_recorded: bool) -> bytes:
    """Return the JSON of a running pod, of one of 400 Deployments in 20 namespaces, of 4.6 KB.

    Args:
        index: Its number.
        version: Its resourceVersion.
        is_recorded: Whether it has the digests of images and containers and the times that kubelets and controllers
            leave in a real one, each its own. None of that can be compressed.
    """
    chance = random.Random(index)
    started = _time(chance)
    name, address = f"{index:05x}", _address(chance)
    node = chance.randrange(NODES_OF)
    values = [
        name,
        uid_of(chance),
        str(version),
        started,
        started,
        f"node-{node}",
        f"10.0.{node >> 8}.{node & 255}",
        address,
    ]
    if is_recorded:
        values[4] = _time(chance)
        values += [_hex(chance, 64), _hex(chance, 64), _hex(chance, 5)]
    else:
        values += ["0" * 64, "0" * 64, "abcde"]
    made = _template(index % APPS)
    for mark, value in zip(_MARKS + _RECORDED, values, strict=True):
        made = made.replace(mark, value)
    return made.encode()


@functools.cache
def _template(number: int) -> str:
    chance = random.Random(number)
    app, team, template = f"app-{number}", f"team-{number % TEAMS}", _hex(chance, 10)
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"{app}-{template}", "uid": uid_of(chance)}
    image = f"registry.example.com/{team}/{app}:v{number % 7}.{number % 13}"
    owned = {f'k:{{"uid":"{owner["uid"]}"}}': dict[str, Any]()}
    fields = {
        "f:metadata": {
            "f:generateName": {},
            "f:labels": {".": {}, "f:app": {}, "f:tier": {}},
            "f:ownerReferences": owned,
        },
        "f:spec": {"f:containers": {'k:{"name":"main"}': {".": {}, "f:env": {}, "f:image": {}, "f:resources": {}}}},
    }
    manager = {
        "manager": "kube-controller-manager",
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
    }
    whole = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "name": f"{app}-{template}-@NAME@",
            "generateName": f"{app}-{template}-",
            "namespace": team,
            "uid": "@UID@",
            "resourceVersion": "@VERSION@",
            "creationTimestamp": "@STARTED@",
            "labels": {"app": app, "tier": "web", "pod-template-hash": template},
            "annotations": {"prometheus.io/scrape": "true", "prometheus.io/port": "9090"},
            "ownerReferences": [owner | {"controller": True, "blockOwnerDeletion": True}],
            "managedFields": [manager | {"time": "@SINCE@", "fieldsV1": fields}],
        },
        "spec": {
            "containers": [_container(app, team, image)],
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
            "dnsPolicy": "ClusterFirst",
            "serviceAccountName": "default",
            "nodeName": "@NODE@",
            "securityContext": {},
            "schedulerName": "default-scheduler",
            "priority": 0,
        },
        "status": _status(image),
    }
    return msgspec.json.encode(whole).decode()


def _container(app: str, team: str, image: str) -> dict[str, Any]:
    probe = {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "timeoutSeconds": 1, "periodSeconds": 10}
    return {
        "name": "main",
        "image": image,
        "ports": [{"containerPort": 8080, "protocol": "TCP"}],
        "env": [{"name": f"SETTING_{each}", "value": f"value {each} of {app} in {team}"} for each in range(28)],
        "resources": {"limits": {"cpu": "500m", "memory": "512Mi"}, "requests": {"cpu": "100m", "memory": "256Mi"}},
        "livenessProbe": probe | {"successThreshold": 1, "failureThreshold": 3},
        "volumeMounts": [{"name": "kube-api-access-@TOKEN@", "mountPath": "/var/run/secrets"}],
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }


def _status(image: str) -> dict[str, Any]:
    container = {"name": "main", "state": {"running": {"startedAt": "@STARTED@"}}, "lastState": {}, "ready": True}
    container |= {"restartCount": 0, "image": image, "started": True}
    container |= {"imageID": "sha256:@IMAGE@", "containerID": "containerd://@CONTAINER@"}
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    return {
        "phase": "Running",
        "conditions": [{"type": kind, "status": "True", "lastTransitionTime": "@SINCE@"} for kind in kinds],
        "hostIP": "@HOST@",
        "podIP": "@ADDRESS@",
        "startTime": "@STARTED@",
        "containerStatuses": [container],
        "qosClass": "Burstable",
    }


def node(index: int, version: int) -> bytes:
    """Return the JSON of a node of 1.5 KB."""
    chance = random.Random(index)
    values = (f"{index:07d}", uid_of(chance), str(version), _time(chance), _time(chance), _address(chance))
    made = _node_template()
    for mark, value in zip(("@NAME@", "@UID@", "@VERSION@", "@STARTED@", "@SINCE@", "@HOST@"), values, strict=True):
        made = made.replace(mark, value)
    return made.encode()


@functools.cache
def _node_template() -> str:
    whole = {"kind": "Node", "apiVersion": "v1", **big_node(0, 1_200)}
    whole["metadata"] |= {
        "name": "node-@NAME@",
        "uid": "@UID@",
        "resourceVersion": "@VERSION@",
        "creationTimestamp": "@STARTED@",
    }
    whole["status"]["addresses"] = [{"type": "InternalIP", "address": "@HOST@"}]
    return msgspec.json.encode(whole).decode().replace("2026-01-01T00:00:00Z", "@SINCE@")


SECRET_BYTES = 60_000
"""The bytes of the data of a made Secret."""


def secret(index: int, version: int) -> bytes:
    """Return the JSON of a Secret with the metadata of `secret_metadata`."""
    obj = msgspec.json.decode(secret_metadata(index, version))
    release = base64.b64encode(random.Random(index).randbytes(SECRET_BYTES * 3 // 4)).decode()
    return msgspec.json.encode(obj | {"kind": "Secret", "apiVersion": "v1", "data": {"release": release}})


def secret_metadata(index: int, version: int) -> bytes:
    """Return the JSON of the metadata of a Secret, as Helm writes one for each revision of a release."""
    chance = random.Random(index)
    name = f"app-{index % 3000}"
    metadata = {
        "name": f"sh.helm.release.v1.{name}.v{index // 3000}",
        "namespace": f"team-{index % 300}",
        "uid": uid_of(chance),
        "resourceVersion": str(version),
        "creationTimestamp": _time(chance),
        "labels": {"owner": "helm", "name": name, "status": "deployed", "version": str(index // 3000)},
    }
    return msgspec.json.encode({"kind": PARTIAL.kind, "apiVersion": PARTIAL.api_version, "metadata": metadata})


class MadeStream(Stream):
    """A streamed list of `count` objects, which then stays open and silent."""

    def __init__(self, make: Callable[[int], bytes], count: int, kind: str, version: str) -> None:
        self.response = HTTPResponse(200)
        self._lines = self._made(make, count, kind, version)
        self._closed = threading.Event()

    @staticmethod
    def _made(make: Callable[[int], bytes], count: int, kind: str, version: str) -> Iterator[bytes]:
        for index in range(count):
            yield b'{"type":"ADDED","object":%b}' % make(index)
        metadata = {"resourceVersion": str(VERSION), "annotations": {"k8s.io/initial-events-end": "true"}}
        bookmark = {"kind": kind, "apiVersion": version, "metadata": metadata}
        yield msgspec.json.encode({"type": "BOOKMARK", "object": bookmark})

    def read(self, deadline: float) -> list[bytes] | None:
        """Return the next lines; once there are none, wait until the stream is closed."""
        if lines := [*itertools.islice(self._lines, _LINES)]:
            return lines
        self._closed.wait()
        return None

    def close(self) -> None:
        """Close the stream."""
        self._closed.set()


class MadeObjects:
    """A transport that streams one collection of made objects.

    Args:
        make: Returns the JSON of an object by its number.
        count: How many there are.
        kind: Their kind.
        version: Their API version.
        body: Returns the JSON of an object as a whole by the path of its request.
    """

    def __init__(
        self,
        make: Callable[[int], bytes],
        count: int,
        kind: str,
        version: str,
        body: Callable[[str], bytes] | None = None,
    ) -> None:
        self._make, self._count, self._kind, self._version = make, count, kind, version
        self._body = body

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        """Answer with one object as a whole; nothing else is asked for beside the stream."""
        assert self._body is not None, request.path
        return HTTPResponse(200, {}, self._body(request.path))

    def stream(self, request: HTTPRequest, deadline: float) -> MadeStream:
        """Open the streamed list."""
        return MadeStream(self._make, self._count, self._kind, self._version)

    def close(self) -> None:
        """Do nothing."""
