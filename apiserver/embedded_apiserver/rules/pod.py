# SPDX-License-Identifier: Apache-2.0
"""Rules of pods: what admission adds, status and grace periods. No pod runs here; pods are data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from embedded_apiserver.kinds.registry import Kind
from embedded_apiserver.objects import Object, part, with_status_of
from embedded_apiserver.rules.pod_amounts import quality_of
from embedded_apiserver.rules.pod_warnings import of_name, of_pod
from embedded_apiserver.rules.profile_annotations import are_in, of_app_armor, with_app_armor
from embedded_apiserver.rules.rules import Rules

DEFAULT_GRACE = 30  # seconds

_GATED: Mapping[str, Any] = {
    "type": "PodScheduled",
    "status": "False",
    "lastProbeTime": None,
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


_OF_WRITES = ("managedFields", "resourceVersion")
_RESIZED = ("containers", "initContainers")
_OF_RESIZE = ("resources", "resizePolicy")


class PodRules(Rules):
    """A new pod is Pending."""

    def on_create(self, obj: Object) -> Object:
        spec = with_app_armor(obj["metadata"], part(obj, "spec"))
        metadata = {**obj["metadata"], "generation": 1}
        status: dict[str, Any] = {"phase": "Pending", "qosClass": quality_of(spec)}
        if spec.get("schedulingGates"):
            status["conditions"] = [{**_GATED, "lastTransitionTime": metadata["creationTimestamp"]}]
        return {**obj, "metadata": metadata, "spec": spec, "status": status}

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        if old is not None:  # as a real server, for which pods change too often
            return []
        named = of_name(obj["metadata"], "the Pod's hostname")
        return [*self.first_warnings(obj), *named, *of_pod(obj)]

    def first_warnings(self, obj: Object) -> list[str]:
        return [*of_app_armor(obj, "metadata.annotations")] if are_in(obj["metadata"]) else []

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        if subresource == "status":
            owners = {"ownerReferences": old["metadata"].get("ownerReferences")}
            metadata = {name: value for name, value in {**new["metadata"], **owners}.items() if value is not None}
            kept = {"qosClass": quality} if (quality := part(old, "status").get("qosClass")) else {}
            return {**old, "metadata": metadata, "status": {**kept, **part(new, "status")}}
        if subresource in ("ephemeralcontainers", "resize"):
            of_part = with_ephemeral_containers if subresource == "ephemeralcontainers" else with_resources
            new = {**old, "metadata": _with_managers_of(new, old), "spec": of_part(old, new)}
        new = with_status_of(old, new)
        spec = part(new, "spec")
        if spec == old.get("spec"):
            return {**new, "spec": spec}
        metadata = {**new["metadata"], "generation": old["metadata"].get("generation", 0) + 1}
        return {**new, "metadata": metadata, "spec": spec}


def _with_managers_of(new: Object, old: Object) -> Object:
    """Return the metadata of `old` with the managers and the version of `new`."""
    return {**old["metadata"], **{name: new["metadata"][name] for name in _OF_WRITES if name in new["metadata"]}}


def with_ephemeral_containers(old: Object, new: Object) -> Object:
    """Return the spec of `old` with the ephemeral containers of `new`."""
    rest = {name: value for name, value in part(old, "spec").items() if name != "ephemeralContainers"}
    given = part(new, "spec").get("ephemeralContainers")
    return {**rest, "ephemeralContainers": given} if given else rest


def with_resources(old: Object, new: Object) -> Object:
    """Return the spec of `old` with the resources of `new`; all of `new` if it has other containers."""
    before, after = part(old, "spec"), part(new, "spec")
    made = {**before}
    for group in _RESIZED:
        olds, news = before.get(group) or (), after.get(group) or ()
        if [one.get("name") for one in olds] != [one.get("name") for one in news]:
            return after
        if olds:
            made[group] = [_resized(*pair) for pair in zip(olds, news, strict=True)]
    return {
        **{k: v for k, v in made.items() if k != "resources"},
        **{k: v for k, v in after.items() if k == "resources"},
    }


def _resized(old: Object, new: Object) -> Object:
    kept = {name: value for name, value in old.items() if name not in _OF_RESIZE}
    return {**kept, **{name: new[name] for name in _OF_RESIZE if name in new}}


def grace_of(obj: Object, asked: int | None) -> int:
    """Return the seconds that a pod may take to end when it is deleted; 0 if it is on no node or has finished.

    A negative period means 1: Kubernetes reserves 0 for a deletion at once.
    """
    spec = part(obj, "spec")
    if not spec.get("nodeName") or part(obj, "status").get("phase") in ("Succeeded", "Failed"):
        return 0
    grace: int = spec.get("terminationGracePeriodSeconds", DEFAULT_GRACE) if asked is None else asked
    return 1 if grace < 0 else grace
