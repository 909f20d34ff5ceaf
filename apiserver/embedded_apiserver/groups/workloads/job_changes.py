# SPDX-License-Identifier: Apache-2.0
"""Rules of the change of a job: most of its fields stay as they were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from embedded_apiserver.causes import invalid
from embedded_apiserver.checks.basic import IMMUTABLE, take, unchanged
from embedded_apiserver.groups.workloads.jobs import job, selected_job_spec
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.go_structs import shown


def job_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a Job, most of whose fields must not change."""
    before, after = part(old, "spec"), part(new, "spec")
    if before == after:
        return
    yield from job(new)
    yield from selected_job_spec(after)  # a real server checks the spec once more
    if after.get("completionMode") != "Indexed":
        yield from unchanged(before.get("completions"), after.get("completions"), "spec.completions")
    elif (count := after.get("completions")) not in (before.get("completions"), None, after.get("parallelism")):
        yield invalid("spec.completions", count, "can only be modified in tandem with spec.parallelism")
    yield from unchanged(
        before.get("selector"), after.get("selector"), "spec.selector", shown("*selector", after.get("selector"))
    )
    yield from _template_change(old, after)
    for name, struct in _FIXED.items():
        if before.get(name) != after.get(name):
            value = shown(struct, after.get(name))
            yield invalid(f"spec.{name}", value, IMMUTABLE)


_FIXED = {
    "completionMode": "*string",
    "podFailurePolicy": "*PodFailurePolicy",
    "backoffLimitPerIndex": "*number",
    "managedBy": "*string",
    "successPolicy": "*SuccessPolicy",
}
_DIRECTIVES = ("nodeSelector", "tolerations", "schedulingGates")


def _template_change(old: Object, spec: Object) -> Iterator[Cause]:
    before, template = part(old, "spec"), part(spec, "template")
    known = part(before, "template")
    if template == known:
        return
    if not _may_change(old):
        yield invalid("spec.template", shown("PodTemplateSpec", template), IMMUTABLE)
        return
    pod, was = part(template, "spec"), part(_with_directives(known, template), "spec")
    if _with_resources(was, pod) != pod:
        yield invalid("spec.template.spec", shown("PodSpec", pod), IMMUTABLE)


def _may_change(job: Object) -> bool:
    """Return whether a job is suspended and has no pods, so that what its pods ask for may still change."""
    status = part(job, "status")
    if not part(job, "spec").get("suspend") or status.get("active"):
        return False
    conditions = status.get("conditions") or ()
    told = any(one.get("type") == "Suspended" and one.get("status") == "True" for one in conditions)
    return told or status.get("startTime") is None


def _with_directives(template: Object, new: Object) -> Mapping[str, Any]:
    """Return a template with those fields of `new` that only say where its pods may run."""
    pod, wanted = {**part(template, "spec")}, part(new, "spec")
    for name in _DIRECTIVES:
        take(pod, wanted, name)
    affinity = {**(pod.get("affinity") or {})}
    take(affinity, wanted.get("affinity") or {}, "nodeAffinity")
    if affinity or wanted.get("affinity") is not None:
        pod["affinity"] = affinity
    else:
        pod.pop("affinity", None)
    metadata = {**part(template, "metadata")}
    for name in ("annotations", "labels"):
        take(metadata, part(new, "metadata"), name)
    made: dict[str, Any] = {**template, "spec": pod}
    if metadata or "metadata" in new:
        made["metadata"] = metadata
    return made


def _with_resources(pod: Object, new: Object) -> Object:
    """Return a pod's spec whose containers have the resources of those in `new`, if these are the same containers."""
    made: dict[str, Any] = {**pod}
    for group in ("containers", "initContainers"):
        own, others = pod.get(group) or (), new.get(group) or ()
        if own and len(own) == len(others):
            made[group] = [_with_own(one, other) for one, other in zip(own, others, strict=True)]
    return made


def _with_own(container: Object, other: Object) -> Object:
    if container.get("name") != other.get("name"):
        return container
    made = {**container}
    take(made, other, "resources")
    return made
