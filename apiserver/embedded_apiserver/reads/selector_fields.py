# SPDX-License-Identifier: Apache-2.0
"""The fields that field selectors may name, and their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from embedded_apiserver import status
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object


def supported_fields(kind: Kind) -> tuple[str, ...]:
    """Return the paths of the fields that a field selector for this kind may name."""
    # The rule of a real server for kinds without one of their own does not ask whether they have namespaces.
    has_namespace = kind.namespaced or (kind.names_known_fields and kind.definition is None)
    return ("metadata.name", *(("metadata.namespace",) if has_namespace else ()), *kind.fields)


def fields_for_selector(kind: Kind, obj: Object) -> dict[str, str]:
    """Return the values of the `supported_fields` by path, as texts; a cluster-scoped object has no namespace there."""
    metadata = obj["metadata"]
    fields = {"metadata.name": metadata["name"]}
    if kind.namespaced:
        fields["metadata.namespace"] = metadata["namespace"]
    for path, absent in kind.fields.items():
        value: Any = obj
        for step in kind.field_paths.get(path, path).split("."):
            value = value.get(step) if isinstance(value, Mapping) else None
        fields[path] = _text(value, absent)
    return fields


def _text(value: object, absent: str) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return value
        case int():
            return str(value)
    return absent  # missing, or a list or an object, which no string equals


def check_fields(kind: Kind, fields: Sequence[str]) -> None:
    """Refuse a field selector if a field that it names is not in `supported_fields(kind)`.

    Raises:
        StatusError: 400, a field is not supported; the message is that of a real API server for this kind.
    """
    supported = supported_fields(kind)
    for field in fields:
        if field in supported:
            continue
        if kind.unknown_field:
            raise status.bad_request(kind.unknown_field.format(field))
        if kind.names_known_fields:
            known = ", ".join(f'"{name}"' for name in supported)
            raise status.bad_request(f'"{field}" is not a known field selector: only {known}')
        raise status.bad_request(f"field label not supported: {field}")
