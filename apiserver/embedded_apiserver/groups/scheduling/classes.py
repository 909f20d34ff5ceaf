# SPDX-License-Identifier: Apache-2.0
"""The checks of classes of priority, and of runtimes."""

from __future__ import annotations

from collections.abc import Iterator

from apimachinery.names import label_errors
from embedded_apiserver.causes import duplicate, forbidden, invalid, required
from embedded_apiserver.checks.basic import IMMUTABLE, each, one_of
from embedded_apiserver.checks.metadata import label_causes
from embedded_apiserver.checks.resources import requirements
from embedded_apiserver.groups.pods.pod_warnings import OLD_LABELS
from embedded_apiserver.groups.pods.scheduling import tolerations
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause

_HIGHEST = 1_000_000_000  # of users; the classes of the system are higher
_SYSTEM = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_PREEMPTION = ("PreemptLowerPriority", "Never")


def priority_class(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a PriorityClass."""
    name, value = obj["metadata"]["name"], obj.get("value", 0)
    if name.startswith("system-"):
        if problem := _system_problem(name, value, is_default=bool(obj.get("globalDefault"))):
            text = f"priority class names with 'system-' prefix are reserved for system use only. error: {problem}"
            yield forbidden("metadata.name", text)
    elif value > _HIGHEST:
        yield forbidden("value", f"maximum allowed value of a user defined priority is {_HIGHEST}")
    if (policy := obj.get("preemptionPolicy")) is not None:
        yield from one_of(policy, _PREEMPTION, "preemptionPolicy") if policy else [required("preemptionPolicy")]


def _system_problem(name: str, value: int, *, is_default: bool) -> str:
    if name not in _SYSTEM:
        return f"{name} is not a known system priority class"
    if value != _SYSTEM[name]:
        return f"value of {name} PriorityClass must be {_SYSTEM[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if is_default else ""


def priority_class_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a PriorityClass: neither value nor `preemptionPolicy` may change."""
    if old.get("value", 0) != new.get("value", 0):
        yield forbidden("value", "may not be changed in an update.")
    if old.get("preemptionPolicy") != new.get("preemptionPolicy"):
        yield invalid("preemptionPolicy", new.get("preemptionPolicy"), IMMUTABLE)


def runtime_class(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a RuntimeClass."""
    if not (handler := obj.get("handler", "")):
        yield required("handler")
    else:
        yield from each(label_errors, handler, "handler")
    if (overhead := obj.get("overhead")) is not None:
        yield from requirements({"limits": part(overhead, "podFixed")}, "overhead")
    if (scheduling := obj.get("scheduling")) is None:
        return
    yield from label_causes(scheduling.get("nodeSelector") or {}, "scheduling.nodeSelector")
    given = scheduling.get("tolerations") or ()
    yield from tolerations(given, "scheduling.tolerations")
    seen = []
    for index, one in enumerate(given):
        key = {name: value for name, value in one.items() if name != "tolerationSeconds"}
        if key in seen:
            yield duplicate(f"scheduling.tolerations[{index}]", one)
        seen.append(key)


def runtime_class_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a RuntimeClass: its handler must not change."""
    yield from runtime_class(new)
    if old.get("handler") != new.get("handler"):
        yield invalid("handler", new.get("handler", ""), IMMUTABLE)


def of_runtime_class(obj: Object) -> Iterator[str]:
    """Yield the warnings about a RuntimeClass."""
    for name in (obj.get("scheduling") or {}).get("nodeSelector") or ():
        if text := OLD_LABELS.get(name):
            yield f"scheduling.nodeSelector: {text}"
