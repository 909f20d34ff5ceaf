# SPDX-License-Identifier: Apache-2.0
"""The checks of stateful sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from embedded_apiserver.causes import forbidden, invalid, not_supported, required
from embedded_apiserver.checks.basic import at_most_all, count_or_percent, label, non_negative
from embedded_apiserver.checks.selectors import compiled, is_empty
from embedded_apiserver.groups.pods.claim_spec import claim_spec
from embedded_apiserver.groups.pods.pods import pod_template, template_metadata
from embedded_apiserver.groups.workloads.workloads import always, does_not_match, selected
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.go_structs import shown

_RETENTION = ("Retain", "Delete")
_TEMPLATE_PARTS = ("subdomain", "hostname")
_CHANGEABLE = (
    *("replicas", "template", "updateStrategy", "minReadySeconds", "ordinals", "revisionHistoryLimit"),
    "persistentVolumeClaimRetentionPolicy",
)
_FIXED = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


def _stateful_set(spec: Object, *, is_new: bool) -> Iterator[Cause]:
    """Return the validation errors of the spec of a stateful set; fixed parts only when it is new."""
    if (policy := spec.get("podManagementPolicy", "")) not in ("OrderedReady", "Parallel"):
        yield invalid("spec.podManagementPolicy", policy, "must be 'OrderedReady' or 'Parallel'")
    yield from _stateful_set_strategy(part(spec, "updateStrategy"))
    if (retention := spec.get("persistentVolumeClaimRetentionPolicy")) is not None:
        for name in ("whenDeleted", "whenScaled"):
            if (when := retention.get(name, "")) not in _RETENTION:
                yield not_supported(f"spec.persistentVolumeClaimRetentionPolicy.{name}", when, _RETENTION)
    if is_new:
        for index, claim in enumerate(spec.get("volumeClaimTemplates") or ()):
            yield from claim_spec(part(claim, "spec"), f"spec.volumeClaimTemplates[{index}].spec")
    yield from non_negative(spec, "spec", "replicas", "minReadySeconds")
    yield from non_negative(part(spec, "ordinals"), "spec.ordinals", "start")
    if is_new and (service := spec.get("serviceName")):
        yield from label(service, "spec.serviceName")
    yield from selected(spec, "statefulset")
    selector, template = spec.get("selector"), part(spec, "template")
    if selector and compiled(selector) is None:
        yield Cause(
            "FieldValueInvalid", f"Invalid value: {bytes(shown('selector', selector)).decode()}", "spec.selector"
        )
    else:
        if selector is None or not is_empty(selector):
            yield from does_not_match(spec)
        yield from pod_template(_with_claims(template, spec.get("volumeClaimTemplates") or ()), "spec.template")
        # A real server checks the metadata of the template once more.
        yield from template_metadata(template, "spec.template")
    yield from always(spec, "StatefulSet")


def _with_claims(template: Object, claims: Sequence[Object]) -> Object:
    """Return a template as its pods are made from it: with a volume for each claim."""
    pod = part(template, "spec")
    names = [part(claim, "metadata").get("name", "") for claim in claims]
    if not names and not any(name in pod for name in _TEMPLATE_PARTS):
        return template
    made: dict[str, Any] = {name: value for name, value in pod.items() if name not in _TEMPLATE_PARTS}
    own = [{"name": name, "persistentVolumeClaim": {"claimName": name}} for name in dict.fromkeys(names)]
    rest = [volume for volume in pod.get("volumes") or () if volume.get("name") not in names]
    return {**template, "spec": {**made, "volumes": [*own, *rest]}}


def _stateful_set_strategy(strategy: Object) -> Iterator[Cause]:
    place, rolling = "spec.updateStrategy", strategy.get("rollingUpdate")
    match strategy.get("type", ""):
        case "":
            yield required(place)
        case "OnDelete":
            if rolling is not None:
                value = shown("RollingUpdateStatefulSetStrategy", rolling)
                yield invalid(f"{place}.rollingUpdate", value, "only allowed for updateStrategy 'RollingUpdate'")
        case "RollingUpdate":
            yield from non_negative(rolling or {}, f"{place}.rollingUpdate", "partition")
            if (most := (rolling or {}).get("maxUnavailable")) is not None:
                field = f"{place}.rollingUpdate.maxUnavailable"
                yield from count_or_percent(most, field)
                yield from at_most_all(most, field)
        case _:
            value = shown("StatefulSetUpdateStrategy", strategy)
            yield invalid(place, value, "must be 'RollingUpdate' or 'OnDelete'")


def _change(before: Object, after: Object) -> list[Cause]:
    """Return the cause for an update of fields of a stateful set that must not change."""
    old, new = ({name: value for name, value in spec.items() if name not in _CHANGEABLE} for spec in (before, after))
    return [] if old == new else [forbidden("spec", _FIXED)]


def new_stateful_set(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a new StatefulSet."""
    return _stateful_set(part(obj, "spec"), is_new=True)


def stateful_set_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a StatefulSet."""
    before, after = part(old, "spec"), part(new, "spec")
    if before != after:
        yield from _stateful_set(after, is_new=False)
        yield from _change(before, after)
