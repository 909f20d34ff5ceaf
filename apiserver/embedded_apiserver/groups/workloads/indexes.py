# SPDX-License-Identifier: Apache-2.0
"""Reads the indexes of a job in their compressed form, such as `1,3-5`."""

from __future__ import annotations

import re

_INTEGER = re.compile(r"[+-]?[0-9]+")


def indexes_in(text: str, completions: int) -> int:
    """Return the number of indexes in a text such as `1,3-5`.

    Raises:
        ValueError: The text is malformed, or an index is not below `completions`.
    """
    return sum(last - first + 1 for first, last in _intervals(text, completions))


def overlap(completed: str, failed: str, completions: int) -> int | None:
    """Return an index that is in both texts, the lowest one if their intervals are in order; None if there is none.

    The texts have the form `1,3-5`. Intervals that are malformed, or that reach `completions`, are ignored.
    """
    done = _valid(completed, completions)
    for first, last in _valid(failed, completions):
        for low, high in done:
            if low <= last and first <= high:
                return max(low, first)
    return None


def _valid(text: str, completions: int) -> list[tuple[int, int]]:
    found = []
    for interval in text.split(","):
        try:
            found.append(_interval(interval, completions))
        except ValueError:
            continue
    return found


def _intervals(text: str, completions: int) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for interval in text.split(",") if text else ():
        first, last = _interval(interval, completions)
        if found and found[-1][1] >= first:
            raise ValueError(f"non-increasing order, previous: {found[-1][1]}, current: {first}")
        found.append((first, last))
    return found


def _interval(text: str, completions: int) -> tuple[int, int]:
    limits = text.split("-")
    if len(limits) > 2:
        what = "violates the requirement that an index interval can have at most two parts separated by '-'"
        raise ValueError(f'the fragment "{text}" {what}')
    numbers = []
    for limit in limits:
        if not _INTEGER.fullmatch(limit):
            raise ValueError(f'cannot convert string to integer for index: "{limit}"')
        if int(limit) >= completions:
            raise ValueError(f'too large index: "{limit}"')
        numbers.append(int(limit))
    if len(numbers) > 1 and numbers[0] >= numbers[1]:
        raise ValueError(f"non-increasing order, previous: {numbers[0]}, current: {numbers[1]}")
    return numbers[0], numbers[-1]
