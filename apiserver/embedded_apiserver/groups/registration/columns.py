# SPDX-License-Identifier: Apache-2.0
"""Cells of webhooks and policies of admission, and of API services."""

from __future__ import annotations

from typing import Any

from embedded_apiserver.kinds.cells import (
    AGE,
    NAME,
    NAMED,
    Cells,
    count_of,
    of,
    value_at,
)
from embedded_apiserver.objects import Object

_UNSET = "<unset>"


def _param_kind(obj: Object) -> str:
    kind = value_at(obj, "spec.paramKind")
    return _UNSET if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"


def _param_ref(obj: Object) -> str:
    ref = value_at(obj, "spec.paramRef") or {}
    if name := ref.get("name"):
        return f"{ref.get('namespace') or '*'}/{name}"
    return _UNSET if (selector := ref.get("selector")) is None else _selector(selector)


def _selector(selector: dict[str, Any]) -> str:
    """Return a selector as Go prints it."""
    labels = "".join(f"{name}: {value}," for name, value in sorted((selector.get("matchLabels") or {}).items()))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{one['key']},Operator:{one['operator']},"
        f"Values:[{' '.join(one.get('values') or ())}],}},"
        for one in selector.get("matchExpressions") or ()
    )
    found = f"MatchLabels:map[string]string{{{labels}}},MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},"
    return f"&LabelSelector{{{found}}}"


def _service(api: Object) -> str:
    if (ref := value_at(api, "spec.service")) is None:
        return "Local"
    return f"{ref.get('namespace', '')}/{ref.get('name', '')}"


def _available(api: Object) -> str:
    conditions = value_at(api, "status.conditions") or ()
    found: Object = next((one for one in conditions if one.get("type") == "Available"), {})
    if not found:
        return "Unknown"
    state: str = found.get("status", "")
    return state if state == "True" else f"{state} ({found.get('reason', '')})"


CONFIGURATIONS: Cells = {**NAMED, "Webhooks": count_of("webhooks")}
POLICIES: Cells = {
    "Name": NAME,
    "Age": AGE,
    "ParamKind": of(_param_kind),
    "Validations": count_of("spec.validations"),
    "Mutations": count_of("spec.mutations"),
}
BINDINGS: Cells = {
    "Name": NAME,
    "Age": AGE,
    "PolicyName": of(lambda obj: str(value_at(obj, "spec.policyName") or "")),
    "ParamRef": of(_param_ref),
}
API_SERVICES: Cells = {**NAMED, "Service": of(_service), "Available": of(_available)}
