# SPDX-License-Identifier: Apache-2.0
"""The costs of calls at run time; the factors are cel-go's.

A call costs 1. Those that read texts cost a tenth of a character, rounded up; a match of a regular expression costs a
quarter of each character of the pattern for that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from embedded_apiserver.cel.declarations import CallEstimate, Operand
from embedded_apiserver.cel.ranges import UNKNOWN, Range, exactly
from embedded_apiserver.cel.types import OPTIONAL_NAME, Kind
from embedded_apiserver.cel.values import Opaque, Optional, Value

STRING_FACTOR = 0.1
PATTERN_FACTOR = 0.25

Cost = Callable[[Sequence[Value], Value], int]
Estimate = Callable[[Sequence[Operand]], "CallEstimate | None"]


def size_of(value: Value) -> int:
    """Return the number of characters, bytes, elements or entries of a value or of that in an optional; otherwise 1."""
    if isinstance(value, (str, bytes, list, dict)):
        return len(value)
    if isinstance(value, Optional) and value.present:
        return size_of(value.value)
    return 1


def reading(size: int) -> int:
    """Return the cost of reading a text of `size` characters."""
    return math.ceil(size * STRING_FACTOR)


def reads_first(arguments: Sequence[Value], result: Value) -> int:
    """Return the cost of a call that reads its first argument once."""
    return reading(size_of(arguments[0]))


def compares(arguments: Sequence[Value], result: Value) -> int:
    """Return the cost of a comparison, which depends on the smaller of the two sizes; see `size_of`."""
    return reading(min(size_of(arguments[0]), size_of(arguments[1])))


def equates(arguments: Sequence[Value], result: Value) -> int:
    """Return the cost of a test for equality; 1 for values of opaque types."""
    return 1 if isinstance(arguments[0], Opaque) else compares(arguments, result)


def joins(arguments: Sequence[Value], result: Value) -> int:
    """Return the cost of concatenating two texts or two byte strings."""
    return reading(size_of(arguments[0]) + size_of(arguments[1]))


def searches_list(arguments: Sequence[Value], result: Value) -> int:
    """Return the cost of searching a list, the second argument, for an element."""
    return size_of(arguments[1])


def searches_text(arguments: Sequence[Value], result: Value) -> int:
    """Return the cost of searching a text for another text."""
    return reading(size_of(arguments[0])) * reading(size_of(arguments[1]))


def matches(arguments: Sequence[Value], result: Value) -> int:
    """Return the cost of matching a text, the first argument, against a regular expression, the second."""
    return reading(1 + size_of(arguments[0])) * math.ceil(size_of(arguments[1]) * PATTERN_FACTOR)


def known(operand: Operand) -> Range:
    """Return the least and greatest size of an argument; if its size is unknown, the range of all sizes."""
    return UNKNOWN if operand.size is None else operand.size


def estimated_reading(place: int) -> Estimate:
    """Return a function that estimates the cost of a call that reads its argument number `place`, from 0."""
    return lambda operands: CallEstimate(known(operands[place]).scaled(STRING_FACTOR))


def estimated_bytes(operands: Sequence[Operand]) -> CallEstimate:
    """Return the estimated cost of converting a text to bytes; a character has up to four bytes."""
    size = known(operands[0])
    return CallEstimate(size.scaled(STRING_FACTOR), Range(size.least, min(size.most * 4, UNKNOWN.most)))


def estimated_text(operands: Sequence[Operand]) -> CallEstimate:
    """Return the estimated cost of converting bytes to a text."""
    size = known(operands[0])
    return CallEstimate(size.scaled(STRING_FACTOR), Range(size.least // 4, size.most))


def estimated_list_search(operands: Sequence[Operand]) -> CallEstimate:
    """Return the estimated cost of searching a list for an element."""
    return CallEstimate(known(operands[1]).scaled(1))


def estimated_text_search(operands: Sequence[Operand]) -> CallEstimate:
    """Return the estimated cost of searching a text for another text."""
    one, other = (known(operand).scaled(STRING_FACTOR) for operand in operands)
    return CallEstimate(one.times(other))


def estimated_match(operands: Sequence[Operand]) -> CallEstimate:
    """Return the estimated cost of matching a text against a regular expression."""
    text = known(operands[0]).plus(exactly(1)).scaled(STRING_FACTOR)
    return CallEstimate(text.times(known(operands[1]).scaled(PATTERN_FACTOR)))


def estimated_comparison(operands: Sequence[Operand]) -> CallEstimate:
    """Return the estimated cost of a comparison, at most that of the smaller one of the two largest sizes."""
    most = min(known(operands[0]).most, known(operands[1]).most)
    return CallEstimate(Range(1 if most else 0, most).scaled(STRING_FACTOR))


def estimated_equality(operands: Sequence[Operand]) -> CallEstimate:
    """Return the estimated cost of a test for equality."""
    one, other = (operand.type for operand in operands)
    if one == other and one.kind is Kind.OPAQUE and one.name != OPTIONAL_NAME:
        return CallEstimate(exactly(1))
    return estimated_comparison(operands)


def estimated_join(operands: Sequence[Operand]) -> CallEstimate:
    """Return the estimated cost of concatenating two texts or two byte strings, and the size of the result."""
    size = known(operands[0]).plus(known(operands[1]))
    return CallEstimate(size.scaled(STRING_FACTOR), size)


def estimated_list_join(operands: Sequence[Operand]) -> CallEstimate:
    """Return the estimated cost of concatenating two lists, which is 1, and the size of the result."""
    return CallEstimate(exactly(1), known(operands[0]).plus(known(operands[1])))
