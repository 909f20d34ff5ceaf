# SPDX-License-Identifier: Apache-2.0
"""The subresources of pods that are created: bindings to a node, and evictions within disruption budgets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from apimachinery.host import Host
from apimachinery.objects import timestamp
from embedded_apiserver.admission.step import Asked
from embedded_apiserver.causes import not_supported, required
from embedded_apiserver.groups.parts import EVICTION
from embedded_apiserver.groups.pods.kinds import BINDING, POD
from embedded_apiserver.groups.policy.kinds import DISRUPTION_BUDGET
from embedded_apiserver.kinds.metadata import METADATA_ORDER
from embedded_apiserver.label_match import selects
from embedded_apiserver.objects import Object, part
from embedded_apiserver.options import DeleteOptions, Preconditions, WriteOptions
from embedded_apiserver.routes import Route
from embedded_apiserver.status import (
    CREATE_OPTIONS,
    Options,
    bad_request,
    conflict,
    disruption_refused,
    internal,
    not_found,
    untyped,
)
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.storage.stored import Draft, Stored
from embedded_apiserver.typed.body import decode
from embedded_apiserver.writes.admitting import Admitting
from embedded_apiserver.writes.content import Content
from embedded_apiserver.writes.deletion import Deletion, check_preconditions
from embedded_apiserver.writes.strategy import check_namespace
from embedded_apiserver.writes.warned import warned_of

_BINDING = Options("Binding", "", "pods/binding")  # the resource that a real server names in conflicts of a binding
# The phases in which a pod does not count toward the health that a budget protects: it is evicted without one.
_HARMLESS = ("Succeeded", "Failed", "Pending")
_EVICTED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "message": "Eviction API: evicting",
}


class PodParts:
    """Binds and evicts pods. Each method raises `StatusError` for a refused request.

    Threads: any.
    """

    def __init__(self, host: Host, storage: Storage, deletion: Deletion, admitting: Admitting) -> None:
        self._host = host
        self._admitting = admitting
        self._storage = storage
        self._deletion = deletion

    def create(self, route: Route, content: Content) -> None:
        """Carry out a POST to the subresource `binding` or `eviction` of a pod, or of a Binding object for a pod."""
        options = WriteOptions.parse(content.query, CREATE_OPTIONS)
        do = {"": (BINDING, self._bind), "binding": (BINDING, self._bind), "eviction": (EVICTION, self._evict)}
        kind, act = do[route.subresource]
        obj, warnings = decode(kind, content.body, content.media_type, options.field_validation)
        if route.kind == BINDING:
            route = _of_pod(route, obj)
        check_namespace(obj, route.namespace)
        if obj["metadata"].get("name", "") != route.name:
            raise bad_request(f"name in URL does not match name in {kind.kind} object")
        asked = Asked(content.user, options, warnings, options.dry_run)
        with warned_of(warnings):
            act(route, self._admitting.create_part(route, obj, asked), asked)

    def _bind(self, route: Route, binding: Object, asked: Asked) -> None:
        target = part(binding, "target")
        node = target.get("name", "")
        causes = [] if node else [required("target.name")]
        if target.get("kind", "") not in ("", "Node"):
            causes.insert(0, not_supported("target.kind", target["kind"], ("Node", "<empty>")))
        if causes:  # with the code and the form of a real server
            raise untyped(str(causes[0]) if len(causes) == 1 else f"[{', '.join(map(str, causes))}]")
        metadata = binding["metadata"]
        wanted = Preconditions(metadata.get("uid") or None, metadata.get("resourceVersion") or None)

        def bound(pod: Object) -> Object:
            check_preconditions(route.kind, route.name, pod, wanted)
            if "deletionTimestamp" in pod["metadata"]:
                text = f"pod {route.name} is being deleted, cannot be assigned to a host"
                raise conflict(_BINDING, route.name, text)
            if before := part(pod, "spec").get("nodeName"):
                text = f'pod {route.name} is already assigned to node "{before}"'
                raise conflict(_BINDING, route.name, text)
            if part(pod, "spec").get("schedulingGates"):
                raise conflict(_BINDING, route.name, f"pod {route.name} has non-empty .spec.schedulingGates")
            placed = {**_with_metadata_of(pod, metadata), "spec": {**part(pod, "spec"), "nodeName": node}}
            return self._with_condition(placed, {"type": "PodScheduled", "status": "True"})

        self._change(route, bound, asked.dry_run)

    def _evict(self, route: Route, eviction: Object, asked: Asked) -> None:
        options = DeleteOptions.parse({}, msgspec.json.encode(part(eviction, "deleteOptions")))
        pod = self._find(route).decode()
        wanted = options.preconditions
        check_preconditions(route.kind, route.name, pod, wanted)
        harmless = part(pod, "status").get("phase") in _HARMLESS or "deletionTimestamp" in pod["metadata"]
        dry_run = asked.dry_run or bool(options.dry_run)
        if not harmless:
            self._spend_budget(route, pod, dry_run)
        if dry_run:
            return

        def marked(pod: Object) -> Object:
            check_preconditions(route.kind, route.name, pod, wanted)
            return self._with_condition(pod, _EVICTED)

        version = self._change(route, marked, dry_run)
        if wanted.resource_version is not None:
            # The pod had the demanded resourceVersion until the condition was added: the deletion demands the new one.
            moved = msgspec.structs.replace(wanted, resource_version=str(version))
            options = msgspec.structs.replace(options, preconditions=moved)
        self._deletion.delete(
            route._replace(subresource=""), options, Asked(asked.user, options, asked.warnings, dry_run)
        )

    def _spend_budget(self, route: Route, pod: Object, dry_run: bool) -> None:
        """Record one more disruption in the pod's budget, if the pod has a budget.

        Raises:
            StatusError: The budget allows no further disruption, or the pod has more than one budget.
        """
        labels = pod["metadata"].get("labels", {})
        while True:
            _, items = self._storage.read(DISRUPTION_BUDGET.resource, f"{route.namespace}/")
            budgets = [(item, budget) for item in items if _covers(budget := item.decode(), labels)]
            if not budgets:
                return
            if len(budgets) > 1:
                what = "which the eviction subresource does not support"
                raise internal(f"This pod has more than one PodDisruptionBudget, {what}.")
            (item, budget), *_ = budgets
            if not _is_ready(pod) and _lets_unready_go(budget):
                return
            spent = _spent(budget, route.name, timestamp(self._host.now()))
            resource = DISRUPTION_BUDGET.resource
            if dry_run or self._storage.commit(resource, item.key, item, Draft.of(spent)) is not None:
                return

    def _change(self, route: Route, change: Callable[[Object], Object], dry_run: bool) -> int:
        """Apply `change` to the pod, and return the resulting resourceVersion.

        If another write changes the pod in the meantime, `change` is applied to the result of that write.
        """
        while True:
            current = self._find(route)
            before = current.decode()
            changed = change(before)
            if dry_run or changed == before:
                return current.version
            done = self._storage.commit(route.kind.resource, current.key, current, Draft.of(changed))
            if done is not None:
                return done.version

    def _find(self, route: Route) -> Stored:
        found = self._storage.get(route.kind.resource, route.key)
        if found is None:
            raise not_found(route.kind, route.name)
        return found

    def _with_condition(self, pod: Object, condition: Mapping[str, Any]) -> dict[str, Any]:
        status = part(pod, "status")
        conditions = status.get("conditions", ())
        others = [one for one in conditions if one["type"] != condition["type"]]
        before: Object = next((one for one in conditions if one["type"] == condition["type"]), {})
        if condition.items() <= before.items():
            return {**pod}
        now = timestamp(self._host.now())
        made = {**condition, "lastProbeTime": None, "lastTransitionTime": now}
        return {**pod, "status": {**status, "conditions": [*others, made]}}


def _of_pod(route: Route, binding: Object) -> Route:
    """Return the route to the subresource of the pod that a binding names.

    Raises:
        StatusError: 400, it names none, or another namespace.
    """
    check_namespace(binding, route.namespace)
    if not (name := binding["metadata"].get("name")):
        raise bad_request("Name parameter required.")
    return Route(POD, route.namespace, name, "binding")


def _with_metadata_of(pod: Object, metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return a pod with the labels and annotations of its binding, which replace its own, and without a nomination."""
    about = pod["metadata"]
    added = {name: {**(about.get(name) or {}), **more} for name in _COPIED if (more := metadata.get(name))}
    made = {name: value for name in METADATA_ORDER if (value := {**about, **added}.get(name)) is not None}
    status = {name: value for name, value in part(pod, "status").items() if name != "nominatedNodeName"}
    return {**pod, "metadata": made, "status": status}


_COPIED = ("labels", "annotations")


def _is_ready(pod: Object) -> bool:
    conditions = part(pod, "status").get("conditions", ())
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _lets_unready_go(budget: Object) -> bool:
    """Return whether a pod that is not ready may be evicted even if the budget allows no disruption.

    By default it may only if enough pods are healthy: if not, the application may need this one to become ready.
    """
    if part(budget, "spec").get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = part(budget, "status")
    desired = status.get("desiredHealthy", 0)
    return bool(0 < desired <= status.get("currentHealthy", 0))


def _covers(budget: Object, labels: Mapping[str, str]) -> bool:
    selector = part(budget, "spec").get("selector")
    return selector is not None and selects(selector, labels)


def _spent(budget: Object, pod: str, now: str) -> Object:
    """Return the budget after one more disruption.

    Raises:
        StatusError: 429, the budget allows none, or its controller has not processed its newest generation.
    """
    metadata, status = budget["metadata"], part(budget, "status")
    if status.get("observedGeneration", 0) < metadata.get("generation", 0):
        text = f"The disruption budget {metadata['name']} is still being processed by the server."
        raise disruption_refused(text, retry_after=10)
    allowed = status.get("disruptionsAllowed", 0)
    if allowed <= 0:
        needed, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
        text = f"The disruption budget {metadata['name']} needs {needed} healthy pods and has {healthy} currently"
        raise disruption_refused(text)
    disrupted = {**part(status, "disruptedPods"), pod: now}
    return {**budget, "status": {**status, "disruptionsAllowed": allowed - 1, "disruptedPods": disrupted}}
