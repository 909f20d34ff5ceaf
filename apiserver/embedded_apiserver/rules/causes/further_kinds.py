# SPDX-License-Identifier: Apache-2.0
"""Rules of kinds with few rules: classes of priority and of runtimes, and API services."""

from __future__ import annotations

import re
from collections.abc import Iterator

from apimachinery.names import label_problems, subdomain_problems
from embedded_apiserver.causes import duplicate, forbidden, invalid, not_supported, required
from embedded_apiserver.objects import Object, part
from embedded_apiserver.quoting import quoted
from embedded_apiserver.rules.causes.basic import IMMUTABLE, each, one_of
from embedded_apiserver.rules.causes.resources import requirements
from embedded_apiserver.rules.causes.scheduling import tolerations
from embedded_apiserver.rules.validation import label_causes
from embedded_apiserver.status import Cause

_HIGHEST = 1_000_000_000  # of users; the classes of the system are higher
_SYSTEM = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_PREEMPTION = ("PreemptLowerPriority", "Never")
_STATES = ("True", "False", "Unknown")
_VERSION = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_NO_VERSION = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)


def priority_class(obj: Object) -> Iterator[Cause]:
    """Return the faults of a class of priority."""
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
    """Return the faults of a changed class of priority: its value is fixed."""
    if old.get("value", 0) != new.get("value", 0):
        yield forbidden("value", "may not be changed in an update.")
    if old.get("preemptionPolicy") != new.get("preemptionPolicy"):
        yield invalid("preemptionPolicy", new.get("preemptionPolicy"), IMMUTABLE)


def runtime_class(obj: Object) -> Iterator[Cause]:
    """Return the faults of a class of runtimes."""
    if not (handler := obj.get("handler", "")):
        yield required("handler")
    else:
        yield from each(label_problems, handler, "handler")
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
    """Return the faults of a changed class of runtimes: its handler is fixed."""
    yield from runtime_class(new)
    if old.get("handler") != new.get("handler"):
        yield invalid("handler", new.get("handler", ""), IMMUTABLE)


def api_service(obj: Object) -> Iterator[Cause]:
    """Return the faults of an API service, its name among them."""
    spec, name = part(obj, "spec"), obj["metadata"]["name"]
    group, version = spec.get("group", ""), spec.get("version", "")
    if name and name != (wanted := f"{version}.{group}"):
        text = f'must be `spec.version+"."+spec.group`: {quoted(wanted)}'
        if stem := obj["metadata"].get("generateName"):
            yield invalid("metadata.generateName", stem, text)
        yield invalid("metadata.name", name, text)
    if not group and version != "v1":
        yield required("spec.group", "only v1 may have an empty group and it better be legacy kube")
    if group:
        yield from each(subdomain_problems, group, "spec.group")
    if not _VERSION.fullmatch(version):
        yield invalid("spec.version", version, _NO_VERSION)
    for field, most in (("groupPriorityMinimum", 20000), ("versionPriority", 1000)):
        if not 0 < (value := spec.get(field, 0)) <= most:
            yield invalid(f"spec.{field}", value, f"must be positive and less than {most}")
    yield from _backend(spec)


def _backend(spec: Object) -> Iterator[Cause]:
    service, bundle, is_blind = spec.get("service"), spec.get("caBundle"), spec.get("insecureSkipTLSVerify")
    field = "spec.insecureSkipTLSVerify"
    if service is None:
        if bundle:
            length = len(bundle) * 3 // 4 - bundle.count("=")
            yield invalid("spec.caBundle", f"{length} bytes", "local APIServices may not have a caBundle")
        if is_blind:
            yield invalid(field, is_blind, "local APIServices may not have insecureSkipTLSVerify")
        return
    for name in ("namespace", "name"):
        if not service.get(name):
            yield required(f"spec.service.{name}")
    if not 1 <= (port := service.get("port") or 0) <= 65535:
        text = "port is not valid: must be between 1 and 65535, inclusive"
        yield invalid("spec.service.port", port, text)
    if is_blind and bundle:
        yield invalid(field, is_blind, "may not be true if caBundle is present")


def api_service_status(old: Object, new: Object) -> Iterator[Cause]:
    """Return the faults of the status of an API service."""
    for index, one in enumerate(part(new, "status").get("conditions") or ()):
        if one.get("status") not in _STATES:
            yield not_supported(f"status.conditions[{index}].status", one.get("status", ""), _STATES)
