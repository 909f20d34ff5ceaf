# SPDX-License-Identifier: Apache-2.0
"""The steps of calls that read or make more than a few bytes, counted before each call; see `meter`."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from embedded_apiserver.cel.meter import Meter
from embedded_apiserver.cel.types import Kind, Type
from embedded_apiserver.cel.values import Value
from embedded_apiserver.patterns import NoPattern

Work = Callable[[Meter, Sequence[Value]], None]
"""Counts the steps of a call with these arguments."""

_READ = frozenset({Kind.STRING, Kind.BYTES, Kind.LIST, Kind.MAP})
_PER_PIECE = 8  # a text of a few characters takes 50 to 64 bytes
_SHORT_TEXT, _SHORT_PART = 30_000, 100  # up to these, CPython's search compares each place with each character


def work_of(declared: Work | None, arguments: Sequence[Type]) -> Work | None:
    """Return the function that counts the steps of a call; None if `declared` is None and no argument has the type
    of a text, a byte string, a list or a map.

    `declared` is the function that the overload declares; None for the default by the types of the arguments.
    """
    if declared is not None:
        return declared
    return reading if any(of.kind in _READ for of in arguments) else None


def free(meter: Meter, arguments: Sequence[Value]) -> None:
    """Count no steps, for a function that only looks something up."""


def reading(meter: Meter, arguments: Sequence[Value]) -> None:
    """Count one step for each character, byte, element or entry of the arguments."""
    meter.spend(sum(len(value) for value in arguments if isinstance(value, (str, bytes, list, dict))))


def of_each_check(meter: Meter, arguments: Sequence[Value]) -> None:
    """Count the steps of a permission check, which reads all roles and bindings of a user: about 2 ms for some
    hundreds.
    """
    meter.spend(10_000)


def copying(meter: Meter, arguments: Sequence[Value]) -> None:
    """Count the steps of creating a text from the first argument in C code."""
    meter.spend(_bytes(arguments[0]) // 8 + 1)


def comparing(meter: Meter, arguments: Sequence[Value]) -> None:
    """Count the steps of comparing two values with everything nested in them."""
    one, other = arguments
    if isinstance(one, (list, dict)) and isinstance(other, (list, dict)):
        meter.walk(one, other)
    elif isinstance(one, (str, bytes)):
        meter.spend(len(one) // 64)


def joining(meter: Meter, arguments: Sequence[Value]) -> None:
    """Count the steps of concatenating two texts or two lists."""
    one, other = arguments
    if isinstance(one, list):
        meter.spend(len(one) + len(other))
        if type(one) is not list:  # the elements of sets, and the keys of maps, are compared
            meter.walk(one, other)
            meter.spend(len(one) * len(other))
    else:
        meter.spend((_bytes(one) + _bytes(other)) // 8)


def searching(meter: Meter, arguments: Sequence[Value]) -> None:
    """Charge the meter for searching the text `arguments[0]` for the first occurrence of `arguments[1]`."""
    meter.spend(_search(arguments[0], arguments[1]))


def searching_backwards(meter: Meter, arguments: Sequence[Value]) -> None:
    """Count the steps of searching a text for the last occurrence of another text.

    They grow with the product of the two lengths.
    """
    meter.spend(len(arguments[0]) * len(arguments[1]) // 64)


def replacing(meter: Meter, arguments: Sequence[Value]) -> None:
    """Count the steps of a replacement in a text, including the creation of the result."""
    text, old, new = arguments[:3]
    meter.spend(_search(text, old) + _bytes(text) // 8)
    found = text.count(old)
    if len(arguments) == 4 and arguments[3] >= 0:
        found = min(found, arguments[3])
    meter.spend(found * _bytes(new) // 8)


def splitting(meter: Meter, arguments: Sequence[Value]) -> None:
    """Charge the meter for splitting the text `arguments[0]` at each separator `arguments[1]`."""
    text, separator = arguments[:2]
    meter.spend(_search(text, separator) + _bytes(text) // 8)
    meter.spend(_PER_PIECE * (text.count(separator) if separator else len(text)))


def joining_words(meter: Meter, arguments: Sequence[Value]) -> None:
    """Count the steps of joining a list of texts into one."""
    words = arguments[0]
    between = _bytes(arguments[1]) if len(arguments) == 2 else 0
    meter.spend(len(words))
    meter.spend((sum(map(_bytes, words)) + len(words) * between) // 8)


def formatting(meter: Meter, arguments: Sequence[Value]) -> None:
    """Count the steps of formatting values by a pattern, both arguments of the call."""
    pattern, values = arguments
    meter.spend(len(pattern))
    for value in values:
        meter.walk(value)
        meter.spend(30)
        if isinstance(value, (str, bytes)):
            meter.spend(len(value) // 2)
        elif isinstance(value, (list, dict)):
            meter.walk(value)


def matching(meter: Meter, arguments: Sequence[Value]) -> None:
    """Count the steps of matching a text against a regular expression, the second argument."""
    text, pattern = arguments
    with contextlib.suppress(NoPattern):
        meter.spend(meter.pattern(pattern).steps(len(text)) + len(text) // 8)


def walking(meter: Meter, arguments: Sequence[Value]) -> None:
    """Count the steps of reading the arguments with everything nested in them, twice because their cost is computed as
    well.
    """
    meter.walk(*arguments, times=2)


def searching_list(meter: Meter, arguments: Sequence[Value]) -> None:
    """Count the steps of comparing a value, the first argument, with each element of a list, the second."""
    wanted, within = arguments
    if isinstance(wanted, (list, dict)):
        meter.walk(wanted, within)
    else:
        meter.spend(len(within) if isinstance(wanted, str) else 3 * len(within))


def comparing_all(meter: Meter, arguments: Sequence[Value]) -> None:
    """Count the steps of comparing each element of the first list with each element of the last list."""
    one, other = arguments[0], arguments[-1]
    meter.spend(len(one) + len(other))
    if are_hashed(one, other):
        meter.spend(8 * (len(one) + len(other)))
        return
    meter.spend(3 * len(one) * len(other))
    if any(isinstance(value, (list, dict)) for value in one):
        for value in one:
            meter.walk(value)
            meter.walk(other)


def sorting(meter: Meter, arguments: Sequence[Value]) -> None:
    """Count the steps of sorting a list by its keys, the last argument."""
    keys = arguments[-1]
    meter.spend(len(keys))
    longest = max((len(key) for key in keys if isinstance(key, (str, bytes))), default=0)
    meter.spend(len(keys) * len(keys).bit_length() * (5 + longest // 64))


def counting(meter: Meter, arguments: Sequence[Value]) -> None:
    """Count the steps of creating a list of numbers, whose length is the first argument."""
    meter.spend(5 * max(arguments[0], 0) if arguments[0] <= LONGEST_RANGE else 0)


LONGEST_RANGE = 1_000_000
"""Numbers of a range; a real API server cancels a call that costs more."""


def are_hashed(*lists: Sequence[Value]) -> bool:
    """Return whether a set can hold all elements: all are texts, all are integers, or all are bytes.

    Mixed numbers cannot be hashed, because an integer may equal a floating-point number.
    """
    kinds = {type(value) for values in lists for value in values}
    return kinds <= {str} or kinds <= {int} or kinds <= {bytes}


def _bytes(value: Value) -> int:
    """Return the bytes of a text in memory, at most; 0 for other values."""
    if isinstance(value, str):
        return len(value) if value.isascii() else 4 * len(value)
    return len(value) if isinstance(value, bytes) else 0


def _search(text: str, part: str) -> int:
    if len(text) <= _SHORT_TEXT:
        return len(text) * min(len(part), _SHORT_PART) // 64 + 1
    return len(text) // 8
