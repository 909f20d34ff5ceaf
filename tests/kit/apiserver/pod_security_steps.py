# SPDX-License-Identifier: Apache-2.0
"""Requests in order that show when pod security is asked: by which labels, for which kinds, and at which updates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kit.apiserver.asking import JSON_PATCH, MERGE
from kit.apiserver.pod_security_pods import Object, bare, good

PREFIX = "pod-security.kubernetes.io/"
APPLY = "application/apply-patch+yaml"
SPACES = "/api/v1/namespaces"
PLAIN: Object = {"containers": [bare()]}


class Request(NamedTuple):
    """One request."""

    method: str
    target: str
    body: Object | list[Any] | None = None
    media_type: str = "application/json"


def space(name: str, /, **labels: str) -> Object:
    """Return a namespace; `enforce_version` is the label of the version."""
    return {"metadata": {"name": name, "labels": labelled(**labels)}}


def labelled(**labels: str | None) -> dict[str, str | None]:
    """Return labels of pod security."""
    return {PREFIX + name.replace("_", "-"): value for name, value in labels.items()}


def relabel(name: str, part: str = "", /, query: str = "", **labels: str | None) -> Request:
    """Return a patch of a namespace's labels."""
    return Request("PATCH", f"{SPACES}/{name}{part}{query}", {"metadata": {"labels": labelled(**labels)}}, MERGE)


def pod(name: str, spec: Object = PLAIN, **metadata: Any) -> Object:
    """Return a pod."""
    return {"metadata": {"name": name, **metadata}, "spec": spec}


def make(name: str, obj: Object, query: str = "") -> Request:
    """Return the creation of a pod in a namespace."""
    return Request("POST", f"{SPACES}/{name}/pods{query}", obj)


def templates(spec: Object, name: str = "t") -> Iterator[tuple[str, Object]]:
    """Yield the paths of the kinds with templates of pods, below those of a namespace, and an object of each."""
    labels, once = {"a": "b"}, {**spec, "restartPolicy": "Never"}
    template, selected = {"metadata": {"labels": labels}, "spec": spec}, {"selector": {"matchLabels": labels}}
    metadata = {"name": name}
    for kind in ("deployments", "replicasets", "daemonsets", "statefulsets"):
        yield (
            f"/apis/apps/v1/namespaces/{{}}/{kind}",
            {"metadata": metadata, "spec": {**selected, "template": template}},
        )
    job = {"template": {"spec": once}}
    yield "/apis/batch/v1/namespaces/{}/jobs", {"metadata": metadata, "spec": job}
    cron = {"schedule": "* * * * *", "jobTemplate": {"spec": job}}
    yield "/apis/batch/v1/namespaces/{}/cronjobs", {"metadata": metadata, "spec": cron}
    owned = {"selector": labels, "template": template}
    yield "/api/v1/namespaces/{}/replicationcontrollers", {"metadata": metadata, "spec": owned}
    yield "/api/v1/namespaces/{}/podtemplates", {"metadata": metadata, "template": template}


def steps() -> Iterator[Request]:
    """Yield all requests."""
    yield from _faulty_labels()
    yield from _modes()
    yield from _kinds()
    yield from _updates()
    yield from _existing_pods()
    yield from _creations()


def _faulty_labels() -> Iterator[Request]:
    labels: tuple[Mapping[str, str], ...] = (
        {"enforce": "strict"},
        {"enforce": ""},
        {"enforce": "Restricted"},
        {"enforce_version": "1.30"},
        {"enforce_version": "v1.030"},
        {"enforce_version": "v2.0"},
        {"enforce_version": "v1.99999999999999999999"},
        {"enforce_version": ""},
        {"audit": "a", "audit_version": "b", "warn": "c", "warn_version": "d", "enforce": "e", "enforce_version": "f"},
        {"warn": "-"},
    )
    for number, one in enumerate(labels):
        yield Request("POST", SPACES, space(f"f{number}", **one))
    yield Request("POST", SPACES, space("ok", enforce="privileged", enforce_version="v1.0", audit_version="v1.99"))
    yield relabel("ok", warn="strict")
    yield relabel("ok", warn="strict", query="?dryRun=All")
    yield make("ok", pod("a"))
    yield relabel("ok", "/status", enforce="strict", warn="x")
    yield relabel("ok", other="x")
    yield relabel("ok", warn="y")
    yield relabel("ok", warn="baseline")
    yield make("ok", pod("b"))
    yield make("ok", pod("c", good()))
    for path, obj in templates(PLAIN):
        yield Request("POST", path.format("ok"), obj)
    yield relabel("ok", "/status", enforce_version="z", audit="restricted")
    yield make("ok", pod("d", good()))
    yield relabel("ok", enforce=None, warn=None)
    yield relabel("ok", enforce=None, enforce_version=None, warn=None)


def _modes() -> Iterator[Request]:
    labels: tuple[Mapping[str, str], ...] = (
        {"enforce": "restricted", "enforce_version": "v1.20"},
        {"enforce": "baseline"},
        {"enforce": "restricted", "warn_version": "v1.24"},
        {"enforce": "restricted", "warn": "privileged"},
        {"enforce": "restricted", "warn": "baseline"},
        {"enforce": "baseline", "warn": "restricted", "warn_version": "v1.18"},
        {"enforce": "baseline", "audit": "restricted"},
        {"audit": "restricted", "audit_version": "v1.22"},
        {"warn": "restricted", "audit": "baseline"},
        {"warn": "restricted", "warn_version": "v1.99"},
        {"enforce_version": "v1.2"},
        {"other": "x"},
    )
    for number, one in enumerate(labels):
        yield Request("POST", SPACES, space(f"m{number}", **one))
        for spec in (PLAIN, {**PLAIN, "hostNetwork": True}, good()):
            yield make(f"m{number}", pod("a", spec), "?dryRun=All")
        yield Request("POST", f"/apis/apps/v1/namespaces/m{number}/deployments", next(templates(PLAIN))[1])


def _kinds() -> Iterator[Request]:
    yield Request("POST", SPACES, space("kinds", enforce="restricted", audit="baseline", warn="restricted"))
    for path, obj in templates({**PLAIN, "hostPID": True}):
        where = path.format("kinds")
        yield Request("POST", where, obj)
        yield Request("PATCH", f"{where}/t", {"metadata": {"labels": {"a": "c"}}}, MERGE)
        if "template" not in obj:
            yield Request("PATCH", f"{where}/t/status", {"metadata": {"labels": {"a": "d"}}}, MERGE)
    yield Request("PATCH", "/apis/apps/v1/namespaces/kinds/deployments/t/scale", {"spec": {"replicas": 3}}, MERGE)
    for path, obj in templates(good(), "u"):
        yield Request("POST", path.format("kinds"), obj)
    yield Request("POST", f"{SPACES}/kinds/configmaps", {"metadata": {"name": "c"}})


def _updates() -> Iterator[Request]:
    first = {**PLAIN, "initContainers": [bare("i")]}
    yield Request("POST", SPACES, space("up"))
    yield make("up", pod("a", first))
    yield relabel("up", enforce="restricted", audit="restricted")
    place = f"{SPACES}/up/pods/a"
    yield Request("PATCH", place, {"metadata": {"labels": {"a": "b"}}}, MERGE)
    yield Request(
        "PATCH", place, {"metadata": {"annotations": {"a": "b"}}, "spec": {"activeDeadlineSeconds": 9}}, MERGE
    )
    yield Request("PATCH", place, [{"op": "replace", "path": "/spec/containers/0/image", "value": "j"}], JSON_PATCH)
    yield Request("PATCH", place, [{"op": "replace", "path": "/spec/initContainers/0/image", "value": "j"}], JSON_PATCH)
    yield Request("PATCH", f"{place}/status", {"status": {"phase": "Running"}}, MERGE)
    debug = {"spec": {"ephemeralContainers": [bare("e")]}}
    yield Request("PATCH", f"{place}/ephemeralcontainers", debug, MERGE)
    resized = [{"op": "add", "path": "/spec/containers/0/resources", "value": {"requests": {"cpu": "2"}}}]
    yield Request("PATCH", f"{place}/resize", resized, JSON_PATCH)
    yield relabel("up", enforce="baseline", warn="restricted")
    yield Request("PATCH", f"{place}/ephemeralcontainers", debug, MERGE)
    yield Request("PATCH", place, {"metadata": {"labels": {"a": "c"}}}, MERGE)
    yield Request("PATCH", place, [{"op": "replace", "path": "/spec/containers/0/image", "value": "k"}], JSON_PATCH)
    privileged = {**bare("f"), "securityContext": {"privileged": True}}
    more = {"spec": {"ephemeralContainers": [bare("e"), privileged]}}
    yield Request("PATCH", f"{place}/ephemeralcontainers", more, MERGE)
    yield relabel("up", enforce="privileged", warn=None, audit=None)
    yield Request("PATCH", f"{place}/ephemeralcontainers", more, MERGE)
    yield Request("PATCH", place, {"metadata": {"labels": {"a": "d"}}}, MERGE)
    yield relabel("up", enforce="baseline")
    binding = {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n"}}
    yield Request("POST", f"{place}/binding", binding)
    yield Request("POST", f"{place}/eviction", {"metadata": {"name": "a"}})


def _existing_pods() -> Iterator[Request]:
    yield Request("POST", SPACES, space("old"))
    yield relabel("old", enforce="restricted")
    yield relabel("old", enforce=None)
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "u", "controller": True}
    host, path = {**PLAIN, "hostNetwork": True}, {**good(), "volumes": [{"name": "v", "hostPath": {"path": "/"}}]}
    for name, spec, owners in (
        ("z", PLAIN, [owner]),
        ("b", PLAIN, [owner]),
        ("c", PLAIN, []),
        ("d", host, []),
        ("e", {**host, "hostPID": True}, []),
        ("f", path, []),
        ("g", good(), []),
    ):
        yield make("old", pod(name, spec, ownerReferences=owners))
    yield relabel("old", enforce="restricted", query="?dryRun=All")
    yield relabel("old", enforce="restricted")
    yield relabel("old", enforce="restricted", enforce_version="v1.7")
    yield relabel("old", enforce="baseline")
    yield relabel("old", enforce="baseline", enforce_version=None)
    yield relabel("old", warn="restricted", audit="restricted")
    yield relabel("old", enforce="privileged", enforce_version="v1.0")
    yield relabel("old", enforce="restricted", enforce_version="v1.99")
    yield relabel("old", enforce="baseline", enforce_version="v1.99")
    yield relabel("old", "/status", enforce="restricted")
    applied = {"apiVersion": "v1", "kind": "Namespace", **space("old", enforce="restricted", enforce_version="v1.22")}
    yield Request("PATCH", f"{SPACES}/old?fieldManager=a&force=true", applied, APPLY)
    yield Request("PUT", f"{SPACES}/old", space("old", enforce="baseline"))
    yield Request("DELETE", f"{SPACES}/old/pods/d?gracePeriodSeconds=0")


def _creations() -> Iterator[Request]:
    yield Request("POST", SPACES, space("new", enforce="baseline", warn="restricted"))
    host = {**PLAIN, "hostNetwork": True}
    yield make("new", {"metadata": {"generateName": "g-"}, "spec": host})
    yield make("new", {"metadata": {"name": "h", "generateName": "g-"}, "spec": host})
    applied = {"apiVersion": "v1", "kind": "Pod", **pod("a", host)}
    yield Request("PATCH", f"{SPACES}/new/pods/a?fieldManager=a", applied, APPLY)
    yield Request("PATCH", f"{SPACES}/new/pods/a?fieldManager=a", {**applied, "spec": PLAIN}, APPLY)
    yield Request("PATCH", f"{SPACES}/new/pods/a?fieldManager=a", {**applied, "spec": PLAIN}, APPLY)
    yield make("new", pod("a"))
    yield make("new", pod("b", {**host, "dnsPolicy": "x"}))
    yield make("new", pod("c", {**host, "nodeSelector": {"beta.kubernetes.io/os": "linux"}}))
    yield make("new", pod("d", {**PLAIN, "nodeSelector": {"beta.kubernetes.io/os": "linux"}}))
    yield make("new", pod("e", {**PLAIN, "unknown": 1}))
    yield make("new", pod("f", {**host, "unknown": 1, "terminationGracePeriodSeconds": -1}))
    yield make("nowhere", pod("a", host))
    selected = {**PLAIN, "nodeSelector": {"beta.kubernetes.io/os": "linux"}}
    yield Request("POST", "/apis/apps/v1/namespaces/new/deployments", next(templates(selected))[1])
    yield Request("PATCH", "/apis/apps/v1/namespaces/new/deployments/t", {"spec": {"paused": True}}, MERGE)
    yield relabel("new", enforce=None, warn=None)
    yield make("new", pod("g", host))
