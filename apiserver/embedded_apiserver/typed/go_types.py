# SPDX-License-Identifier: Apache-2.0
"""The Go types of fields, as the errors of a real API server's decoders name them.

Most follow from the published schemas. Types with a name of their own, such as `v1.Protocol`, are in
data/go_types.json, which `tests/tools/go_types.py` writes. The file is read only for an error.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from importlib import resources

from apimachinery.schema import Schema

_SCALARS = {"string": "string", "boolean": "bool", "number": "float64", "integer": "int64"}


def type_of(struct: str, field: str, schema: Schema) -> tuple[str, str]:
    """Return the embedded structs that contain a field, joined by slashes, and the field's Go type without a pointer.

    Args:
        struct: The name of the definition with the field.
        field: The name of the field.
        schema: The schema of the field.
    """
    embedded, _, kind = (_named().get(struct, {}).get(field) or plain_type(schema)).rpartition("/")
    return embedded, kind


def plain_type(schema: Schema) -> str:
    """Return the Go type that corresponds to a schema, such as `[]v1.Container` or `int32`."""
    if schema.name:
        return ".".join(schema.name.split(".")[-2:])
    if schema.items is not None:
        return f"[]{plain_type(schema.items)}"
    if schema.additional is not None:
        return f"map[string]{plain_type(schema.additional)}"
    if schema.format == "byte":
        return "[]uint8"
    return schema.format if schema.format == "int32" else _SCALARS.get(schema.type, "interface {}")


def element_of(kind: str, schema: Schema) -> str:
    """Return the Go type of the elements of a list or map of type `kind`, whose elements have this schema."""
    return kind.partition("]")[2].removeprefix("*") if kind.startswith(("[]", "map[")) else plain_type(schema)


@functools.cache
def _named() -> Mapping[str, Mapping[str, str]]:
    data = resources.files("embedded_apiserver.typed").joinpath("data/go_types.json").read_text("utf-8")
    return {name: dict(one.split(":", 1) for one in text.split()) for name, text in json.loads(data).items()}
