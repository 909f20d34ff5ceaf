# SPDX-License-Identifier: Apache-2.0
"""Rules of the change of a pod: hardly any field of its spec may change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from embedded_apiserver.causes import forbidden, invalid, required
from embedded_apiserver.checks.basic import take
from embedded_apiserver.groups.pods.pods import MIRROR, pod_annotations, whole_pod
from embedded_apiserver.groups.pods.profiles import changed_profiles
from embedded_apiserver.groups.pods.scheduling import tolerations
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.go_structs import difference, shown

_MOST = 2**31 - 1
_GROUPS = ("containers", "initContainers")
_CHANGEABLE = (
    "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
    "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def pod_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a Pod, except in its general metadata."""
    before, after = part(old, "spec"), part(new, "spec")
    if before == after:
        # The spec was valid when it was stored, so only the annotations are left.
        if old["metadata"].get("annotations") != new["metadata"].get("annotations"):
            yield from pod_annotations(new["metadata"].get("annotations") or {}, after, "metadata.annotations")
            yield from changed_annotations(old, new, after)
        return
    yield from whole_pod(new)
    yield from changed_annotations(old, new, after)
    for group in _GROUPS:
        given = after.get(group) or ()
        if len(given) != len(before.get(group) or ()):
            yield forbidden(f"spec.{group}", "pod updates may not add or remove containers")
            return
        yield from _images(given, f"spec.{group}")
    if (causes := _deadline(before.get("activeDeadlineSeconds"), after.get("activeDeadlineSeconds"))) is not None:
        yield causes
        if after.get("activeDeadlineSeconds") is not None:
            return
    yield from _kept_tolerations(before.get("tolerations") or (), after.get("tolerations") or ())
    yield from _kept_gates(before.get("schedulingGates") or (), after.get("schedulingGates") or ())
    same = _with_changeable(before, after)
    if before.get("schedulingGates"):
        yield from _gated(before, same)
    if same != before:
        yield forbidden("spec", f"{_CHANGEABLE}\n{difference('PodSpec', before, same)}")


def _images(containers: Sequence[Object], place: str) -> Iterator[Cause]:
    for index, container in enumerate(containers):
        image = container.get("image", "")
        if not image:
            yield required(f"{place}[{index}].image")
        if image.strip() != image:
            yield invalid(f"{place}[{index}].image", image, "must not have leading or trailing whitespace")


def _deadline(before: int | None, after: int | None) -> Cause | None:
    field = "spec.activeDeadlineSeconds"
    if after is None:
        text = "must not update from a positive integer to nil value"
        return None if before is None else invalid(field, None, text)
    if not 0 <= after <= _MOST:
        return invalid(field, after, f"must be between 0 and {_MOST}, inclusive")
    if before is not None and before < after:
        return invalid(field, after, "must be less than or equal to previous value")
    return None


def _kept_tolerations(before: Sequence[Object], after: Sequence[Object]) -> Iterator[Cause]:
    known = {_without_seconds(one) for one in after}
    if any(_without_seconds(one) not in known for one in before):
        text = "existing toleration can not be modified except its tolerationSeconds"
        yield forbidden("spec.tolerations", text)
    else:
        yield from tolerations(after, "spec.tolerations")


def _without_seconds(toleration: Object) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted((name, value) for name, value in toleration.items() if name != "tolerationSeconds"))


def _kept_gates(before: Sequence[Object], after: Sequence[Object]) -> Iterator[Cause]:
    known = {gate.get("name", "") for gate in before}
    for index, gate in enumerate(after):
        if (name := gate.get("name", "")) not in known:
            text = f"only deletion is allowed, but found new scheduling gate '{name}'"
            yield forbidden(f"spec.schedulingGates[{index}].name", text)


def _with_changeable(before: Object, after: Object) -> dict[str, Any]:
    """Return the new spec with the old values of all fields that may change."""
    made = {**after}
    for group in _GROUPS:
        if group in after:
            pairs = zip(after[group], before[group], strict=True)
            made[group] = [{**new, "image": old.get("image", "")} for new, old in pairs]
    for name in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        take(made, before, name)
    if before.get("terminationGracePeriodSeconds", 0) < 0 and after.get("terminationGracePeriodSeconds") == 1:
        take(made, before, "terminationGracePeriodSeconds")
    return made


def _gated(before: Object, made: dict[str, Any]) -> Iterator[Cause]:
    """Return the validation errors of a new choice of nodes of a gated pod, and put the old choice into `made`.

    As long as a pod has scheduling gates, its choice of nodes may become narrower, and not wider.
    """
    old, new = before.get("nodeSelector") or {}, made.get("nodeSelector") or {}
    if not old.items() <= new.items():
        text = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        yield invalid("spec.nodeSelector", new, text)
    take(made, before, "nodeSelector")
    was, now = ((one.get("affinity") or {}).get("nodeAffinity") for one in (before, made))
    if was == now:
        return
    yield from _narrowed(was or {}, now or {})
    affinity = {**(made.get("affinity") or {})}
    take(affinity, before.get("affinity") or {}, "nodeAffinity")
    if affinity or (before.get("affinity") is not None and "affinity" in made):
        made["affinity"] = affinity
    else:
        made.pop("affinity", None)


def _narrowed(before: Object, after: Object) -> Iterator[Cause]:
    place = f"spec.affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    old, new = ((one.get(_REQUIRED) or {}).get("nodeSelectorTerms") or [] for one in (before, after))
    if old and len(old) != len(new):
        text = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        yield invalid(place, shown("[]NodeSelectorTerm", new), text)
        return
    for index, (was, now) in enumerate(zip(old, new, strict=True) if old else ()):
        if not _only_adds(was, now):
            text = "only additions are allowed (no mutations or deletions)"
            yield invalid(f"{place}[{index}]", shown("NodeSelectorTerm", now), text)


def _only_adds(before: Object, after: Object) -> bool:
    names = ("matchExpressions", "matchFields")
    pairs = [(list(before.get(name) or ()), list(after.get(name) or ())) for name in names]
    if not any(old for old, _ in pairs):
        return not any(new for _, new in pairs)
    return all(new[: len(old)] == old for old, new in pairs)


def changed_annotations(old: Object, new: Object, spec: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of those annotations that Kubernetes reads from pods."""
    place = "metadata.annotations"
    before: Mapping[str, str] = old["metadata"].get("annotations") or {}
    after: Mapping[str, str] = new["metadata"].get("annotations") or {}
    yield from changed_profiles(before, after, place)
    if MIRROR in before and before[MIRROR] != after.get(MIRROR):
        yield forbidden(f"{place}[{MIRROR}]", "may not remove or update mirror pod annotation")
    if MIRROR in after and MIRROR not in before:
        yield forbidden(f"{place}[{MIRROR}]", "may not add mirror pod annotation")
    yield from pod_annotations(after, spec, place)
