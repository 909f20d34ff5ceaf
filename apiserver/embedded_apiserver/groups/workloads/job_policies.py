# SPDX-License-Identifier: Apache-2.0
"""Rules of the policies of a job: what failed pods mean, and when it has succeeded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embedded_apiserver.causes import duplicate, invalid, invalid_part, required, too_many
from embedded_apiserver.checks.basic import given_one_of, non_negative, one_of, qualified_name
from embedded_apiserver.groups.workloads.indexes import indexes_in
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_STATUSES = ("False", "True", "Unknown")


def _quoted(words: Sequence[str]) -> str:
    return " ".join(f'"{word}"' for word in words)


def failure_policy(spec: Object, policy: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of a Job's `podFailurePolicy`; `place` is the path of its rules."""
    rules, pod = policy.get("rules") or (), part(part(spec, "template"), "spec")
    names = {one.get("name", "") for group in ("containers", "initContainers") for one in pod.get(group) or ()}
    if len(rules) > 20:
        yield too_many(place, len(rules), 20)
    for index, rule in enumerate(rules):
        field, action = f"{place}[{index}]", rule.get("action", "")
        codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
        if not action:
            yield required(f"{field}.action", f"valid values: [{_quoted(_ACTIONS)}]")
        elif action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
            yield invalid(f"{field}.action", action, "requires the backoffLimitPerIndex to be set")
        else:
            yield from one_of(action, _ACTIONS, f"{field}.action")
        if codes is not None:
            yield from _exit_codes(codes, names, f"{field}.onExitCodes")
        yield from _pod_conditions(conditions, f"{field}.onPodConditions")
        if codes is not None and conditions:
            yield invalid_part(field, "specifying both OnExitCodes and OnPodConditions is not supported")
        if codes is None and not conditions:
            yield invalid_part(field, "specifying one of OnExitCodes and OnPodConditions is required")


def _pod_conditions(conditions: Sequence[Object], place: str) -> Iterator[Cause]:
    if len(conditions) > 20:
        yield too_many(place, len(conditions), 20)
    for index, pattern in enumerate(conditions):
        field, status = f"{place}[{index}]", pattern.get("status", "")
        yield from qualified_name(pattern.get("type", ""), f"{field}.type")
        yield from given_one_of(status, _STATUSES, f"{field}.status")


def _exit_codes(codes: Object, names: set[str], place: str) -> Iterator[Cause]:
    operator, values, name = codes.get("operator", ""), codes.get("values") or (), codes.get("containerName")
    if not operator:
        yield required(f"{place}.operator", f"valid values: [{_quoted(('In', 'NotIn'))}]")
    else:
        yield from one_of(operator, ("In", "NotIn"), f"{place}.operator")
    if name is not None and name not in names:
        text = "must be one of the container or initContainer names in the pod template"
        yield invalid(f"{place}.containerName", name, text)
    if not values:
        yield invalid(f"{place}.values", codes.get("values"), "at least one value is required")
    elif len(values) > 255:
        yield too_many(f"{place}.values", len(values), 255)
    seen = set()
    for index, value in enumerate(values):
        if operator == "In" and value == 0:
            yield invalid(f"{place}.values[{index}]", value, "must not be 0 for the In operator")
        if value in seen:
            yield duplicate(f"{place}.values[{index}]", value)
        seen.add(value)
    if list(values) != sorted(values):
        yield invalid(f"{place}.values", values, "must be ordered")


def success_policy(spec: Object, policy: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of an indexed Job's `successPolicy`; `place` is the path of its rules."""
    rules, completions = policy.get("rules") or (), spec.get("completions") or 0
    if not rules:
        yield required(place, "at least one rules must be specified when the successPolicy is specified")
    if len(rules) > 20:
        yield too_many(place, len(rules), 20)
    for index, rule in enumerate(rules):
        field, count, indexes = f"{place}[{index}]", rule.get("succeededCount"), rule.get("succeededIndexes")
        total = 0
        if count is None and indexes is None:
            yield required(field, "at least one of succeededCount or succeededIndexes must be specified")
        if indexes is not None:
            try:
                total = indexes_in(indexes, completions)
            except ValueError as error:
                yield invalid(f"{field}.succeededIndexes", indexes, f"error parsing succeededIndexes: {error}")
        if count is None:
            continue
        yield from non_negative(rule, field, "succeededCount")
        if count > completions:
            text = f"must be less than or equal to {completions} (the number of specified completions)"
            yield invalid(f"{field}.succeededCount", count, text)
        if indexes is not None and count > total:
            text = f"must be less than or equal to {total} "
            text += "(the number of indexes in the specified succeededIndexes field)"
            yield invalid(f"{field}.succeededCount", count, text)
