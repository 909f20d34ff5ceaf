# SPDX-License-Identifier: Apache-2.0
"""The public conformance vectors of cel-spec that Kubernetes' environment can express."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from embedded_apiserver.cel import types
from embedded_apiserver.cel.calls import runtime_name
from embedded_apiserver.cel.declarations import Environment
from embedded_apiserver.cel.equality import equal
from embedded_apiserver.cel.errors import CompileError, EvaluationError
from embedded_apiserver.cel.library.libraries import LIBRARIES
from embedded_apiserver.cel.program import compile_expression
from embedded_apiserver.cel.standard import TYPE_NAMES
from embedded_apiserver.cel.values import Duration, Timestamp, Uint, type_of

DATA = Path(__file__).resolve().parents[2] / "data" / "cel_vectors.json"
PRINTED = {"timestamp": types.TIMESTAMP, "duration": types.DURATION, "null": types.NULL}
DIFFERENT = {
    "fields/qualified_identifier_resolution/map_value_repeat_key": "the last of equal keys counts",
    "fields/qualified_identifier_resolution/map_value_repeat_key_heterogeneous": "the last of equal keys counts",
    "type_deduction/legacy_nullable_types/null_assignable_to_abstract_parameter_candidate": "the type is that of null",
}
"""Vectors that go another way on a real server, with the reason."""


OLDER = ("string_ext/format", "string_ext/reverse", "string_ext/value_errors/")
"""The functions of texts are those of version 2, and the vectors those of a later one; recorded answers test them."""


@cache
def vectors() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(DATA.read_text(encoding="utf-8"))["vectors"]
    return {name: vector for name, vector in found.items() if not name.startswith(OLDER)}


def sections() -> list[str]:
    return sorted({name.rpartition("/")[0] for name in vectors()})


def made(value: list[Any]) -> Any:
    match value:
        case ["null"]:
            return None
        case ["uint", number]:
            return Uint(number)
        case ["double", text]:
            return float(text)
        case ["bytes", text]:
            return bytes.fromhex(text)
        case ["list", elements]:
            return [made(element) for element in elements]
        case ["map", entries]:
            return {made(key): made(element) for key, element in entries}
        case ["duration", number]:
            return Duration(number)
        case ["timestamp", number]:
            return Timestamp(number)
        case ["type", name]:
            return name
    return value[1]


def type_from(text: str) -> types.Type:
    """Return the type that a text prints."""
    name, opened, inner = text.partition("(")
    parameters = [type_from(part) for part in parts(inner[:-1])] if opened else []
    if name == "list":
        return types.list_of(*parameters)
    if name == "map":
        return types.map_of(*parameters)
    return PRINTED.get(name) or (types.opaque(name, *parameters) if parameters else TYPE_NAMES[name])


def parts(text: str) -> Iterator[str]:
    depth, begun = 0, 0
    for place, character in enumerate(text):
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and not depth:
            yield text[begun:place]
            begun = place + 2
    yield text[begun:]


def same(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, float):
        return isinstance(found, float) and (found == wanted or (math.isnan(found) and math.isnan(wanted)))
    if isinstance(found, types.Type):
        return runtime_name(found) == wanted
    return type_of(found).kind is type_of(wanted).kind and equal(found, wanted)


def outcome(vector: dict[str, Any]) -> str:
    """Return what is wrong with the outcome of a vector; empty if nothing is."""
    declared = {name: type_from(text) for name, text in vector.get("types", {}).items()}
    bindings = {name: made(value) for name, value in vector.get("bindings", {}).items()}
    environment = Environment({**dict.fromkeys(bindings, types.DYN), **declared}, [*LIBRARIES], homogeneous=False)
    try:
        program = compile_expression(vector["expression"], environment)
        if vector.get("type", str(program.type)) != str(program.type):
            return f"type {program.type}, not {vector['type']}"
        if "value" not in vector and "type" in vector:
            return ""
        found = program.evaluate(bindings)
    except (CompileError, EvaluationError) as error:
        return "" if "error" in vector else f"{type(error).__name__}: {error}"
    if "error" in vector:
        return f"{found!r}, not an error"
    wanted = made(vector["value"])
    return "" if same(found, wanted) else f"{found!r}, not {wanted!r}"


@pytest.mark.parametrize("section", sections())
def test_vectors_come_to_what_they_say(section: str) -> None:
    wrong = {}
    for name, vector in vectors().items():
        if name.rpartition("/")[0] == section and name not in DIFFERENT:
            found = outcome(vector)
            if found:
                wrong[name] = f"{vector['expression']}: {found}"
    assert wrong == {}
