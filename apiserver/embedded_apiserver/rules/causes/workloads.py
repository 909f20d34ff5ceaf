# SPDX-License-Identifier: Apache-2.0
"""Rules of the kinds that keep pods running: selectors, templates, strategies, numbers in their status."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from embedded_apiserver.causes import forbidden, invalid, not_supported, required
from embedded_apiserver.objects import Object, part
from embedded_apiserver.rules.causes.basic import (
    amount,
    at_most_all,
    count_or_percent,
    label,
    non_negative,
    unchanged,
)
from embedded_apiserver.rules.causes.claim_spec import claim_spec
from embedded_apiserver.rules.causes.pods import pod_template, template_metadata
from embedded_apiserver.rules.causes.selectors import compiled, is_empty, label_selector, shown_labels
from embedded_apiserver.rules.go_structs import shown
from embedded_apiserver.status import Cause

_NO_MATCH = "`selector` does not match template `labels`"
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


def _selector(spec: Object, noun: str) -> Iterator[Cause]:
    selector = spec.get("selector")
    if selector is None:
        yield required("spec.selector")
        return
    yield from label_selector(selector, "spec.selector")
    if is_empty(selector):
        yield invalid("spec.selector", shown("selector", selector), f"empty selector is invalid for {noun}")


def _does_not_match(spec: Object) -> Iterator[Cause]:
    """Return the cause of a template that the selector does not match; a missing selector matches none."""
    selector = compiled(spec.get("selector"))
    labels = part(part(spec, "template"), "metadata").get("labels") or {}
    if spec.get("selector") is None or (selector is not None and not selector.matches(labels)):
        yield invalid("spec.template.metadata.labels", shown_labels(labels), _NO_MATCH)


def _always(spec: Object, kind: str) -> Iterator[Cause]:
    """Return the faults of the pods of a kind that starts them again whenever they end."""
    pod = part(part(spec, "template"), "spec")
    if (policy := pod.get("restartPolicy", "")) != "Always":
        yield not_supported("spec.template.spec.restartPolicy", policy, ("Always",))
    if pod.get("activeDeadlineSeconds") is not None:
        text = f"activeDeadlineSeconds in {kind} is not Supported"
        yield forbidden("spec.template.spec.activeDeadlineSeconds", text)


def _matched_template(spec: Object, kind: str) -> Iterator[Cause]:
    """Return the faults of selector and template together; those of the template only if the selector is valid."""
    selector = spec.get("selector")
    if selector and compiled(selector) is None:
        yield invalid("spec.selector", shown("*selector", selector), "invalid label selector")
        return
    if selector is None or not is_empty(selector):
        yield from _does_not_match(spec)
    yield from pod_template(part(spec, "template"), "spec.template")
    yield from _always(spec, kind)


def replica_set(spec: Object) -> Iterator[Cause]:
    """Return the faults of the spec of a replica set."""
    yield from non_negative(spec, "spec", "replicas", "minReadySeconds")
    yield from _selector(spec, "deployment")
    yield from _matched_template(spec, "ReplicaSet")


def deployment(spec: Object) -> Iterator[Cause]:
    """Return the faults of the spec of a deployment."""
    yield from non_negative(spec, "spec", "replicas")
    yield from _selector(spec, "deployment")
    yield from _matched_template(spec, "ReplicaSet")
    yield from _deployment_strategy(part(spec, "strategy"))
    yield from non_negative(spec, "spec", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        yield invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds")


def _deployment_strategy(strategy: Object) -> Iterator[Cause]:
    rolling = strategy.get("rollingUpdate")
    match strategy.get("type", ""):
        case "Recreate":
            if rolling is not None:
                text = "may not be specified when strategy `type` is 'Recreate'"
                yield forbidden("spec.strategy.rollingUpdate", text)
        case "RollingUpdate":
            place = "spec.strategy.rollingUpdate"
            rolling = rolling or {}
            unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
            yield from count_or_percent(unavailable, f"{place}.maxUnavailable")
            yield from count_or_percent(surge, f"{place}.maxSurge")
            if not amount(unavailable) and not amount(surge):
                yield invalid(f"{place}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0")
            yield from at_most_all(unavailable, f"{place}.maxUnavailable")
        case _:
            value = shown("DeploymentStrategy", strategy)
            yield not_supported("spec.strategy", value, ("Recreate", "RollingUpdate"))


def daemon_set_change(before: Object, after: Object) -> Iterator[Cause]:
    """Return the faults of a changed spec of a daemon set: unlike other kinds', its changed selector comes first."""
    yield from same_selector(before, after)
    yield from daemon_set(after)


def daemon_set(spec: Object) -> Iterator[Cause]:
    """Return the faults of the spec of a daemon set."""
    selector = spec.get("selector")
    yield from label_selector(selector, "spec.selector")
    if selector is None or not is_empty(selector):
        yield from _does_not_match(spec)
    else:
        yield invalid("spec.selector", shown("selector", selector), "empty selector is invalid for daemonset")
    yield from pod_template(part(spec, "template"), "spec.template")
    yield from _always(spec, "DaemonSet")
    yield from non_negative(spec, "spec", "minReadySeconds")
    yield from _daemon_set_strategy(part(spec, "updateStrategy"))
    yield from non_negative(spec, "spec", "revisionHistoryLimit")


def _daemon_set_strategy(strategy: Object) -> Iterator[Cause]:
    kind = strategy.get("type", "")
    if kind == "OnDelete":
        return
    if kind != "RollingUpdate":
        value = shown("DaemonSetUpdateStrategy", strategy)
        yield not_supported("spec.updateStrategy", value, ("RollingUpdate", "OnDelete"))
        return
    place, rolling = "spec.updateStrategy.rollingUpdate", strategy.get("rollingUpdate")
    if rolling is None:
        yield required(place)
        return
    unavailable, surge = rolling.get("maxUnavailable", 0), rolling.get("maxSurge", 0)
    for rule in (count_or_percent, at_most_all):
        yield from rule(unavailable, f"{place}.maxUnavailable")
        yield from rule(surge, f"{place}.maxSurge")
    if amount(unavailable) and amount(surge):
        yield invalid(f"{place}.maxSurge", surge, "may not be set when maxUnavailable is non-zero")
    elif not amount(unavailable) and not amount(surge):
        yield required(f"{place}.maxUnavailable", "cannot be 0 when maxSurge is 0")


def stateful_set(spec: Object, *, is_new: bool) -> Iterator[Cause]:
    """Return the faults of the spec of a stateful set; parts that never change are only checked when it is new."""
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
    yield from _selector(spec, "statefulset")
    selector, template = spec.get("selector"), part(spec, "template")
    if selector and compiled(selector) is None:
        yield Cause(
            "FieldValueInvalid", f"Invalid value: {bytes(shown('selector', selector)).decode()}", "spec.selector"
        )
    else:
        if selector is None or not is_empty(selector):
            yield from _does_not_match(spec)
        yield from pod_template(_with_claims(template, spec.get("volumeClaimTemplates") or ()), "spec.template")
        # A real server checks the metadata of the template once more.
        yield from template_metadata(template, "spec.template")
    yield from _always(spec, "StatefulSet")


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


def stateful_set_change(before: Object, after: Object) -> list[Cause]:
    """Return the cause of a change of a field that a stateful set keeps."""
    old, new = ({name: value for name, value in spec.items() if name not in _CHANGEABLE} for spec in (before, after))
    return [] if old == new else [forbidden("spec", _FIXED)]


def replication_controller(spec: Object) -> Iterator[Cause]:
    """Return the faults of the spec of a replication controller, whose selector is a map of labels."""
    yield from non_negative(spec, "spec", "minReadySeconds")
    selector, template = spec.get("selector") or {}, spec.get("template")
    if not selector:
        yield required("spec.selector")
    yield from non_negative(spec, "spec", "replicas")
    if template is None:
        yield required("spec.template")
        return
    labels = part(template, "metadata").get("labels") or {}
    if not selector.items() <= labels.items():
        yield invalid("spec.template.metadata.labels", shown_labels(labels), _NO_MATCH)
    yield from pod_template(template, "spec.template")
    yield from _always(spec, "ReplicationController")


def same_selector(before: Object, after: Object) -> list[Cause]:
    """Return the cause of a changed selector."""
    old, new = before.get("selector"), after.get("selector")
    return unchanged(old, new, "spec.selector", shown("*selector", new))


def counts(
    status: Object, names: Sequence[str], whole: Sequence[str] = (), ready: str = "readyReplicas"
) -> Iterator[Cause]:
    """Return the faults of the numbers in a status.

    Args:
        status: The status.
        names: The fields that are not negative.
        whole: The fields that are at most `replicas`.
        ready: How messages name the field that `availableReplicas` may not exceed.
    """
    yield from non_negative(status, "status", *names)
    replicas = status.get("replicas", 0)
    for name in whole:
        if (value := status.get(name, 0)) > replicas:
            yield invalid(f"status.{name}", value, "cannot be greater than status.replicas")
    available = status.get("availableReplicas", 0)
    if whole and available > status.get("readyReplicas", 0):
        yield invalid("status.availableReplicas", available, f"cannot be greater than {ready}")


def collisions(before: Object, after: Object) -> list[Cause]:
    """Return the cause of a counter of name collisions that went down."""
    old, new = before.get("collisionCount"), after.get("collisionCount")
    if old is None or (new is not None and new >= old):
        return []
    return [invalid("status.collisionCount", new or 0, "cannot be decremented")]
