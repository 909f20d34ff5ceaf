# SPDX-License-Identifier: Apache-2.0
"""The difference that a plan makes to one object, as people read it. Pure functions.

Fields that the server changes with each write are left out, as by `kubectl diff`, and so are times: a time that is
written again tells nothing. The values of Secrets are masked.
"""

from __future__ import annotations

import difflib
import enum
import re
from collections.abc import Mapping
from typing import Any

import attrs
import yaml

from apimachinery.equality import same_json
from controller_runtime.planning.outcomes import meta_of
from controller_runtime.planning.overlay import BlindSpot, Object, PlannedObject, Work

_NOISE = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d\S*")
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_EVENTS = ("", "events.k8s.io")
_DUMPER: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # the one in C where the wheel has it: ten times as fast
_CONTEXT = 3  # lines around each change, as `diff -u` has


class PlannedAction(enum.Enum):
    """The kind of a planned change."""

    CREATE = "create"
    UPDATE = "update"
    DELETE = "delete"


@attrs.frozen
class PlannedDifference:
    """The change that a plan makes to one object.

    Attributes:
        action: The kind of change.
        api_version: The object's `apiVersion`.
        kind: The object's kind.
        namespace: The object's namespace; empty if it is cluster-scoped.
        name: The object's name; a name that the server generates ends in `*`.
        before: The state at the server; None if the object is created. Irrelevant fields are removed, and Secrets are
            masked.
        after: The state at the end of the plan; None if the object does not exist then.
        blind: The effects that the plan could not predict.
        works: The reconciles that wrote the object.
    """

    action: PlannedAction
    api_version: str
    kind: str
    namespace: str
    name: str
    before: Object | None
    after: Object | None
    blind: tuple[tuple[BlindSpot, str], ...]
    works: tuple[Work, ...]

    @property
    def title(self) -> str:
        """The version, kind, namespace and name in one text, in the style of `kubectl diff`."""
        version = self.api_version.replace("/", ".")
        return ".".join(part for part in (version, self.kind, self.namespace, self.name) if part)

    def text(self) -> str:
        """Return the unified diff of the two states as YAML."""
        lines = difflib.unified_diff(
            _yaml(self.before), _yaml(self.after), f"LIVE/{self.title}", f"PLAN/{self.title}", lineterm="", n=_CONTEXT
        )
        return "\n".join(lines)


def difference_of(planned: PlannedObject) -> PlannedDifference | None:
    """Return how the planned state of an object differs from its state at the server.

    Return None if only irrelevant fields or times differ, for an Event, and for an object that is created and deleted.
    """
    live, state = planned.live, planned.state
    if planned.target.plural == "events" and planned.target.group in _EVENTS:
        return None
    if live is None and state is None:  # created and deleted in one pass
        return None
    before: Object | None = _readable(live)
    after: Object | None = _readable(state)
    if before is not None and after is not None:
        after = _with_old_times(before, after)
        if same_json(before, after, exact=False):
            return None
    shown = state if state is not None else live
    assert shown is not None, "one of the two is there"
    name = f"{planned.generate_name}*" if planned.generate_name else planned.target.name
    if planned.generate_name and after is not None:
        after = {**after, "metadata": {**after["metadata"], "name": name}}
    kind = str(shown.get("kind") or planned.target.plural)
    if kind == "Secret" and not planned.target.group:
        before, after = masked(before, after)
    api_version, namespace = planned.target.api_version, planned.target.namespace
    action = _action(live, state)
    return PlannedDifference(action, api_version, kind, namespace, name, before, after, planned.blind, planned.works)


def _action(live: Object | None, state: Object | None) -> PlannedAction:
    if live is None:
        return PlannedAction.CREATE
    if state is None or ("deletionTimestamp" in meta_of(state) and "deletionTimestamp" not in meta_of(live)):
        return PlannedAction.DELETE
    return PlannedAction.UPDATE


def masked(before: Object | None, after: Object | None) -> tuple[Object | None, Object | None]:
    """Return two states of a Secret with masked values; a changed value is recognizable, as in `kubectl diff`."""
    fields = ("data", "stringData")
    values = [{field: (state or {}).get(field) or {} for field in fields} for state in (before, after)]

    def hidden(state: Object | None, own: Mapping[str, Any], other: Mapping[str, Any], when: str) -> Object | None:
        if state is None:
            return None
        result = {**state}
        for field in fields:
            if state.get(field):
                result[field] = {
                    name: f"*** ({when})" if name in other[field] and other[field][name] != value else "***"
                    for name, value in own[field].items()
                }
        annotations = meta_of(state).get("annotations") or {}
        if _LAST_APPLIED in annotations:
            result["metadata"] = {**meta_of(state), "annotations": {**annotations, _LAST_APPLIED: "***"}}
        return result

    old, new = values
    return hidden(before, old, new, "before"), hidden(after, new, old, "after")


def _readable(state: Object | None) -> dict[str, Any] | None:
    if state is None:
        return None
    metadata = {name: value for name, value in meta_of(state).items() if name not in _NOISE}
    return {**state, "metadata": metadata}


def _with_old_times(before: Any, after: Any) -> Any:
    """Return `after` with the times of `before` in the place of those that differ."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        return {name: _with_old_times(before.get(name), value) for name, value in after.items()}
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        return [_with_old_times(old, new) for old, new in zip(before, after, strict=True)]
    return before if _is_time(before) and _is_time(after) else after


def _is_time(value: object) -> bool:
    return isinstance(value, str) and _TIME.fullmatch(value) is not None


def _yaml(state: Object | None) -> list[str]:
    return [] if state is None else yaml.dump(state, Dumper=_DUMPER, allow_unicode=True, width=10_000).splitlines()
