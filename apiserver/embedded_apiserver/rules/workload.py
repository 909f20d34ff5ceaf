# SPDX-License-Identifier: Apache-2.0
"""Rules of workloads, the kinds that create pods: generations, and what the server adds."""

from __future__ import annotations

from collections.abc import Sequence

from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object, part
from embedded_apiserver.rules.pod_warnings import of_name, of_pod
from embedded_apiserver.rules.rules import Rules
from embedded_apiserver.rules.type_defaults import TEMPLATE_GENERATION

_HOST_NAMES = "Pod names and hostnames"
_ALL_REVISIONS = (
    "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
)


class SpecRules(Rules):
    """Rules of a kind that counts the generations of its spec.

    Args:
        status: The status of a new object; empty if None.
        template: The path of its template of pods, of which clients are warned; empty if it has none.
    """

    _names_pods = True  # names of pods, and so of hosts, begin with the name of the object

    def __init__(self, status: Object | None = None, template: Sequence[str] = ()) -> None:
        self._status = status or {}
        self._template = template

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        if not self._template or (old is not None and self._is_same(obj, old)):
            return []
        found = of_name(obj["metadata"], _HOST_NAMES) if old is None and self._names_pods else []
        template = obj
        for step in self._template:
            template = part(template, step)
        return [*found, *of_pod(template, ".".join(self._template))]

    def _is_same(self, obj: Object, old: Object) -> bool:
        return part(obj, "spec") == part(old, "spec")

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


class DeploymentRules(SpecRules):
    """A change of a deployment's annotations is a new generation, too: they are copied to its replica sets."""

    def _is_same(self, obj: Object, old: Object) -> bool:
        return super()._is_same(obj, old) and not self._is_other(old["metadata"], obj["metadata"])

    def _is_other(self, before: Object, after: Object) -> bool:
        return bool((before.get("annotations") or {}) != (after.get("annotations") or {}))

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        made = super().on_update(kind, old, new, subresource)
        return _with_labels_of(old, made) if subresource == "status" else made


class StatefulSetRules(SpecRules):
    """A stateful set that keeps all of its revisions is warned of."""

    _names_pods = False

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        found = super().warnings(obj, old)
        return [*found, _ALL_REVISIONS] if part(obj, "spec").get("revisionHistoryLimit", 0) < 0 else found


class DaemonSetRules(SpecRules):
    """The versions of a daemon set's template are numbered in an annotation, which clients do not write."""

    _names_pods = False

    def _is_same(self, obj: Object, old: Object) -> bool:
        return part(obj, "spec").get("template") == part(old, "spec").get("template")

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

    def warnings(self, obj: Object, old: Object | None) -> list[str]:
        if old is not None and obj.get("template") == old.get("template"):
            return []
        return of_pod(part(obj, "template"), "template")

    def on_create(self, obj: Object) -> Object:
        return {**obj, "metadata": {**obj["metadata"], "generation": 1}}

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        generation = old["metadata"].get("generation", 0) + (old.get("template") != new.get("template"))
        return {**new, "metadata": {**new["metadata"], "generation": generation}} if generation else new


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


_TEMPLATE = ("spec", "template")
DEPLOYMENT_RULES = DeploymentRules(None, _TEMPLATE)
REPLICA_SET_RULES = SpecRules({"replicas": 0}, _TEMPLATE)
STATEFUL_SET_RULES = StatefulSetRules({"availableReplicas": 0, "replicas": 0}, _TEMPLATE)
DAEMON_SET_RULES = DaemonSetRules(
    {"currentNumberScheduled": 0, "desiredNumberScheduled": 0, "numberMisscheduled": 0, "numberReady": 0},
    _TEMPLATE,
)
CONTROLLER_RULES = SpecRules({"replicas": 0}, _TEMPLATE)
JOB_RULES = JobRules(None, _TEMPLATE)
CRON_JOB_RULES = SpecRules(None, ("spec", "jobTemplate", "spec", "template"))
