# SPDX-License-Identifier: Apache-2.0
"""Reads the schemas in a source tree of Kubernetes: the file `zz_generated.openapi.go`, as OpenAPI v3 has them.

The file is one composite literal for each type. Types whose schema is computed by their code have no literal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

_TOKEN = re.compile(r'\s*(?:("(?:[^"\\]|\\.)*")|(-?\d[\w.]*)|([A-Za-z_][\w.]*)|(.))', re.S)
_NAMED = re.compile(r'^\t\t(?:"([^"]+)"|([\w.]+)\{\}\.OpenAPIModelName\(\)): +(\w+)\(ref\),$', re.M)
_IMPORT = re.compile(r'^\t(\w+)? ?"([\w./-]+)"$', re.M)
_FUNCTION = re.compile(r"^func (\w+)\(ref common\.ReferenceCallback\).*?^}\n", re.M | re.S)
_REF = "#/components/schemas/"
_WORDS = {"true": True, "false": False, "nil": None}
Schema = dict[str, Any]


class _ComputedError(Exception):
    """The value is that of a function."""


class _Literals:
    """Reads Go's composite literals as Python's values."""

    def __init__(self, text: str, names: Mapping[str, str]) -> None:
        self._tokens = [one.group(1, 2, 3, 4) for one in _TOKEN.finditer(text)]
        self._at, self._names = 0, names

    def _is(self, sign: str) -> bool:
        if self._at < len(self._tokens) and self._tokens[self._at][3] == sign:
            self._at += 1
            return True
        return False

    def _pair(self, opening: str, closing: str) -> None:
        self._is(opening)
        self._is(closing)

    def value(self) -> Any:
        """Return the value that begins here."""
        self._is("&")
        while self._is("["):  # the type of a list or a map
            while not self._is("]"):
                self._at += 1
        text, number, name, _ = self._tokens[self._at]
        if text:
            self._at += 1
            return json.loads(text)
        if number:
            self._at += 1
            return float(number) if "." in number else int(number)
        if name == "map":
            self._at += 1
            return self.value()
        if name:
            self._at += 1
        if name == "interface":
            self._pair("{", "}")
        if self._is("("):
            return self._call(name)
        if self._is("{"):
            return self._braces(name)
        if name in _WORDS:
            return _WORDS[name]
        raise _ComputedError(name)

    def _call(self, name: str | None) -> Any:
        if name != "ref":
            raise _ComputedError(name)
        found = self.value()
        self._is(")")
        return _REF + (found if isinstance(found, str) and found.startswith("io.") else model_name(found))

    def _braces(self, name: str | None) -> Any:
        found: dict[str, Any] = {}
        items: list[Any] = []
        while not self._is("}"):
            key = self._key()
            if key is None:
                items.append(self.value())
            else:
                found[key] = self.value()
            self._is(",")
        if self._is("."):  # a method of an empty value
            method = self._tokens[self._at][2]
            self._at += 1
            self._pair("(", ")")
            if method != "OpenAPIModelName":
                raise _ComputedError(method)
            return self._names[name or ""]
        return items or found

    def _key(self) -> str | None:
        text, _, name, _ = self._tokens[self._at]
        if (text or name) and self._tokens[self._at + 1][3] == ":":
            self._at += 2
            return json.loads(text) if text else name
        return None


def model_name(path: str) -> str:
    """Return the name of a Go type in OpenAPI: `k8s.io/api/core/v1.Pod` is `io.k8s.api.core.v1.Pod`."""
    if "/" not in path:
        return path
    host, _, rest = path.partition("/")
    return ".".join([*reversed(host.split(".")), *rest.split("/")])


def _plain(literal: Any) -> Schema:
    """Return a `spec.Schema` as OpenAPI v3 has it."""
    props, found = literal.get("SchemaProps", {}), dict(literal.get("VendorExtensible", {}).get("Extensions", {}))
    for name, field in _FIELDS.items():
        if props.get(name) not in (None, "", []) or (name == "Default" and name in props):
            found[field] = props[name]
    if "type" in found:
        found["type"] = found["type"][0]
    if "Properties" in props:
        found["properties"] = {name: _plain(child) for name, child in props["Properties"].items()}
    if "Items" in props:
        found["items"] = _plain(props["Items"]["Schema"])
    if "AdditionalProperties" in props:
        found["additionalProperties"] = _plain(props["AdditionalProperties"]["Schema"])
    if "Ref" in props:
        reference = {"$ref": props["Ref"]}
        found = {**found, "allOf": [reference]} if found else reference
    return found


_FIELDS = {
    "Description": "description",
    "Type": "type",
    "Format": "format",
    "Default": "default",
    "Enum": "enum",
    "Required": "required",
    "MinItems": "minItems",
    "MaxItems": "maxItems",
}


def _names(text: str) -> dict[str, str]:
    """Return the OpenAPI name of each Go type by its name in the file, such as `v1.Pod`."""
    paths = {alias or path.rpartition("/")[2]: path for alias, path in _IMPORT.findall(text)}
    found = {}
    for used in set(re.findall(r"([\w]+\.\w+)\{\}\.OpenAPIModelName\(\)", text)):
        package, _, name = used.partition(".")
        found[used] = model_name(f"{paths[package]}.{name}")
    return found


def schemas(text: str) -> Iterator[tuple[str, Schema | None]]:
    """Yield each type of the file with its schema; None for one whose schema its code computes."""
    names = _names(text)
    functions = {one.group(1): one.group() for one in _FUNCTION.finditer(text)}
    for path, used, function in _NAMED.findall(text):
        body = functions[function].partition("Schema: ")[2]
        try:
            yield model_name(path) if path else names[used], _plain(_Literals(body, names).value())
        except _ComputedError:
            yield model_name(path) if path else names[used], None
