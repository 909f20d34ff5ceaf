# SPDX-License-Identifier: Apache-2.0
"""Rules of two subresources of a pod: its ephemeral containers, and the resources of a running one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from embedded_apiserver.causes import forbidden, invalid
from embedded_apiserver.groups.pods.all_containers import is_windows
from embedded_apiserver.groups.pods.pod_changes import changed_annotations
from embedded_apiserver.groups.pods.pods import MIRROR, whole_pod
from embedded_apiserver.objects import Object, part
from embedded_apiserver.quoting import quoted
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.go_structs import difference
from embedded_apiserver.typed.pod_amounts import quality_of

_GROUPS = ("initContainers", "containers")
_RESIZABLE = ("cpu", "memory")
_AMOUNTS = ("requests", "limits")


def ephemeral_containers(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a Pod's ephemeral containers: existing ones must not change."""
    if MIRROR in (old["metadata"].get("annotations") or {}):
        yield forbidden("[]", "static pods do not support ephemeral containers")
        return
    yield from whole_pod(new)
    yield from changed_annotations(old, new, part(new, "spec"))
    place = "spec.ephemeralContainers"
    given = {one["name"]: one for one in part(new, "spec").get("ephemeralContainers") or ()}
    for one in part(old, "spec").get("ephemeralContainers") or ():
        name = quoted(one["name"])
        if one["name"] not in given:
            yield forbidden(place, f"existing ephemeral containers {name} may not be removed\n")
        elif given[one["name"]] != one:
            text = difference("EphemeralContainer", one, given[one["name"]])
            yield forbidden(place, f"existing ephemeral containers {name} may not be changed\n{text}")


def resize(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of a resize of a Pod, which must not change its QoS class."""
    before, after = part(old, "spec"), part(new, "spec")
    if MIRROR in (old["metadata"].get("annotations") or {}):
        yield forbidden("[]", "static pods cannot be resized")
        return
    if is_windows(before):
        yield forbidden("[]", "windows pods cannot be resized")
        return
    yield from whole_pod(new)
    quality = part(old, "status").get("qosClass", "")
    if quality_of(after) != (quality or quality_of(before)):
        yield invalid("spec", quality, "Pod QOS Class may not change as a result of resizing")
    if not _is_supported(old):
        yield forbidden("spec", "Pod running on node without support for resize")
    moved = list(_moved(before, after))
    yield from moved
    if moved:
        return
    for group in _GROUPS:
        pairs = zip(before.get(group) or (), after.get(group) or (), strict=True)
        for index, (was, now) in enumerate(pairs):
            yield from _container(was, now, group, f"spec.{group}[{index}]")


def _is_supported(pod: Object) -> bool:
    """Return whether the kubelet can resize the pod: one that can tells the resources of a running container."""
    states = part(pod, "status").get("containerStatuses") or ()
    running = [one for one in states if part(one, "state").get("running") is not None]
    return not running or "resources" in running[0]


def _moved(before: Object, after: Object) -> Iterator[Cause]:
    for group in reversed(_GROUPS):
        olds, news = before.get(group) or (), after.get(group) or ()
        if len(olds) != len(news):
            yield forbidden(f"spec.{group}", f"{group} may not be added or removed on resize")
            continue
        for index, (was, now) in enumerate(zip(olds, news, strict=True)):
            if was.get("name") != now.get("name"):
                yield forbidden(f"spec.{group}[{index}].name", f"{group} may not be renamed or reordered on resize")


def _container(was: Object, now: Object, group: str, place: str) -> Iterator[Cause]:
    old, new = part(was, "resources"), part(now, "resources")
    for name in _AMOUNTS:
        if part(old, name).keys() - part(new, name).keys():
            yield forbidden(f"{place}.resources.{name}", f"resource {name} cannot be removed")
    if _fixed(was) == _fixed(now):
        return
    if group == "containers":
        yield forbidden("spec", "only cpu and memory resources are mutable")
    else:
        yield forbidden(place, "only cpu and memory resources for init or sidecar containers are mutable")


def _fixed(container: Object) -> Mapping[str, Any]:
    """Return a container without the amounts that may change."""
    resources = part(container, "resources")
    kept = {
        name: {key: value for key, value in part(resources, name).items() if key not in _RESIZABLE} for name in _AMOUNTS
    }
    rest = {name: value for name, value in container.items() if name not in ("resources", "resizePolicy")}
    return {**rest, "resources": {**resources, **kept}}
