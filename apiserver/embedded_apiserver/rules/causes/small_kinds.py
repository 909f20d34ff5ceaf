# SPDX-License-Identifier: Apache-2.0
"""Rules of kinds with few rules: budgets, revisions, nodes, namespaces."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apimachinery.names import qualified_name_problems
from embedded_apiserver.causes import duplicate, forbidden, invalid, required
from embedded_apiserver.objects import Object, part
from embedded_apiserver.rules.causes.addresses import has_two_families, network, unreadable
from embedded_apiserver.rules.causes.basic import (
    IMMUTABLE,
    at_most_all,
    count_or_percent,
    each,
    non_negative,
    one_of,
    qualified_name,
)
from embedded_apiserver.rules.causes.resources import amount_causes
from embedded_apiserver.rules.causes.scheduling import is_feature_name, taints
from embedded_apiserver.rules.causes.selectors import label_selector
from embedded_apiserver.rules.go_structs import shown
from embedded_apiserver.status import Cause

_ONCE = 'node updates may not change {} except from "" to valid'
_CONDITION_STATUSES = ("False", "True", "Unknown")
_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
_UNQUALIFIED = "name is neither a standard finalizer name nor is it fully qualified"


def budget(obj: Object) -> Iterator[Cause]:
    """Return the faults of a disruption budget."""
    spec = part(obj, "spec")
    names = [name for name in ("minAvailable", "maxUnavailable") if spec.get(name) is not None]
    if len(names) > 1:
        text = "minAvailable and maxUnavailable cannot be both set"
        yield invalid("spec", shown("PodDisruptionBudgetSpec", spec), text)
    for name in names:
        yield from count_or_percent(spec[name], f"spec.{name}")
        yield from at_most_all(spec[name], f"spec.{name}")
    yield from label_selector(spec.get("selector"), "spec.selector")
    if (policy := spec.get("unhealthyPodEvictionPolicy")) is not None:
        yield from one_of(policy, ("AlwaysAllow", "IfHealthyBudget"), "spec.unhealthyPodEvictionPolicy")


def budget_status(old: Object, new: Object) -> Iterator[Cause]:
    """Return the faults of the status of a disruption budget."""
    status, seen = part(new, "status"), set()
    for index, one in enumerate(status.get("conditions") or ()):
        field, kind = f"status.conditions[{index}]", one.get("type", "")
        if kind in seen:
            yield duplicate(f"{field}.type", kind)
        seen.add(kind)
        yield from qualified_name(kind, f"{field}.type")
        yield from one_of(one.get("status", ""), _CONDITION_STATUSES, f"{field}.status")
        if (generation := one.get("observedGeneration", 0)) < 0:
            text = "must be greater than or equal to zero"
            yield invalid(f"{field}.observedGeneration", generation, text)
        if one.get("lastTransitionTime") is None:
            yield required(f"{field}.lastTransitionTime")
        yield from _reason(one.get("reason", ""), f"{field}.reason")
    yield from non_negative(status, "status", "disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def _reason(reason: str, field: str) -> Iterator[Cause]:
    if not reason:
        yield required(field)


def revision(obj: Object) -> Iterator[Cause]:
    """Return the faults of a new controller revision."""
    yield from _revision_number(obj)
    data = obj.get("data")
    if data is None:
        yield required("data", "data is mandatory")
    elif not isinstance(data, Mapping):
        yield required("data", "data must be a valid JSON object")


def _revision_number(obj: Object) -> Iterator[Cause]:
    if (number := obj.get("revision", 0)) < 0:
        yield invalid("revision", number, "must be greater than or equal to 0")


def revision_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the faults of the change of a controller revision, whose data never change."""
    yield from _revision_number(new)
    if old.get("data") != (data := new.get("data")):
        yield invalid("data", data, IMMUTABLE)


def node(obj: Object) -> Iterator[Cause]:
    """Return the faults of a new node, those of its general metadata aside."""
    spec, status = part(obj, "spec"), part(obj, "status")
    # A real server names the metadata, too, although taints are in the spec.
    yield from taints(spec.get("taints") or (), "metadata.taints")
    yield from _node_status(status)
    yield from _ranges(spec)


def _ranges(spec: Object) -> Iterator[Cause]:
    """Return the faults of the address ranges of the pods of a node."""
    ranges: Sequence[str] = spec.get("podCIDRs") or ()
    if ranges and spec.get("podCIDR", ranges[0]) != ranges[0]:
        yield invalid("spec.podCIDR", spec["podCIDR"], "must be equal to podCIDRs[0]")
        return
    for index, text in enumerate(ranges):
        yield from network(text, f"spec.podCIDRs[{index}]")
    if len(ranges) > 1 and (problem := unreadable(ranges)):
        text = f"Internal error: invalid PodCIDRs. failed to check with dual stack with error:{problem}"
        yield Cause("InternalError", text, "spec.podCIDRs")
    if len(ranges) > 1 and (problem or len(ranges) > 2 or not has_two_families(ranges)):
        yield invalid("spec.podCIDRs", ranges, "may specify no more than one CIDR for each IP family")


def _node_status(status: Object) -> Iterator[Cause]:
    for name in ("capacity", "allocatable"):
        for key, text in (status.get(name) or {}).items():
            yield from amount_causes(key, text, f"status.{name}.{key}")
    features = status.get("declaredFeatures") or ()
    for index, name in enumerate(features):
        field = f"status.declaredFeatures[{index}]"
        if not is_feature_name(name):
            text = "must start with an UpperCamelCase segment, with subsequent segments separated by '/' "
            text += "(e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes"
            yield invalid(field, name, f'invalid feature name "{name}": {text}')
        if index and features[index - 1] == name:
            yield duplicate(field, name)
        elif index and features[index - 1] > name:
            yield invalid(field, name, "list must be sorted alphabetically")


def node_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the faults of a changed node, those of its general metadata aside."""
    before, after, status = part(old, "spec"), part(new, "spec"), part(new, "status")
    is_tainted = before.get("taints") != after.get("taints")
    if before != after:  # a real server checks the whole node first
        if is_tainted:
            yield from taints(after.get("taints") or (), "metadata.taints")
        yield from _ranges(after)
    if status is not old.get("status") and status != old.get("status"):
        yield from _node_status(status)
        yield from _repeated_addresses(status)
    known, ranges = before.get("podCIDRs") or [], after.get("podCIDRs") or []
    if known and len(known) != len(ranges):
        yield forbidden("spec.podCIDRs", _ONCE.format("podCIDR"))
    elif known:
        pairs = zip(known, ranges, strict=True)
        yield from (forbidden("spec.podCIDRs", _ONCE.format("podCIDR")) for was, now in pairs if was != now)
    if before.get("providerID", "") not in ("", after.get("providerID", "")):
        yield forbidden("spec.providerID", _ONCE.format("providerID"))
    if is_tainted:  # once more, as on a real server
        yield from taints(after.get("taints") or (), "metadata.taints")
    if before.get("externalID", "") != after.get("externalID", ""):
        yield forbidden("spec.externalID", "may not be updated")


def _repeated_addresses(status: Object) -> Iterator[Cause]:
    seen = set()
    for index, address in enumerate(status.get("addresses") or ()):
        if (key := (address.get("type", ""), address.get("address", ""))) in seen:
            yield duplicate(f"status.addresses[{index}]", shown("NodeAddress", address))
        seen.add(key)


def namespace(obj: Object) -> Iterator[Cause]:
    """Return the faults of the finalizers of a new namespace."""
    for name in part(obj, "spec").get("finalizers") or ():
        yield from _finalizer(name, "spec.finalizers")


def namespace_finalizers(old: Object, new: Object) -> Iterator[Cause]:
    """Return the faults of the changed finalizers of a namespace."""
    for index, name in enumerate(part(new, "spec").get("finalizers") or ()):
        yield from _finalizer(name, f"spec.finalizers[{index}]")


def _finalizer(name: str, field: str) -> Iterator[Cause]:
    yield from each(qualified_name_problems, name, field)
    if "/" not in name and name not in _STANDARD_FINALIZERS:
        yield invalid(field, name, _UNQUALIFIED)


def namespace_status(old: Object, new: Object) -> Iterator[Cause]:
    """Return the faults of the phase of a namespace."""
    phase, ends = part(new, "status").get("phase", ""), "deletionTimestamp" in new["metadata"]
    if not ends and phase != "Active":
        yield invalid("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty")
    elif ends and phase != "Terminating":
        yield invalid("status.Phase", phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")
