# SPDX-License-Identifier: Apache-2.0
"""The steps of expressions are counted before they are taken, whatever their costs are."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from embedded_apiserver.cel import types
from embedded_apiserver.cel.declarations import Environment
from embedded_apiserver.cel.errors import BudgetExceeded
from embedded_apiserver.cel.library.libraries import LIBRARIES
from embedded_apiserver.cel.meter import MOST_STEPS, Meter, OutOfSteps
from embedded_apiserver.cel.program import Budget, compile_expression
from embedded_apiserver.patterns import steps_to_compile

ENVIRONMENT = Environment({"a": types.STRING, "b": types.STRING, "l": types.DYN}, LIBRARIES, binds=True)
SHARED: list[Any] = [1]
for _ in range(30):
    SHARED = [SHARED, SHARED]


def evaluated(text: str, **values: Any) -> Any:
    return compile_expression(text, ENVIRONMENT).evaluate(values, Budget())


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a.replace('a', b) != ''", {"a": "a" * 20_000, "b": "b" * 200_000}),
        ("a.replace('', b) != ''", {"a": "a" * 20_000, "b": "b" * 200_000}),
        ("a.split('').join(b) != ''", {"a": "a" * 20_000, "b": "b" * 200_000}),
        ("a.split(',').map(x, [x]).distinct() == []", {"a": "1," * 20_000}),
        ("a.split(',').sort() == []", {"a": "1," * 50_000}),
        ("sets.intersects(a.split(',').map(x, [x]), b.split(',').map(x, [x]))", {"a": "1," * 900, "b": "2," * 900}),
        ("sets.contains(l, l)", {"l": [1.5] * 2_000}),
        ("a.matches(b)", {"a": "ab" * 20_000, "b": "[ab]{0,1000}" * 20}),
        ("a.matches('(a|b)*a[ab][ab][ab][ab][ab][ab][ab][ab][ab][ab][ab][ab][ab][ab]c')", {"a": "ab" * 500_000}),
        ("a.findAll('a.*b|a') == []", {"a": "a" * 300_000}),
        ("a.find(b) == ''", {"a": "a", "b": "[ab]{0,1000}" * 20}),
        ("a.lastIndexOf(b) == 0", {"a": "a" * 100_000, "b": "a" * 100_000}),
        ("a + a == ''", {"a": "a" * 9_000_000}),
        ("l + l == []", {"l": [1] * 1_100_000}),
        ("l == l", {"l": SHARED}),
        ("l != l", {"l": SHARED}),
        ("[1] in l", {"l": SHARED}),
        ("'%s'.format([l]) == ''", {"l": SHARED}),
        ("l.indexOf(l) == 0", {"l": SHARED}),
        ("l.flatten(40) == []", {"l": SHARED}),
        ("lists.range(900000) == []", {}),
        ("lists.range(9000).all(x, lists.range(9000).all(y, true))", {}),
        ("lists.range(5000).all(x, " + "||".join(["false"] * 900) + "|| true)", {}),
        ("lists.range(9000).all(x, {" + ",".join(f"{n}:x" for n in range(900)) + "}.size() > 0)", {}),
        ("lists.range(9000).all(x, !(-x in [" + ",".join(f"{n + 1}" for n in range(900)) + "]))", {}),
    ],
)
def test_expressions_that_would_take_too_many_steps_are_ended_before(text: str, values: dict[str, Any]) -> None:
    with pytest.raises(OutOfSteps, match=f"limit is {MOST_STEPS} steps"):
        evaluated(text, **values)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("a.contains('b')", {"a": "a" * 1_000_000}),
        ("a.split(',').distinct().size() == 2", {"a": "1," * 10_000}),
        ("sets.contains(a.split(','), ['1'])", {"a": "1," * 10_000}),
        ("a.split(',').sort()[0] == ''", {"a": "1," * 5_000}),
        ("a.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')", {"a": "a" * 30_000}),
        ("a.findAll('[0-9]+').size() == 500", {"a": "1," * 500}),
        ("a.replace('1', '22').size() == 30000", {"a": "1," * 10_000}),
        ("l.all(x, l.exists(y, x == y))", {"l": [1] * 400}),
        ("l.all(x, x.matches('^[a-z]+$') && x in ['abc', 'd'])", {"l": ["abc"] * 5_000}),
        ("'%s'.format([l]).size() > 0", {"l": ["abc"] * 5_000}),
    ],
)
def test_expressions_about_large_objects_take_fewer_steps(text: str, values: dict[str, Any]) -> None:
    with contextlib.suppress(BudgetExceeded):  # as a real server ends it
        evaluated(text, **values)


def test_no_operator_absorbs_the_end_of_the_steps() -> None:
    program = compile_expression("l == l || true", ENVIRONMENT)

    with Meter(100), pytest.raises(OutOfSteps, match="limit is 100 steps"):
        program.evaluate({"l": SHARED}, Budget())


def test_all_evaluations_of_a_request_share_the_steps() -> None:
    program = compile_expression("l.all(x, x == 1)", ENVIRONMENT)
    with Meter(10_000):
        for _ in range(6):
            program.evaluate({"l": [1] * 100}, Budget())
        with pytest.raises(OutOfSteps):
            program.evaluate({"l": [1] * 1_000}, Budget())


SCALARS = st.integers() | st.text(max_size=20)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=20), inner))


@given(VALUES)
def test_the_walk_through_a_value_counts_each_part(value: Any) -> None:
    parts = parts_of(value)

    Meter(10 * parts + 10).walk(value)
    with pytest.raises(OutOfSteps):
        Meter(parts - 1).walk(value)


def parts_of(value: Any) -> int:
    if isinstance(value, list):
        return 1 + sum(map(parts_of, value))
    if isinstance(value, dict):
        return 1 + sum(1 + parts_of(item) for item in value.values())
    return 1


@pytest.mark.parametrize(
    ("pattern", "is_dear"),
    [
        ("^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$", False),
        ("(25[0-5]|[0-9]{1,2})(\\.(25[0-5]|[0-9]{1,2})){3}", False),
        ("[ab]{0,1000}", False),
        ("[ab]{0,1000}" * 20, True),
        ("a?" * 20_000, True),
        ("(" + "a?" * 50 + "){900}", True),
        ("a{99999999999999999999}" * 30, True),
    ],
)
def test_patterns_that_take_long_to_compile_are_known_by_their_text(pattern: str, is_dear: bool) -> None:
    assert (steps_to_compile(pattern) > MOST_STEPS / 10) is is_dear
