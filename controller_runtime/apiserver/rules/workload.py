# SPDX-License-Identifier: Apache-2.0
"""Rules of workloads, the kinds that create pods: generations, and selectors that match the pod template."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from controller_runtime.apiserver.kinds.kind import Kind
from controller_runtime.apiserver.rules.label_match import selects
from controller_runtime.apiserver.rules.pod_template import container_causes
from controller_runtime.apiserver.rules.rules import Object, Rules, part
from controller_runtime.apiserver.rules.type_defaults import TEMPLATE_GENERATION
from controller_runtime.apiserver.rules.validation import invalid, not_supported, required
from controller_runtime.apiserver.status import Cause


class SpecRules(Rules):
    """Rules of a kind that counts the generations of its spec.

    Args:
        status: The status of a new object; empty if None.
    """

    def __init__(self, status: Object | None = None) -> None:
        self._status = status or {}

    def on_create(self, obj: Object) -> Object:
        metadata = {**obj["metadata"], "generation": 1}
        return {**obj, "metadata": metadata, "status": dict(self._status)}

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        made = super().on_update(kind, old, new, subresource)
        if subresource == "status":
            return made
        spec, generation = part(made, "spec"), old["metadata"].get("generation", 1)
        changed = spec != part(old, "spec") or self._is_other(old["metadata"], made["metadata"])
        return {**made, "metadata": {**made["metadata"], "generation": generation + changed}}

    def _is_other(self, before: Object, after: Object) -> bool:
        """Return whether a change of metadata counts as a new generation, as a change of the spec does."""
        return False


class WorkloadRules(SpecRules):
    """A workload has a selector that matches the labels of its pod template and never changes."""

    def causes(self, obj: Object) -> Iterator[Cause]:
        spec = part(obj, "spec")
        template = part(spec, "template")
        labels, selector = part(template, "metadata").get("labels", {}), spec.get("selector")
        yield from _replica_causes(spec)
        if not selector:
            yield required("spec.selector")
        elif not selects(selector, labels):
            text = "`selector` does not match template `labels`"
            yield invalid("spec.template.metadata.labels", labels, text)
        pod = part(template, "spec")
        if (policy := pod.get("restartPolicy", "Always")) != "Always":
            yield not_supported("spec.template.spec.restartPolicy", policy, ("Always",))
        yield from container_causes(pod, "spec.template.spec")

    def update_causes(self, old: Object, new: Object, subresource: str) -> list[Cause]:
        before, after = (part(one, "spec").get("selector") for one in (old, new))
        return [] if before == after else [invalid("spec.selector", after, "field is immutable")]


class JobRules(SpecRules):
    """A job selects pods by its own uid, so that no two jobs have the same pods, unless `manualSelector` is set."""

    def on_create(self, obj: Object) -> Object:
        made = super().on_create(obj)
        spec, metadata = made["spec"], made["metadata"]
        if spec.get("manualSelector"):
            return made
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
        return {**made, "metadata": metadata, "spec": {**spec, "selector": selector, "template": labelled}}

    def causes(self, obj: Object) -> Iterator[Cause]:
        return _job_causes(part(obj, "spec"), "spec.template.spec")


class CronJobRules(SpecRules):
    """A cron job has a schedule, and a template for jobs."""

    def causes(self, obj: Object) -> Iterator[Cause]:
        spec = part(obj, "spec")
        if not spec.get("schedule"):
            yield required("spec.schedule")
        yield from _job_causes(part(part(spec, "jobTemplate"), "spec"), "spec.jobTemplate.spec.template.spec")


class DeploymentRules(WorkloadRules):
    """A change of a deployment's annotations is a new generation, too: they are copied to its replica sets."""

    def _is_other(self, before: Object, after: Object) -> bool:
        return bool((before.get("annotations") or {}) != (after.get("annotations") or {}))

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        made = super().on_update(kind, old, new, subresource)
        return _with_labels_of(old, made) if subresource == "status" else made


class DaemonSetRules(WorkloadRules):
    """The versions of a daemon set's template are numbered in an annotation, which clients do not write."""

    def on_create(self, obj: Object) -> Object:
        made = super().on_create(obj)
        return _numbered(made, max(1, _number(made)))

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        made = super().on_update(kind, old, new, subresource)
        if subresource == "status":
            return made
        changed = part(old, "spec").get("template") != part(made, "spec").get("template")
        return _numbered(made, _number(old) + changed)


class TemplateRules(Rules):
    """The generation of a pod template rises with a change of it."""

    def on_create(self, obj: Object) -> Object:
        return {**obj, "metadata": {**obj["metadata"], "generation": 1}}

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        generation = old["metadata"].get("generation", 0) + (old.get("template") != new.get("template"))
        return {**new, "metadata": {**new["metadata"], "generation": generation}} if generation else new


class RevisionRules(Rules):
    """A controller revision has data that never change."""

    def causes(self, obj: Object) -> list[Cause]:
        causes = _not_negative(obj.get("revision", 0), "revision")
        data = obj.get("data")
        if data is None:
            causes.append(required("data", "data is mandatory"))
        elif not isinstance(data, Mapping):
            causes.append(required("data", "data must be a valid JSON object"))
        return causes

    def update_causes(self, old: Object, new: Object, subresource: str) -> list[Cause]:
        before, after = old.get("data"), new.get("data")
        return [] if before == after else [invalid("data", after, "field is immutable")]


def _with_labels_of(old: Object, new: Object) -> Object:
    metadata = {name: value for name, value in new["metadata"].items() if name != "labels"}
    labels = {"labels": old["metadata"]["labels"]} if "labels" in old["metadata"] else {}
    return {**new, "metadata": {**metadata, **labels}}


def _number(daemon_set: Object) -> int:
    text = part(daemon_set["metadata"], "annotations").get(TEMPLATE_GENERATION, "0")
    return int(text) if text.isdecimal() and text.isascii() else 0


def _numbered(daemon_set: Object, number: int) -> Object:
    metadata = daemon_set["metadata"]
    annotations = {**part(metadata, "annotations"), TEMPLATE_GENERATION: str(number)}
    return {**daemon_set, "metadata": {**metadata, "annotations": annotations}}


def _replica_causes(spec: Object) -> list[Cause]:
    return _not_negative(spec.get("replicas", 0), "spec.replicas")


def _not_negative(value: int, field: str) -> list[Cause]:
    return [] if value >= 0 else [invalid(field, value, "must be greater than or equal to 0")]


def _job_causes(spec: Object, place: str) -> Iterator[Cause]:
    pod = part(part(spec, "template"), "spec")
    yield from container_causes(pod, place)
    if pod.get("restartPolicy", "Always") not in ("OnFailure", "Never"):
        yield required(f"{place}.restartPolicy", 'valid values: "OnFailure", "Never"')


DEPLOYMENT_RULES = DeploymentRules()
REPLICA_SET_RULES = WorkloadRules({"replicas": 0})
STATEFUL_SET_RULES = WorkloadRules({"availableReplicas": 0, "replicas": 0})
DAEMON_SET_RULES = DaemonSetRules(
    {"currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0},
)
CONTROLLER_RULES = SpecRules({"replicas": 0})
