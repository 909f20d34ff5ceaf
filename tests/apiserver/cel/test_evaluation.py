# SPDX-License-Identifier: Apache-2.0
"""The values and costs of expressions, and that no text and no value makes the engine fail in another way."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.contract.engines import WITH_RE2

from embedded_apiserver.cel import types
from embedded_apiserver.cel.declarations import Environment
from embedded_apiserver.cel.errors import BudgetExceeded, CompileError, EvaluationError
from embedded_apiserver.cel.library.libraries import LIBRARIES
from embedded_apiserver.cel.program import Budget, compile_expression
from embedded_apiserver.cel.types import Field
from embedded_apiserver.cel.values import Structure

RECORDED: dict[str, str | bool] = json.loads(
    (Path(__file__).resolve().parents[2] / "data" / "cel_evaluations.json").read_text(encoding="utf-8")
)
"""The results of policies of a real server (1.36.2) for a ConfigMap: true, false, or an error."""
OBJECT = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {
        "name": "x",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"a": "b"},
        "annotations": {"n": "1"},
    },
    "data": {"k": "v", "e": ""},
}
ENVIRONMENT = Environment({"object": types.DYN, "oldObject": types.DYN}, LIBRARIES)
OTHERWISE = {
    "{object.data: 1} == {}": "maps and lists are refused as keys",
    "{dyn([1]): 1} == {}": "maps and lists are refused as keys",
    "type(object) == map": "objects have types of their own in policies",
}


def outcome(expression: str) -> Any:
    try:
        return compile_expression(expression, ENVIRONMENT).evaluate({"object": OBJECT, "oldObject": None})
    except EvaluationError as error:
        return str(error)


@WITH_RE2
def test_expressions_come_to_what_they_do_on_a_real_server() -> None:
    expressions = [expression for expression in RECORDED if expression not in OTHERWISE]
    assert {expression: outcome(expression) for expression in expressions} == {
        expression: RECORDED[expression] for expression in expressions
    }


def test_an_evaluation_ends_when_it_costs_too_much() -> None:
    program = compile_expression("object.all(x, object.all(y, object.all(z, x + y != z)))", ENVIRONMENT)
    budget = Budget(limit=10_000)
    with pytest.raises(BudgetExceeded, match="operation cancelled: actual cost limit exceeded"):
        program.evaluate({"object": [str(number) for number in range(1000)]}, budget)
    assert 10_000 < budget.spent < 10_100


@pytest.mark.parametrize("expression", ["object.exists(x, object.all(y, y != 0)) || true", "true || object.all(x, x)"])
def test_no_operator_absorbs_that_an_evaluation_costs_too_much(expression: str) -> None:
    program = compile_expression(expression, ENVIRONMENT)
    budget = Budget(limit=50)
    values = {"object": list(range(1, 100))}
    if expression.startswith("true"):
        assert program.evaluate(values, budget) is True
    else:
        with pytest.raises(BudgetExceeded):
            program.evaluate(values, budget)


def test_what_is_counted_is_what_a_real_server_counts() -> None:
    costs = {
        "object.data.k == 'v'": 4,
        "has(object.data.k)": 1,
        "object.data.k.startsWith('v') && object.data.size() > 1": 8,
        "[1, 2].all(x, x > 0)": 11,
        "object.data.all(k, k in ['k', 'e'])": 11,
    }
    spent = {}
    for expression in costs:
        budget = Budget()
        compile_expression(expression, ENVIRONMENT).evaluate({"object": OBJECT}, budget)
        spent[expression] = budget.spent
    assert spent == costs


def test_objects_are_made_of_declared_fields() -> None:
    spec = types.object_of("Object.spec", {"replicas": Field(types.INT, "replicas")})
    made = types.object_of("Object", {"spec": Field(spec, "spec")})
    known = {"Object": made, "Object.spec": spec}
    environment = Environment({}, structures=known.get)
    value = compile_expression("Object{spec: Object.spec{replicas: 2}}", environment).evaluate({})
    assert isinstance(value, Structure)
    assert value == {"spec": {"replicas": 2}}
    with pytest.raises(CompileError, match="undefined field 'size'"):
        compile_expression("Object{size: 2}", environment)


WORDS = st.sampled_from(
    """object . ( ) [ ] { } , ? : + - * / % && || ! == != < in has all exists map filter size dyn type 1 2u 1.5 'a' b'c'
    true null x y .? [? optional.of optional.none() orValue timestamp('2020-01-01T00:00:00Z') duration('1h') data k
    matches '(' string int " \'\'\'""".split()  # noqa: SIM905
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)
OPERANDS = st.sampled_from(
    """object object.k object['k'] object.?k [object] {'k':object} 1 -1 2u 1.5 'a' b'a' null true [1,2] {1:2}
    duration('1h') timestamp('2020-01-01T00:00:00Z') optional.none() int""".split()  # noqa: SIM905
)
SHAPES = st.sampled_from(
    """({0})+({1}) ({0})==({1}) ({0})<({1}) ({0})[{1}] ({0}).all(x,x==({1})) ({0}).map(x,[x,{1}]) ({0})&&({1})
    ({0})?({1}):({0}) size({0}) string({0}) int({0}) double({0}) dyn({0}) type({0}) ({0})[?({1})] -({0}) !({0})
    ({0}).exists(i,v,v==({1})) ({0}).orValue({1}) dyn({0})/dyn({1}) dyn({0})-dyn({1}) dyn({0})*dyn({1})
    dyn({0})%dyn({1}) dyn({0})>=dyn({1}) dyn({0})<dyn({1}) ({0}).transformMap(k,v,[k,v]) has(dyn({0}).k)
    optional.of({0}).optMap(x,x==({1})) dyn({0}).k.l '%s'.format([{0}]) dyn({0}).contains(dyn({1}))
    dyn({0}).getHours() timestamp({0})
    uint({0})""".split()  # noqa: SIM905
)
EXPRESSIONS = st.recursive(
    OPERANDS, lambda inner: st.builds(lambda shape, a, b: shape.format(a, b), SHAPES, inner, inner), max_leaves=6
)


@settings(max_examples=100, deadline=None)
@given(st.lists(WORDS, max_size=12).map(" ".join) | st.text(max_size=20), VALUES)
def test_texts_are_refused_or_evaluated(text: str, value: Any) -> None:
    evaluate(text, value)


@settings(max_examples=200, deadline=None)
@given(EXPRESSIONS, VALUES)
def test_expressions_are_refused_or_fail_or_come_to_something(text: str, value: Any) -> None:
    evaluate(text, value)


def evaluate(text: str, value: Any) -> None:
    try:
        program = compile_expression(text, ENVIRONMENT)
    except CompileError:
        return
    assert program.estimate().least <= program.estimate().most
    budget = Budget()
    with suppress(EvaluationError):
        program.evaluate({"object": value, "oldObject": None}, budget)
    assert budget.spent <= budget.limit + 100_000
