# SPDX-License-Identifier: Apache-2.0
"""`Priority` and `DefaultTolerationSeconds`: fields that each pod gets, and a pod template does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from embedded_apiserver.admission.step import Attributes, Operation, Step
from embedded_apiserver.groups.pods.kinds import POD
from embedded_apiserver.groups.scheduling.kinds import PRIORITY_CLASS
from embedded_apiserver.objects import Object, filled, part

_CLASSES = "priorityclasses.scheduling.k8s.io"
# The classes that each cluster has, with their priorities.
_SYSTEM = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_POLICY = "PreemptLowerPriority"
_TOLERATED_SECONDS = 300  # for which a pod stays on an unreachable node by default
_TOLERATED_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


class Priority(Step):
    """Sets the priority of a pod from its priority class, and refuses another number.

    The two system classes always exist.

    A second global default class is refused as well.
    """

    name = "Priority"
    kinds = (POD, PRIORITY_CLASS)

    def admit(self, attributes: Attributes) -> Object:
        obj, spec = attributes.obj, part(attributes.obj, "spec")
        if attributes.kind == PRIORITY_CLASS:
            return obj
        if attributes.operation is Operation.UPDATE:
            before = part(attributes.old or {}, "spec")
            kept = {name: before[name] for name in ("priority", "preemptionPolicy") if name in before}
            made = filled(spec, kept)
            return obj if made is spec else {**obj, "spec": made}
        name, priority, policy = self._class(attributes, spec.get("priorityClassName", ""))
        if spec.get("priority", priority) != priority:
            raise attributes.refused(
                f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
                f"priority admission controller computed {priority} from the given PriorityClass name"
            )
        if spec.get("preemptionPolicy", policy) != policy:
            raise attributes.refused(
                f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) must not be provided in pod spec; "
                f"priority admission controller computed {policy} from the given PriorityClass name"
            )
        named = {"priorityClassName": name} if name else {}
        return {**obj, "spec": {**spec, **named, "priority": priority, "preemptionPolicy": policy}}

    def validate(self, attributes: Attributes) -> None:
        if attributes.kind != PRIORITY_CLASS or not attributes.obj.get("globalDefault"):
            return
        found = self._default()
        name = "" if found is None else found["metadata"]["name"]
        if name and (attributes.operation is Operation.CREATE or name != attributes.name):
            text = f"PriorityClass {name} is already marked as default. Only one default can exist"
            raise attributes.refused(text)

    def _default(self) -> Mapping[str, Any] | None:
        """Return the default priority class; the one of the lowest value, if there are several."""
        classes = [item.decode() for item in self._storage.read(_CLASSES).items]
        defaults = [one for one in classes if one.get("globalDefault")]
        return min(defaults, key=lambda one: int(one.get("value", 0)), default=None)

    def _class(self, attributes: Attributes, name: str) -> tuple[str, int, str]:
        """Return the name, the priority and the preemption policy of a pod's class."""
        if name in _SYSTEM:
            return name, _SYSTEM[name], _POLICY
        found: Mapping[str, Any] | None = None
        if name:
            stored = self._storage.get(_CLASSES, name)
            if stored is None:
                raise attributes.refused(f"no PriorityClass with name {name} was found")
            found = stored.decode()
        else:
            found = self._default()
        if found is None:
            return "", 0, _POLICY
        return found["metadata"]["name"], int(found.get("value", 0)), found.get("preemptionPolicy") or _POLICY


class DefaultTolerationSeconds(Step):
    """Adds tolerations by which a pod stays for five minutes on a node that is not ready or unreachable."""

    name = "DefaultTolerationSeconds"
    kinds = (POD,)

    def admit(self, attributes: Attributes) -> Object:
        obj = attributes.obj
        spec = part(obj, "spec")
        if attributes.old is not None and attributes.old.get("spec") is spec:
            return obj
        tolerations = spec.get("tolerations") or []
        missing = [taint for taint in _TOLERATED_TAINTS if not any(_tolerates(one, taint) for one in tolerations)]
        if not missing:
            return obj
        return {**obj, "spec": {**spec, "tolerations": [*tolerations, *map(_toleration, missing)]}}


def _tolerates(toleration: Object, taint: str) -> bool:
    if toleration.get("effect", "") not in ("", "NoExecute"):
        return False
    key = toleration.get("key", "")
    return key in ("", taint)


def _toleration(taint: str) -> dict[str, Any]:
    return {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _TOLERATED_SECONDS}
