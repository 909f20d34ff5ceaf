# SPDX-License-Identifier: Apache-2.0
"""Rules of workloads, the kinds that create pods: defaults, generations, and selectors that match the pod template."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from controller_runtime.apiserver.kinds.kind import Kind
from controller_runtime.apiserver.rules.label_match import selects
from controller_runtime.apiserver.rules.pod_template import container_causes, with_defaults
from controller_runtime.apiserver.rules.rules import Object, Rules, part
from controller_runtime.apiserver.rules.validation import invalid, not_supported, required
from controller_runtime.apiserver.status import Cause

Defaults = Callable[[Object], dict[str, Any]]
"""From a spec as sent to the spec with its defaults."""

_REPLICAS = {"replicas": 1}
_HISTORY = {"revisionHistoryLimit": 10}
_RETENTION = {"whenDeleted": "Retain", "whenScaled": "Retain"}


class SpecRules(Rules):
    """Rules of a kind that counts the generations of its spec.

    Args:
        defaults: Returns a spec with its defaults.
        status: The status of a new object; empty if None.
    """

    def __init__(self, defaults: Defaults = dict, status: Object | None = None) -> None:
        self._defaults = defaults
        self._status = status or {}

    def on_create(self, obj: Object) -> Object:
        metadata = {**obj["metadata"], "generation": 1}
        return {**obj, "metadata": metadata, "spec": self._defaults(part(obj, "spec")), "status": dict(self._status)}

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        made = super().on_update(kind, old, new, subresource)
        if subresource == "status":
            return made
        spec, generation = self._defaults(part(made, "spec")), old["metadata"].get("generation", 1)
        changed = spec != old.get("spec") or self._is_other(old["metadata"], made["metadata"])
        return {**made, "metadata": {**made["metadata"], "generation": generation + changed}, "spec": spec}

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

    def __init__(self) -> None:
        super().__init__(job_defaults)

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
        labelled = {**template, "metadata": {**about, "labels": {**about.get("labels", {}), **own}}}
        sent = part(spec, "selector")
        labels = {**part(sent, "matchLabels"), "batch.kubernetes.io/controller-uid": uid}
        selector = {**sent, "matchLabels": labels}
        return {**made, "spec": {**spec, "selector": selector, "template": labelled}}

    def causes(self, obj: Object) -> Iterator[Cause]:
        return _job_causes(part(obj, "spec"), "spec.template.spec")


class CronJobRules(SpecRules):
    """A cron job has a schedule, and a template for jobs."""

    def __init__(self) -> None:
        super().__init__(_cron_job_defaults)

    def causes(self, obj: Object) -> Iterator[Cause]:
        spec = part(obj, "spec")
        if not spec.get("schedule"):
            yield required("spec.schedule")
        yield from _job_causes(part(part(spec, "jobTemplate"), "spec"), "spec.jobTemplate.spec.template.spec")


class DeploymentRules(WorkloadRules):
    """A change of a deployment's annotations is a new generation, too: they are copied to its replica sets."""

    def __init__(self) -> None:
        super().__init__(deployment_defaults)

    def _is_other(self, before: Object, after: Object) -> bool:
        return bool((before.get("annotations") or {}) != (after.get("annotations") or {}))


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


def deployment_defaults(spec: Object) -> dict[str, Any]:
    """Return a deployment's spec with its defaults."""
    rolling = {"maxUnavailable": "25%", "maxSurge": "25%"}
    strategy = _update_strategy(part(spec, "strategy"), rolling)
    return _templated({**_REPLICAS, **_HISTORY, "progressDeadlineSeconds": 600, **spec, "strategy": strategy})


def replica_set_defaults(spec: Object) -> dict[str, Any]:
    """Return a replica set's spec with its defaults."""
    return _templated({**_REPLICAS, **spec})


def controller_defaults(spec: Object) -> dict[str, Any]:
    """Return a replication controller's spec with its defaults; its selector is the labels of its template."""
    made = _templated({**_REPLICAS, **spec})
    labels = part(part(made, "template"), "metadata").get("labels")
    return {"selector": labels, **made} if labels else made


def daemon_set_defaults(spec: Object) -> dict[str, Any]:
    """Return a daemon set's spec with its defaults."""
    strategy = _update_strategy(part(spec, "updateStrategy"), {"maxUnavailable": 1, "maxSurge": 0})
    return _templated({**_HISTORY, **spec, "updateStrategy": strategy})


def stateful_set_defaults(spec: Object) -> dict[str, Any]:
    """Return a stateful set's spec with its defaults."""
    strategy = _update_strategy(part(spec, "updateStrategy"), {"partition": 0})
    retention = {**_RETENTION, **part(spec, "persistentVolumeClaimRetentionPolicy")}
    made = {**_REPLICAS, **_HISTORY, "podManagementPolicy": "OrderedReady", **spec, "updateStrategy": strategy}
    return _templated({**made, "persistentVolumeClaimRetentionPolicy": retention})


def job_defaults(spec: Object) -> dict[str, Any]:
    """Return a job's spec with its defaults."""
    defaults = {
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "manualSelector": False,
        "podReplacementPolicy": "TerminatingOrFailed",
        "suspend": False,
    }
    if "completions" not in spec and "parallelism" not in spec:
        defaults |= {"completions": 1, "parallelism": 1}
    return _templated({**defaults, "parallelism": 1, **spec} if "completions" in spec else {**defaults, **spec})


def _cron_job_defaults(spec: Object) -> dict[str, Any]:
    defaults = {
        "concurrencyPolicy": "Allow",
        "suspend": False,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 1,
    }
    template = part(spec, "jobTemplate")
    return {**defaults, **spec, "jobTemplate": {**template, "spec": _templated(part(template, "spec"))}}


def _update_strategy(given: Object, rolling: Mapping[str, Any]) -> dict[str, Any]:
    """Return an update strategy with its defaults: rolling, unless it names another."""
    type_ = given.get("type") or "RollingUpdate"
    if type_ != "RollingUpdate":
        return dict(given)
    return {**given, "type": type_, "rollingUpdate": {**rolling, **part(given, "rollingUpdate")}}


def _templated(spec: Mapping[str, Any]) -> dict[str, Any]:
    template = part(spec, "template")
    return {**spec, "template": {**template, "spec": with_defaults(part(template, "spec"))}}


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
REPLICA_SET_RULES = WorkloadRules(replica_set_defaults, {"replicas": 0})
STATEFUL_SET_RULES = WorkloadRules(stateful_set_defaults, {"availableReplicas": 0, "replicas": 0})
DAEMON_SET_RULES = WorkloadRules(
    daemon_set_defaults,
    {"currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0},
)
CONTROLLER_RULES = SpecRules(controller_defaults, {"replicas": 0})
