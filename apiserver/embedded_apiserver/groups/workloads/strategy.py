# SPDX-License-Identifier: Apache-2.0
"""The effects of a write on workloads, the kinds that create pods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embedded_apiserver.groups.pods.pod_warnings import of_name, of_pod
from embedded_apiserver.kinds.policy import Predicate, Warnings, changed
from embedded_apiserver.objects import Object, part
from embedded_apiserver.typed.type_defaults import TEMPLATE_GENERATION

_SPEC = changed("spec")
_HOST_NAMES = "Pod names and hostnames"
_ALL_REVISIONS = (
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
)


def template_warnings(*path: str, names_pods: bool = True, when: Predicate = _SPEC) -> Warnings:
    """Return a function with the warnings about the pod template of a new or changed workload.

    Args:
        *path: The path of the pod template.
        names_pods: True if the names of pods, and so their host names, begin with the name of the workload.
        when: A function that tells whether an update causes the warnings.
    """

    def warnings(obj: Object, old: Object | None) -> Iterator[str]:
        if old is not None and not when(old, obj):
            return
        if old is None and names_pods:
            yield from of_name(obj["metadata"], _HOST_NAMES)
        yield from of_pod(_template(obj, path), ".".join(path))

    return warnings


def _template(obj: Object, path: Sequence[str]) -> Object:
    for step in path:
        obj = part(obj, step)
    return obj


def stateful_set_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    """Yield the warnings about a StatefulSet: those of its pod template, and of an unlimited revision history."""
    yield from template_warnings("spec", "template", names_pods=False)(obj, old)
    if part(obj, "spec").get("revisionHistoryLimit", 0) < 0:
        yield _ALL_REVISIONS


def has_new_template(old: Object, new: Object) -> bool:
    """Return whether the pod template of a workload has changed."""
    return part(old, "spec").get("template") != part(new, "spec").get("template")


def is_other_deployment(old: Object, new: Object) -> bool:
    """Return whether the spec or annotations of a Deployment have changed; both are copied to its ReplicaSets."""
    before, after = (one["metadata"].get("annotations") or {} for one in (old, new))
    return part(old, "spec") != part(new, "spec") or before != after


def new_job(obj: Object) -> Object:
    """Return a new Job with a generated selector by its uid, so that no two Jobs select the same pods.

    A Job with `manualSelector` is not changed.
    """
    spec, metadata = part(obj, "spec"), obj["metadata"]
    if spec.get("manualSelector"):
        return obj
    uid = metadata["uid"]
    own = {f"{prefix}controller-uid": uid for prefix in ("batch.kubernetes.io/", "")}
    own |= {f"{prefix}job-name": metadata["name"] for prefix in ("batch.kubernetes.io/", "")}
    template = part(spec, "template")
    about = part(template, "metadata")
    given = about.get("labels")
    labels = {**(given or {}), **own}
    labelled = {**template, "metadata": {**about, "labels": labels}}
    sent = part(spec, "selector")
    wanted = {**part(sent, "matchLabels"), "batch.kubernetes.io/controller-uid": uid}
    selector = {**sent, "matchLabels": wanted}
    if metadata.get("labels") is given:  # none, or the template's by default: then they follow those
        metadata = {**metadata, "labels": labels}
    return {**obj, "metadata": metadata, "spec": {**spec, "selector": selector, "template": labelled}}


def new_daemon_set(obj: Object) -> Object:
    """Return a new DaemonSet with the generation of its pod template in an annotation: the sent one, but at least 1."""
    return _numbered(obj, max(1, _number(obj)))


def updated_daemon_set(old: Object, made: Object, subresource: str) -> Object:
    """Return an updated DaemonSet with the generation of its pod template, which each change of the template increases.

    Args:
        old: The stored DaemonSet.
        made: The DaemonSet after the update.
        subresource: The subresource that was written; empty for the object itself. A write of the status changes
            nothing here.
    """
    return made if subresource == "status" else _numbered(made, _number(old) + has_new_template(old, made))


def _number(daemon_set: Object) -> int:
    text = part(daemon_set["metadata"], "annotations").get(TEMPLATE_GENERATION, "0")
    return int(text) if text.isdecimal() and text.isascii() else 0


def _numbered(daemon_set: Object, number: int) -> Object:
    metadata = daemon_set["metadata"]
    annotations = {**part(metadata, "annotations"), TEMPLATE_GENERATION: str(number)}
    return {**daemon_set, "metadata": {**metadata, "annotations": annotations}}
