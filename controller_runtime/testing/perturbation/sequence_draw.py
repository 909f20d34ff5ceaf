# SPDX-License-Identifier: Apache-2.0
"""Draws sequences of declared states with hypothesis, which also shrinks a sequence that fails.

Importing this module needs hypothesis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisException
from msgspec import json

from controller_runtime.testing.perturbation.sequence import Finding, Judge, Walk, finding
from controller_runtime.testing.perturbation.sequence_states import Schema, examples, neighbours
from controller_runtime.testing.perturbation.sequence_story import Content, Primary
from controller_runtime.testing.strategies import values_of

T = TypeVar("T")

SEQUENCES = 60
"""The number of sequences to draw for one object, unless the time is over before."""

_LONGEST = 4  # states after the first of a sequence
_MOST_FIELDS = 4  # optional fields of one drawn object
_MOVES = ("near", "near", "near", "back", "near the story's", "valid", "gone")


def search(primary: Primary, judge: Judge, *, sequences: int = SEQUENCES, chosen: int = 0) -> Iterator[Finding]:
    """Yield the findings for sequences of one object, each shrunk: at most two.

    The first is an end that depends on more than the last state. The second is a state that the program cannot carry
    out even alone. Such states do not hide the first, because sequences that end in one are not judged.

    Args:
        primary: The object.
        judge: Runs and judges sequences.
        sequences: The number of sequences to draw.
        chosen: The seed of the draw.
    """
    walks = _walks(primary)
    walk = _smallest(walks, lambda each: bool(judge.wrong(each)[1]), sequences, chosen)
    if walk is not None:
        yield finding(primary, *_shortest(judge, walk))
    if failing := judge.states_wrong_alone():
        state = _simplest(judge, primary.schema, min(failing, key=_size))
        yield finding(primary, [state], judge.wrong_alone(state))


class _Failed(AssertionError):
    """A value fails: tells hypothesis so."""


def _smallest(strategy: st.SearchStrategy[T], fails: Callable[[T], bool], most: int, chosen: int) -> T | None:
    """Return the smallest value that fails and that hypothesis finds; None if it finds none."""
    failed: list[T] = []

    @seed(chosen)
    @settings(
        max_examples=most,
        database=None,
        deadline=None,
        derandomize=False,
        print_blob=False,
        report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def check(value: T) -> None:
        if fails(value):
            failed.append(value)
            raise _Failed

    try:
        check()
    except (_Failed, HypothesisException):  # the latter if the budget ended while it shrank
        return failed[-1] if failed else None
    return None


def _shortest(judge: Judge, walk: Walk) -> tuple[Walk, Sequence[str]]:
    """Leave out each state that a failing sequence does not need."""
    best = judge.wrong(walk)
    index = 0
    while index < len(best[0]) - 1:
        fewer = judge.wrong([*best[0][:index], *best[0][index + 1 :]])
        if fewer[1]:
            best = fewer
        else:
            index += 1
    return best


def _simplest(judge: Judge, schema: Schema, state: Content) -> Content:
    """Leave out what a state that is wrong alone does not need, one change after another."""
    smaller = (each for each in sorted(neighbours(schema, state), key=_size) if _size(each) < _size(state))
    for each in smaller:
        if judge.wrong_alone(each):
            return _simplest(judge, schema, each)
    return state


def _size(state: Content) -> int:
    return len(json.encode(state))


@st.composite
def _walks(draw: st.DrawFn, primary: Primary) -> Walk:
    """Draw one of the story's states and go on from there: to neighbours, back, to other valid states, to none."""
    schema = primary.schema
    walk: list[Content | None] = [draw(st.sampled_from(primary.states))]
    here: Content = primary.states[0] if walk[0] is None else walk[0]
    for _ in range(draw(st.integers(1, _LONGEST))):
        declared = [state for state in walk if state is not None]
        match draw(st.sampled_from(_MOVES)):
            case "gone" if walk[-1] is not None:
                walk.append(None)
                continue
            case "back":
                here = draw(st.sampled_from([*declared, *primary.states]))
            case "valid" if schema:
                here = draw(_contents(schema))
            case "near the story's":
                here = _near(draw, schema, primary.states[-1])
            case _:
                here = _near(draw, schema, here)
        walk.append(here)
    return walk


def _near(draw: st.DrawFn, schema: Schema, state: Content) -> Content:
    around = neighbours(schema, state)
    return draw(st.sampled_from(around)) if around else state


def _contents(schema: Schema) -> st.SearchStrategy[Any]:
    """Return a strategy for plain values that a schema allows: those that a user could write."""
    return st.deferred(lambda: _plain(schema))


def _plain(schema: Schema) -> st.SearchStrategy[Any]:
    match schema.get("type"):
        case "object" if schema.get("properties"):
            return _some_fields(schema["properties"], tuple(schema.get("required", ())))
        case "array":
            least = schema.get("minItems", 0)
            return st.lists(
                _contents(schema.get("items", {})), min_size=least, max_size=schema.get("maxItems", least + 2)
            )
        case _:
            simple = examples(schema)
            return st.sampled_from(simple) if simple else values_of({**schema, "nullable": False})


@st.composite
def _some_fields(draw: st.DrawFn, fields: Mapping[str, Schema], needed: Sequence[str]) -> dict[str, Any]:
    optional = [name for name in fields if name not in needed]
    chosen = draw(st.lists(st.sampled_from(optional), unique=True, max_size=_MOST_FIELDS)) if optional else []
    return {name: draw(_contents(fields[name])) for name in fields if name in (*needed, *chosen)}
