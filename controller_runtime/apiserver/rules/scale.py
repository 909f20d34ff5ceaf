# SPDX-License-Identifier: Apache-2.0
"""Scales: what runs in many replicas, seen and written as nothing but their number."""

from __future__ import annotations

from typing import Any

from controller_runtime.apiserver import status
from controller_runtime.apiserver.kinds.parts import SCALE
from controller_runtime.apiserver.rules.label_match import selector_text
from controller_runtime.apiserver.rules.rules import Object, part
from controller_runtime.apiserver.rules.validation import invalid

_SHOWN = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
_ASKED = ("name", "namespace", "uid", "resourceVersion")


def scale_of(obj: Object) -> dict[str, Any]:
    """The scale of a workload; its parts are new, `obj` is not shared."""
    metadata, spec = obj["metadata"], part(obj, "spec")
    shown: dict[str, Any] = {"replicas": part(obj, "status").get("replicas", 0)}
    if selector := selector_text(spec.get("selector") or {}):
        shown["selector"] = selector
    replicas = spec.get("replicas", 0)
    return {
        "metadata": {name: metadata[name] for name in _SHOWN if name in metadata},
        "spec": {"replicas": replicas} if replicas else {},  # zero is left out, as a real server does
        "status": shown,
    }


def scaled(obj: Object, scale: Object) -> dict[str, Any]:
    """A workload as a scale wants it: with its number, and with the name, uid and version it names.

    Args:
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
    return {**obj, "metadata": {**kept, **asked}, "spec": {**part(obj, "spec"), "replicas": replicas}}


def scale_applied(config: Object) -> dict[str, Any]:
    """What the configuration of a scale says of the workload."""
    spec = part(config, "spec")
    said = {"spec": {"replicas": spec["replicas"]}} if "replicas" in spec else {}
    return {"metadata": {name: value for name, value in config["metadata"].items() if name in _SHOWN}, **said}
