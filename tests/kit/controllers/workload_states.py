# SPDX-License-Identifier: Apache-2.0
"""Plays stories of workloads, and writes down what a namespace holds in a form that does not depend on chance.

Uids, times, resource versions and random parts of names are replaced by words; two runs that did the same are equal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from apimachinery.objects import ObjectKey
from controller_runtime.api.builtin_resources import (
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    ENDPOINT_SLICES,
    JOBS,
    PERSISTENT_VOLUME_CLAIMS,
    REPLICA_SETS,
    STATEFUL_SETS,
)
from controller_runtime.api.resources import PODS, Resource
from controller_runtime.client.client import Client
from kit.controllers.workload_stories import Step

EVENT: Resource[Any] = Resource("", "v1", "Event", "events", True)
REVISIONS: Resource[Any] = Resource("apps", "v1", "ControllerRevision", "controllerrevisions", True)
KINDS = (
    DEPLOYMENTS,
    REPLICA_SETS,
    STATEFUL_SETS,
    DAEMON_SETS,
    REVISIONS,
    JOBS,
    CRON_JOBS,
    PODS,
    PERSISTENT_VOLUME_CLAIMS,
    ENDPOINT_SLICES,
)
_HASHES = ("pod-template-hash", "controller-revision-hash", "controller.kubernetes.io/hash")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_ADDRESS = re.compile(r"\b10(\.\d+){3}\b")
_DROPPED = {"uid", "resourceVersion", "managedFields", "creationTimestamp", "generateName", "selfLink"}
# The scheduler is ours in the recordings too.
_OF_THE_SCHEDULER = {"Scheduled", "FailedScheduling"}
Json = Any


def play(client: Client, namespace: str, story: Sequence[Step], rest: Callable[[float], None]) -> list[Json]:
    """Play a story and return the state after each step, and the events at the end.

    Args:
        client: Acts for the user.
        namespace: A namespace of its own.
        story: The steps.
        rest: Lets everything come to rest; it is given the seconds that the step takes at least.
    """
    states = []
    for step in story:
        _act(client, namespace, step)
        rest(step.seconds)
        states.append(state_of(client, namespace))
    return [*states, events_of(client, namespace)]


def _act(client: Client, namespace: str, step: Step) -> None:
    name = step.name
    if name.startswith("first "):
        name = _first(client, namespace, name.removeprefix("first "))
    key = ObjectKey(name, namespace)
    if step.verb == "create":
        client.create(step.resource, json.loads(json.dumps(step.body)), namespace)
    elif step.verb == "patch":
        client.patch(step.resource, key, step.body or {})
    elif step.verb == "delete":
        client.delete(step.resource, key, propagation_policy="Background")


def _first(client: Client, namespace: str, owner: str) -> str:
    pods = client.list(PODS, namespace, view=dict)
    found = [
        pod
        for pod in pods
        if ([each["name"] for each in pod["metadata"].get("ownerReferences", [])] or ["orphan"])[0].startswith(owner)
    ]
    return str(min(found, key=lambda pod: pod["spec"]["nodeName"])["metadata"]["name"])


def state_of(client: Client, namespace: str) -> dict[str, list[Json]]:
    """Return the objects of a namespace by kind, without what depends on chance."""
    found = {kind.kind: client.list(kind, namespace, view=dict) for kind in KINDS}
    words = _words(found)
    return {
        kind: sorted((_plain(_trimmed(kind, obj), words) for obj in objects), key=json.dumps)
        for kind, objects in found.items()
        if objects
    }


def events_of(client: Client, namespace: str) -> list[str]:
    """Return what was told by events: type, reason and message, each once."""
    words = _words({kind.kind: client.list(kind, namespace, view=dict) for kind in KINDS})
    told = {
        (each["type"], each["reason"], each.get("message") or each.get("note") or "", each["involvedObject"]["kind"])
        for each in client.list(EVENT, namespace, view=dict)
        if each["reason"] not in _OF_THE_SCHEDULER
    }
    return sorted({_told(" ".join(_text(part, words) for part in each)) for each in told})


def _told(text: str) -> str:
    """Return the text of an event without the names of ReplicaSets that are gone, and without the size of a step."""
    text = re.sub(r"\(combined from similar events\): ", "", text)
    text = re.sub(r"\bweb-(<hash \d+>|[bcdfghjklmnpqrstvwxz2456789]{6,10}\b)", "web-<hash>", text)
    text = re.sub(r"(web-<hash>)-[bcdfghjklmnpqrstvwxz2456789]{5}\b", r"\1-<random>", text)
    return re.sub(r" from \d+ to \d+", "", text)


def _words(found: dict[str, list[Json]]) -> list[tuple[str, str]]:
    """Return what stands for each hash: numbers in the order in which their owners were made."""
    owners = [*found.get("ReplicaSet", []), *found.get("ControllerRevision", [])]
    owners.sort(key=lambda obj: (obj["metadata"]["creationTimestamp"], int(obj["metadata"]["resourceVersion"])))
    hashes: dict[str, None] = {}
    for obj in [*sorted(owners, key=_revision), *(each for objects in found.values() for each in objects)]:
        for label in _HASHES:
            for labels in (obj["metadata"].get("labels") or {},):
                if label in labels:
                    hashes[labels[label].rpartition("-")[2]] = None
    return [(each, f"<hash {number}>") for number, each in enumerate(hashes, 1)]


def _revision(obj: Json) -> int:
    annotations = obj["metadata"].get("annotations") or {}
    return int(obj.get("revision") or annotations.get("deployment.kubernetes.io/revision", 0))


def _trimmed(kind: str, obj: Json) -> Json:
    """Return the parts of an object that a controller of workloads has written."""
    metadata = {name: value for name, value in obj["metadata"].items() if name not in _DROPPED}
    metadata.pop("namespace", None)
    kept = {**obj, "metadata": metadata}
    for name in ("kind", "apiVersion"):
        kept.pop(name, None)
    if kind == "Pod":
        metadata.get("labels", {}).pop("topology.kubernetes.io/zone", None)
        spec, status = kept["spec"], kept["status"]
        chosen = ("hostname", "subdomain", "restartPolicy", "affinity", "volumes", "tolerations", "containers")
        kept["spec"] = {name: spec[name] for name in chosen if name in spec}
        kept["spec"]["volumes"] = [
            each for each in spec.get("volumes", []) if not each["name"].startswith("kube-api-access")
        ]
        kept["status"] = {
            "phase": status["phase"],
            "ready": [each["status"] for each in status.get("conditions", []) if each["type"] == "Ready"],
        }
        for container in kept["spec"]["containers"]:
            container.pop("volumeMounts", None)
    if kind == "ReplicaSet":  # how often it was scaled depends on when its pods were seen to be available
        metadata.pop("generation", None)
        kept["status"].pop("observedGeneration", None)
    if kind == "EndpointSlice":
        metadata.pop("annotations", None)  # the time of the last change
        metadata["generation"] = 0  # how often it was written depends on when its pods were seen
        kept["endpoints"] = sorted(kept.get("endpoints") or [], key=lambda each: each["nodeName"])
    if kind == "PersistentVolumeClaim":
        kept.pop("status", None)
        for name in ("volumeName", "volumeMode"):
            kept["spec"].pop(name, None)
        for name in ("pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller"):
            metadata.get("annotations", {}).pop(name, None)
        if not metadata.get("annotations"):
            metadata.pop("annotations", None)
    return kept


def _plain(value: Json, words: Iterable[tuple[str, str]]) -> Json:
    if isinstance(value, dict):
        return {
            _text(name, words): "<uid>"
            if name in ("uid", "controller-uid") or name.endswith("/controller-uid")
            else _plain(each, words)
            for name, each in sorted(value.items())
        }
    if isinstance(value, list):
        plain = [_plain(each, words) for each in value]
        return sorted(plain, key=lambda each: each["type"]) if all(_is_condition(each) for each in plain) else plain
    return _text(value, words) if isinstance(value, str) else value


def _is_condition(value: Json) -> bool:
    return isinstance(value, dict) and {"type", "status"} <= value.keys()


def _text(text: str, words: Iterable[tuple[str, str]]) -> str:
    for found, word in words:
        text = text.replace(found, word)
    text = re.sub(r"^story-\d+-\d+$", "story", text)  # the namespace
    text = _ADDRESS.sub("<address>", _TIME.sub("<time>", text))
    text = re.sub(
        r"(<hash \d+>|\bweb|\bwork(?:-\d+)?|\btick-\d+)-[bcdfghjklmnpqrstvwxz2456789]{5}\b", r"\1-<random>", text
    )
    return re.sub(r"\btick-\d{8}\b", "tick-<minute>", text)
