# SPDX-License-Identifier: Apache-2.0
"""The faults of expressions, in the words of a real server (1.36.2), which was asked each in a definition."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from kit.contract.engines import WITH_RE2

from embedded_apiserver.cel import types
from embedded_apiserver.cel.declarations import Environment, Function, Library, Overload
from embedded_apiserver.cel.errors import CompileError, InstantiationError
from embedded_apiserver.cel.program import compile_expression
from embedded_apiserver.cel.types import Field, Type

RECORDED: dict[str, str] = json.loads(
    (Path(__file__).resolve().parents[2] / "data" / "cel_refusals.json").read_text(encoding="utf-8")
)
ELEMENT = types.object_of("selfType.o.@idx", {"k": Field(types.STRING, "k"), "v": Field(types.INT, "v")})
FIELDS: dict[str, Type] = {
    "n": types.INT,
    "s": types.STRING,
    "d": types.DOUBLE,
    "b": types.BOOL,
    "m": types.map_of(types.STRING, types.INT),
    "l": types.list_of(types.STRING),
    "namespace": types.STRING,
    "__namespace__": types.STRING,
    "u": types.STRING,
    "o": types.list_of(ELEMENT),
    "t": types.TIMESTAMP,
    "du": types.DURATION,
    "ios": types.DYN,
    "x": types.object_of("selfType.x", {}),
}
SELF = types.object_of("selfType", {name: Field(of, name) for name, of in FIELDS.items()})
_T, _U = types.parameter("T"), types.parameter("U")
LIBRARY = Library(
    functions=(
        Function(
            "@sortByAssociatedKeys",
            (Overload("sorted", (types.list_of(_T), types.list_of(_U)), types.list_of(_T), list, member=True),),
        ),
        Function("quantity", (Overload("quantity", (types.STRING,), types.opaque("kubernetes.Quantity"), str),)),
    )
)
ENVIRONMENT = Environment({"self": SELF, "oldSelf": SELF}, [LIBRARY])
OTHERWISE = {
    "{'a', 'b'}": "ANTLR goes on after the entry and tells a second error",
    "Foo{1: 2}": "ANTLR lists all that may stand there",
}


def refusal(expression: str) -> str:
    try:
        program = compile_expression(expression, ENVIRONMENT)
    except InstantiationError as error:
        return f"program instantiation failed: {error}"
    except CompileError as error:
        return str(error)
    return "" if program.type == types.BOOL else "not a bool"


@WITH_RE2
@pytest.mark.parametrize("part", range(8))
def test_refusals_are_those_of_a_real_server(part: int) -> None:
    expressions = [expression for expression in list(RECORDED)[part::8] if expression not in OTHERWISE]
    assert {expression: refusal(expression) for expression in expressions} == {
        expression: RECORDED[expression] for expression in expressions
    }


@pytest.mark.parametrize("expression", OTHERWISE)
def test_refusals_in_other_words_are_refusals_at_the_same_place(expression: str) -> None:
    assert refusal(expression).partition("Syntax error")[0] == RECORDED[expression].partition("Syntax error")[0]


@pytest.mark.parametrize(
    "expression",
    ["(" * 251 + "1" + ")" * 251, "+".join(["1"] * 300), "[" * 5000, "-" * 50_000 + "1" + "(" * 10, "a" + ".b" * 300],
)
def test_expressions_that_are_nested_too_deep_are_refused(expression: str) -> None:
    with pytest.raises(CompileError, match=r"recursion limit exceeded: 250|Syntax error"):
        compile_expression(expression, ENVIRONMENT)


def test_expressions_of_too_many_characters_are_refused() -> None:
    with pytest.raises(CompileError, match=r"expression code point size exceeds limit: size: 100001, limit 100000"):
        compile_expression("'" + "a" * 100_000, ENVIRONMENT)
