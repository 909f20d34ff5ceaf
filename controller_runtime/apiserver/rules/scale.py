# SPDX-License-Identifier: Apache-2.0
"""Scales: what runs in many replicas, seen and written as nothing but their number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controller_runtime.apiserver import status
from controller_runtime.apiserver.kinds.kind import Kind
from controller_runtime.apiserver.kinds.parts import SCALE
from controller_runtime.apiserver.rules.label_match import selector_text
from controller_runtime.apiserver.rules.rules import Object, part
from controller_runtime.apiserver.rules.validation import invalid

_SHOWN = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
_ASKED = ("name", "namespace", "uid", "resourceVersion")


def scale_of(kind: Kind, obj: Object) -> dict[str, Any]:
    """The scale of a workload; its parts are new, `obj` is not shared."""
    metadata, paths = obj["metadata"], kind.scale
    shown: dict[str, Any] = {"replicas": _at(obj, paths.present) or 0}
    selector = _at(obj, paths.selector) or {}
    if isinstance(selector, str):
        shown["selector"] = selector
    elif kind.definition is None and (text := selector_text(selector)):
        shown["selector"] = text
    replicas = _at(obj, paths.wanted) or 0
    return {
        "metadata": {name: metadata[name] for name in _SHOWN if name in metadata},
        "spec": {"replicas": replicas} if replicas else {},  # zero is left out, as a real server does
        "status": shown,
    }


def scale_to_show(kind: Kind, obj: Object) -> dict[str, Any]:
    """The scale of a workload, if it has one.

    Raises:
        StatusError: 500, an object of a custom kind does not say how many replicas it wants.
    """
    if kind.definition is not None and _at(obj, kind.scale.wanted) is None:
        raise status.internal(f'the spec replicas field ".{".".join(kind.scale.wanted)}" does not exist')
    return scale_of(kind, obj)


def scaled(kind: Kind, obj: Object, scale: Object) -> dict[str, Any]:
    """A workload as a scale wants it: with its number, and with the name, uid and version it names.

    Args:
        kind: Of the workload.
        obj: The workload as stored.
        scale: From `decode` or `admit`.

    Raises:
        StatusError: 422, its number is negative.
    """
    replicas = part(scale, "spec").get("replicas", 0)
    if replicas < 0:
        cause = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise status.invalid(SCALE, obj["metadata"]["name"], [cause])
    kept = {name: value for name, value in obj["metadata"].items() if name not in _ASKED}
    asked = {name: value for name, value in scale["metadata"].items() if name in _ASKED}
    return {**_with(obj, kind.scale.wanted, replicas), "metadata": {**kept, **asked}}


def scale_applied(kind: Kind, config: Object) -> dict[str, Any]:
    """What the configuration of a scale says of the workload."""
    spec = part(config, "spec")
    said = _with({}, kind.scale.wanted, spec["replicas"]) if "replicas" in spec else {}
    return {"metadata": {name: value for name, value in config["metadata"].items() if name in _SHOWN}, **said}


def _at(obj: Object, path: Sequence[str]) -> Any:
    value: Any = obj if path else None
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


def _with(obj: Object, path: Sequence[str], value: object) -> dict[str, Any]:
    """`obj` with a value at a path."""
    step, *rest = path
    inner = obj.get(step)  # what is no object gives way, and the schema tells what it thinks of that
    return {**obj, step: _with(inner if isinstance(inner, Mapping) else {}, rest, value) if rest else value}
