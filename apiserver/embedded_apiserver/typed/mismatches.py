# SPDX-License-Identifier: Apache-2.0
"""The errors for which a value cannot be merged: server-side apply needs typed values.

An applied configuration is checked before it is merged, and a stored object before it is compared in another API
version of its kind. The words are those of a real API server, which shows values in the syntax of Go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from apimachinery.schema import Schema
from embedded_apiserver.typed.fieldset import Path, field_step, text_of
from embedded_apiserver.typed.fieldtree import step_to
from embedded_apiserver.typed.go_values import literal, plain, type_of

# Types whose values are checked when the merged object is read.
_ANY_SCALAR = (
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    "io.k8s.apimachinery.pkg.api.resource.Quantity",
)
_UNTYPED = (
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
    "io.k8s.apimachinery.pkg.runtime.RawExtension",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
)
_SCALARS = ("string", "integer", "number", "boolean")


def errors(schema: Schema | None, value: Any, path: Path = ()) -> Iterator[str]:
    """Yield the errors of a value by its type, each with its path.

    They include undeclared fields and elements that cannot be told apart. Null is valid for every type, but not as an
    element of a list with keys or of a set.

    Args:
        schema: The type of the value; None for any type.
        value: The value to check.
        path: The path of the value.
    """
    if schema is None or value is None or schema.name in _UNTYPED:
        return
    is_text = schema.type == "string" and schema.format not in ("", "byte")  # which is any scalar for a real server
    if is_text or schema.format == "int-or-string" or schema.name in _ANY_SCALAR:
        if type(value) in (dict, list):
            yield f"{text_of(path)}: expected any scalar, got &{{{plain(value)}}}"
    elif schema.type in _SCALARS:
        if (text := _scalar_error(schema.type, value)) is not None:
            yield f"{text_of(path)}: {text}"
    elif schema.type == "object":
        if type(value) is dict:
            yield from _field_errors(schema, value, path)
        else:
            yield f"{text_of(path)}: expected map, got &{{{plain(value)}}}"
    elif schema.type == "array":
        if type(value) is list:
            yield from _element_errors(schema, value, path)
        else:
            yield f"{text_of(path)}: expected list, got &{{{plain(value)}}}"


def _scalar_error(wanted: str, value: Any) -> str | None:
    match wanted:
        case "string" if type(value) is not str:
            return f"expected string, got &value.valueUnstructured{{Value:{literal(value)}}}"
        case "integer" | "number" if type(value) not in (int, float):
            return f"expected numeric (int or float), got {type_of(value)}"
        case "boolean" if type(value) is not bool:
            return f"expected boolean, got &{{{plain(value)}}}"
    return None


def _field_errors(schema: Schema, value: dict[str, Any], path: Path) -> Iterator[str]:
    is_open = not schema.properties and schema.additional is None
    for name, item in value.items():
        here = (*path, field_step(name))
        child = schema.properties.get(name) or schema.additional
        if child is None and not is_open:
            yield f"{text_of(here)}: field not declared in schema"
        else:
            yield from errors(child, item, here)


def _element_errors(schema: Schema, value: list[Any], path: Path) -> Iterator[str]:
    seen = set()
    for index, item in enumerate(value):
        step = f"i:{index}"
        if schema.list_type in ("map", "set"):
            if (text := _keyless(schema, item)) is not None:
                yield f"{text_of(path)}: element {index}: {text}"
                return  # a real server looks no further in this list
            step = step_to(schema, item)
            if step in seen:
                yield f"{text_of(path)}: duplicate entries for key {text_of((step,))}"
            seen.add(step)
        yield from errors(schema.items, item, (*path, step))


def _keyless(schema: Schema, item: Any) -> str | None:
    """Return why an element of a list with keys, or of a set, cannot be told apart from others; None if it can."""
    if schema.list_type == "set":
        if item is None:
            return "associative list without keys has an element that's an explicit null"
        if type(item) is dict:
            return "associative list without keys has an element that's a map type"
        return "not supported: associative list with lists as elements" if type(item) is list else None
    if item is None:
        return "associative list with keys may not have a null element"
    if type(item) is not dict:
        return "associative list with keys may not have non-map elements"
    if step_to(schema, item) == "k:{}" and not item.keys() & set(schema.list_keys):
        keys = " ".join(f'"{name}"' for name in schema.list_keys)
        return (
            f"associative list with keys has an element that omits all key fields [{keys}] "
            "(and doesn't have default values for any key fields)"
        )
    return None
