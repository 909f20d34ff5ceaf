# SPDX-License-Identifier: Apache-2.0
"""The effects of a write on pods, to templates of pods and to claims. No pod runs here; pods are data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from embedded_apiserver.groups.pods.pod_warnings import of_name, of_pod
from embedded_apiserver.groups.pods.profile_annotations import are_in, of_app_armor, with_app_armor
from embedded_apiserver.kinds.policy import isolated
from embedded_apiserver.objects import Object, part, with_status_of
from embedded_apiserver.typed.pod_amounts import quality_of

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
# The group and kind of the objects from which a claim can be filled; the older of its two fields is dropped otherwise.
_SOURCES = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))


def new_pod(obj: Object) -> Object:
    """Return a new Pod with the phase `Pending`, its QoS class, and AppArmor fields from its annotations."""
    spec = with_app_armor(obj["metadata"], part(obj, "spec"))
    status: dict[str, Any] = {"phase": "Pending", "qosClass": quality_of(spec)}
    if spec.get("schedulingGates"):
        status["conditions"] = [{**_GATED, "lastTransitionTime": obj["metadata"]["creationTimestamp"]}]
    return {**obj, "spec": spec, "status": status}


def pod_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    """Yield the warnings about a new Pod. As on a real API server, an update causes none, because pods change too
    often.
    """
    if old is None:
        yield from profile_warnings(obj)
        yield from of_name(obj["metadata"], "the Pod's hostname")
        yield from of_pod(obj)


def profile_warnings(obj: Object) -> Iterator[str]:
    """Yield the warnings about a Pod's annotations for AppArmor profiles, which have been replaced by fields."""
    if are_in(obj["metadata"]):
        yield from of_app_armor(obj, "metadata.annotations")


def isolated_pod(old: Object, new: Object, subresource: str) -> Object:
    """Return a sent Pod with those parts of the stored one that a write to `subresource` must not change."""
    if subresource == "status":
        owners = {"ownerReferences": old["metadata"].get("ownerReferences")}
        metadata = {name: value for name, value in {**new["metadata"], **owners}.items() if value is not None}
        kept = {"qosClass": quality} if (quality := part(old, "status").get("qosClass")) else {}
        return {**old, "metadata": metadata, "status": {**kept, **part(new, "status")}}
    if subresource in ("ephemeralcontainers", "resize"):
        of_part = with_ephemeral_containers if subresource == "ephemeralcontainers" else with_resources
        new = {**old, "metadata": _with_managers_of(new, old), "spec": of_part(old, new)}
    new = with_status_of(old, new)
    return {**new, "spec": part(new, "spec")}


def _with_managers_of(new: Object, old: Object) -> Object:
    """Return the metadata of `old` with the managers and the version of `new`."""
    return {**old["metadata"], **{name: new["metadata"][name] for name in _OF_WRITES if name in new["metadata"]}}


def with_ephemeral_containers(old: Object, new: Object) -> Object:
    """Return the spec of `old` with the ephemeral containers of `new`."""
    rest = {name: value for name, value in part(old, "spec").items() if name != "ephemeralContainers"}
    given = part(new, "spec").get("ephemeralContainers")
    return {**rest, "ephemeralContainers": given} if given else rest


def with_resources(old: Object, new: Object) -> Object:
    """Return the spec of `old` with the resources of `new`; the spec of `new` if it has other containers."""
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
    """Return the grace period, in seconds, for the deletion of a pod; 0 if it is on no node or has finished.

    A negative period counts as 1, because 0 means an immediate deletion.
    """
    spec = part(obj, "spec")
    if not spec.get("nodeName") or part(obj, "status").get("phase") in ("Succeeded", "Failed"):
        return 0
    grace: int = spec.get("terminationGracePeriodSeconds", DEFAULT_GRACE) if asked is None else asked
    return 1 if grace < 0 else grace


def template_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    """Yield the warnings about a new or changed PodTemplate."""
    if old is None or obj.get("template") != old.get("template"):
        yield from of_pod(part(obj, "template"), "template")


def new_claim(obj: Object) -> Object:
    """Return a new PersistentVolumeClaim; if it sets only one of `dataSource` and `dataSourceRef`, that is copied to
    the other.

    A `dataSourceRef` with a namespace is removed, and so is a `dataSource` alone that is neither a
    PersistentVolumeClaim nor a VolumeSnapshot.
    """
    return _with_both_sources(obj, {})


def isolated_claim(old: Object, new: Object, subresource: str) -> Object:
    """Return a sent PersistentVolumeClaim with those parts of the stored one that `subresource` must not change."""
    made = isolated(old, new, subresource)
    return made if subresource == "status" else _with_both_sources(made, old)


def _with_both_sources(obj: Object, before: Object) -> Object:
    """Return a claim with both names of its data source, unless the newer one names another namespace.

    A source in another namespace, and one of another than the two kinds under the older name only, are dropped from a
    claim that had no source before.
    """
    spec, known = part(obj, "spec"), part(before, "spec")
    old, new = spec.get("dataSource"), spec.get("dataSourceRef")
    if new and new.get("namespace") and not known.get("dataSourceRef"):
        new = None
    had_one = known.get("dataSource") or known.get("dataSourceRef")
    if old and not new and not had_one and (old.get("apiGroup") or "", old.get("kind")) not in _SOURCES:
        old = None
    if old and not new:
        new = old
    elif new and not old and not new.get("namespace"):
        old = {name: value for name, value in new.items() if name != "namespace"}
    sources = {name: value for name, value in (("dataSource", old), ("dataSourceRef", new)) if value is not None}
    if all(spec.get(name) is sources.get(name) for name in ("dataSource", "dataSourceRef")):
        return obj
    rest = {name: value for name, value in spec.items() if name not in ("dataSource", "dataSourceRef")}
    return {**obj, "spec": {**rest, **sources}}
