# SPDX-License-Identifier: Apache-2.0
"""Rules of the kinds that keep pods running: selectors, templates, strategies, numbers in their status."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embedded_apiserver.causes import forbidden, invalid, not_supported, required
from embedded_apiserver.checks.basic import amount, at_most_all, count_or_percent, non_negative, unchanged
from embedded_apiserver.checks.selectors import compiled, is_empty, label_selector, shown_labels
from embedded_apiserver.groups.pods.pods import pod_template
from embedded_apiserver.kinds.checks import Change
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.go_structs import shown

_NO_MATCH = "`selector` does not match template `labels`"


def selected(spec: Object, noun: str) -> Iterator[Cause]:
    """Return the validation errors of the label selector of a workload's spec; `noun` names the workload in
    messages.
    """
    selector = spec.get("selector")
    if selector is None:
        yield required("spec.selector")
        return
    yield from label_selector(selector, "spec.selector")
    if is_empty(selector):
        yield invalid("spec.selector", shown("selector", selector), f"empty selector is invalid for {noun}")


def does_not_match(spec: Object) -> Iterator[Cause]:
    """Return a validation error if the selector does not match the pod template; a missing selector matches none."""
    selector = compiled(spec.get("selector"))
    labels = part(part(spec, "template"), "metadata").get("labels") or {}
    if spec.get("selector") is None or (selector is not None and not selector.matches(labels)):
        yield invalid("spec.template.metadata.labels", shown_labels(labels), _NO_MATCH)


def always(spec: Object, kind: str) -> Iterator[Cause]:
    """Return the validation errors of the pod template of a kind whose pods are always restarted."""
    pod = part(part(spec, "template"), "spec")
    if (policy := pod.get("restartPolicy", "")) != "Always":
        yield not_supported("spec.template.spec.restartPolicy", policy, ("Always",))
    if pod.get("activeDeadlineSeconds") is not None:
        text = f"activeDeadlineSeconds in {kind} is not Supported"
        yield forbidden("spec.template.spec.activeDeadlineSeconds", text)


def _matched_template(spec: Object, kind: str) -> Iterator[Cause]:
    """Return the validation errors of selector and template together; in the template only if the selector is valid."""
    selector = spec.get("selector")
    if selector and compiled(selector) is None:
        yield invalid("spec.selector", shown("*selector", selector), "invalid label selector")
        return
    if selector is None or not is_empty(selector):
        yield from does_not_match(spec)
    yield from pod_template(part(spec, "template"), "spec.template")
    yield from always(spec, kind)


def replica_set(spec: Object) -> Iterator[Cause]:
    """Return the validation errors of the spec of a ReplicaSet."""
    yield from non_negative(spec, "spec", "replicas", "minReadySeconds")
    yield from selected(spec, "deployment")
    yield from _matched_template(spec, "ReplicaSet")


def deployment(spec: Object) -> Iterator[Cause]:
    """Return the validation errors of the spec of a Deployment."""
    yield from non_negative(spec, "spec", "replicas")
    yield from selected(spec, "deployment")
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


def new_daemon_set(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a new DaemonSet."""
    return daemon_set(part(obj, "spec"))


def daemon_set_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a DaemonSet, beginning with the error for a changed selector."""
    before, after = part(old, "spec"), part(new, "spec")
    if before != after:
        yield from same_selector(before, after)
        yield from daemon_set(after)


def daemon_set(spec: Object) -> Iterator[Cause]:
    """Return the validation errors of the spec of a DaemonSet."""
    selector = spec.get("selector")
    yield from label_selector(selector, "spec.selector")
    if selector is None or not is_empty(selector):
        yield from does_not_match(spec)
    else:
        yield invalid("spec.selector", shown("selector", selector), "empty selector is invalid for daemonset")
    yield from pod_template(part(spec, "template"), "spec.template")
    yield from always(spec, "DaemonSet")
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


def replication_controller(spec: Object) -> Iterator[Cause]:
    """Return the validation errors of the spec of a ReplicationController, whose selector is a map of labels."""
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
    yield from always(spec, "ReplicationController")


def same_selector(before: Object, after: Object) -> list[Cause]:
    """Return a validation error if the selector has changed."""
    old, new = before.get("selector"), after.get("selector")
    return unchanged(old, new, "spec.selector", shown("*selector", new))


def counts(
    status: Object, names: Sequence[str], whole: Sequence[str] = (), ready: str = "readyReplicas"
) -> Iterator[Cause]:
    """Return the validation errors of the counters in a workload's status.

    Args:
        status: The status of the workload.
        names: The fields that must not be negative.
        whole: The fields that must not exceed `replicas`.
        ready: The name, in messages, of the field that `availableReplicas` must not exceed.
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
    """Return a validation error if the counter of name collisions has decreased."""
    old, new = before.get("collisionCount"), after.get("collisionCount")
    if old is None or (new is not None and new >= old):
        return []
    return [invalid("status.collisionCount", new or 0, "cannot be decremented")]


def counted(names: str, whole: str = "", ready: str = "readyReplicas", *, collides: bool = False) -> Change:
    """Return the validation rule for a status with counters; the arguments are those of `counts`, as texts with spaces.

    If `collides` is True, the counter of name collisions must not decrease.
    """

    def rule(old: Object, new: Object) -> Iterator[Cause]:
        yield from counts(part(new, "status"), names.split(), whole.split(), ready)
        if collides:
            yield from collisions(part(old, "status"), part(new, "status"))

    return rule
