# SPDX-License-Identifier: Apache-2.0
"""The loops of macros, each form as a loop of Python. They cost what the folds of cel-go cost that they stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from embedded_apiserver.cel.code import Code, Frame
from embedded_apiserver.cel.errors import BudgetExceeded, EvaluationError, no_such_overload
from embedded_apiserver.cel.standard import inserted
from embedded_apiserver.cel.values import Duration, Optional, Timestamp, Uint, Value

_GO_TYPES: dict[type, str] = {
    int: "types.Int", Uint: "types.Uint", float: "types.Double", str: "types.String", bytes: "types.Bytes",
    bool: "types.Bool", type(None): "types.Null", Duration: "types.Duration", Timestamp: "types.Timestamp",
    Optional: "*types.Optional",
}  # fmt: skip


_ENTRY_STEPS = 10  # an entry of a map takes up to 100 bytes


class Loop(NamedTuple):
    """The parts of a macro's loop.

    Attributes:
        over: The list or map to iterate over.
        slot: The slot of the loop variable.
        second: The slot of the second loop variable; None if there is only one.
        body: The test of each element, or its transformed value.
        keep: The filter; None for all elements.
        whole: For a loop that creates a map: True if the body returns entries, False if it returns the value for the
            current key.
        steps: The number of steps of one iteration, including the storage of its result.
    """

    over: Code
    slot: int
    second: int | None
    body: Code
    keep: Code | None = None
    whole: bool = False
    steps: int = 1

    def turns(self, frame: Frame, cost: int) -> Iterator[None]:
        """Iterate over the elements: set the loop variables for each one, and add the cost of the iteration."""
        elements, values = self.over.run(frame), frame.locals
        slot, second, steps, spend = self.slot, self.second, self.steps, frame.meter.spend
        if second is None:
            for element in _elements(elements):
                values[slot] = element
                spend(steps)
                frame.charge(cost)
                yield
        else:
            for values[slot], values[second] in _pairs(elements):
                spend(steps)
                frame.charge(cost)
                yield


def _elements(over: Value) -> Iterable[Value]:
    if isinstance(over, (list, dict)):
        return over
    raise _endless(over)


def _endless(over: Value) -> EvaluationError:
    """Return the error of a value that has no elements."""
    return EvaluationError(f"got '{_GO_TYPES.get(type(over), 'types.Val')}', expected iterable type")


def _pairs(over: Value) -> Iterable[tuple[Value, Value]]:
    if isinstance(over, list):
        return enumerate(over)
    if isinstance(over, dict):
        return over.items()
    raise _endless(over)


def quantified(loop: Loop, decisive: bool) -> Code:
    """Return the compiled form of `all` (`decisive` is False) or `exists` (`decisive` is True).

    The loop ends at the first element with the decisive value. If there is one, errors of other elements are ignored.
    """
    test, cost = loop.body.run, loop.body.cost + (4 if decisive else 3)

    def run(frame: Frame) -> Value:
        failed: EvaluationError | None = None
        for _ in loop.turns(frame, cost):
            try:
                value = test(frame)
            except BudgetExceeded:
                raise
            except EvaluationError as error:
                failed = failed or error
                continue
            if value is decisive:
                return decisive
            if type(value) is not bool:
                failed = failed or no_such_overload()
        if failed is not None:
            raise failed
        return not decisive

    return Code(run, loop.over.cost + 1)


def exactly_one(loop: Loop) -> Code:
    """Return the compiled form of the macro `exists_one`."""
    test, cost = loop.body.run, loop.body.cost

    def run(frame: Frame) -> Value:
        found = 0
        for _ in loop.turns(frame, cost):
            value = test(frame)
            if value is True:
                found += 1
                frame.cost += 2
            elif value is not False:
                raise no_such_overload()
        return found == 1

    return Code(run, loop.over.cost + 2)


def _passes(keep: Code | None) -> Callable[[Frame], bool] | None:
    if keep is None:
        return None
    test, cost = keep.run, keep.cost

    def passes(frame: Frame) -> bool:
        frame.cost += cost
        value = test(frame)
        if value is True or value is False:
            return bool(value)
        raise no_such_overload()

    return passes


def into_list(loop: Loop) -> Code:
    """Return the compiled form of the macro `map`, `filter` or `transformList`."""
    made, more, passes = loop.body.run, loop.body.cost + 12, _passes(loop.keep)

    def run(frame: Frame) -> Value:
        if passes is None:
            return [made(frame) for _ in loop.turns(frame, more)]
        kept = []
        for _ in loop.turns(frame, 0):
            if passes(frame):
                frame.cost += more
                kept.append(made(frame))
        return kept

    return Code(run, loop.over.cost + 1)


def into_map(loop: Loop) -> Code:
    """Return the compiled form of the macro `transformMap` or `transformMapEntry`. The resulting keys must be
    unique.
    """
    made, more, passes = loop.body.run, loop.body.cost + 3, _passes(loop.keep)

    def run(frame: Frame) -> Value:
        collected: dict[Value, Value] = {}
        for _ in loop.turns(frame, 0):
            if passes is not None and not passes(frame):
                continue
            frame.charge(more)
            frame.meter.spend(_ENTRY_STEPS)
            value = made(frame)
            entries = value if loop.whole else {frame.locals[loop.slot]: value}
            if not isinstance(entries, dict):
                raise no_such_overload()
            if len(entries) == 1:
                _insert(collected, entries)
            else:
                frame.meter.spend(_ENTRY_STEPS * (len(collected) + len(entries)))  # it is a new map
                collected = inserted(collected, entries)
        return collected

    return Code(run, loop.over.cost + 1)


def _insert(into: dict[Value, Value], entry: dict[Value, Value]) -> None:
    for key in entry:
        if key in into:
            raise EvaluationError(f"insert failed: key {key} already exists")
    into.update(entry)


def bound(value: Code, slot: int, result: Code) -> Code:
    """Return the compiled form of `cel.bind`: `result` is evaluated with `value` in the slot of the variable."""
    made, read = value.run, result.run

    def run(frame: Frame) -> Value:
        frame.locals[slot] = made(frame)
        return read(frame)

    return Code(run, value.cost + result.cost)
