# SPDX-License-Identifier: Apache-2.0
"""The bounds of one request and of one refusal, so that none holds up the others for long.

A body of `api.http.BODY_LIMIT` bytes could hold a million values, and each costs far more than its bytes. These numbers
keep one request within a second of CPU and 64 MiB, which `tests/attack/bounds.py` measures. Objects that a real API
server can store stay below them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Generic, NamedTuple, TypeVar

from apimachinery.http import BODY_LIMIT

MOST_VALUES = 80_000
"""Values in a body, and in a stored object: fields of objects and elements of lists, at any depth."""

MOST_STEPS = 2_000_000
"""Sum of the depths of all values of an object; the owner of each value is noted by its path."""

MOST_COMPARED = 500_000
"""Steps to compare the rules of a role with those of the user that writes it: each right, that is one verb on one
thing, with each rule that is about the thing. 0.3 s of CPU."""

LIGHT = 64 << 10
"""Bytes of JSON that cannot hold so many values or steps that it pays to count them."""

MOST_STORED = BODY_LIMIT
"""Bytes of a stored object's JSON, so that a client that reads it can send it back."""

MOST_TOLD = 100
"""Faults that a refusal tells one by one; the others are counted."""

MOST_COUNTED = 10_000
"""Faults that are counted; the search ends there."""

MOST_READ = 4 << 20
"""Characters of the errors that are counted; the search ends there, too."""

LONGEST = 16 << 10
"""Characters of one text within a refusal."""

MOST_SAID = 64 << 10
"""The most characters of all reported errors together."""

# A text in quotes, if there is one, and what stands between it and the next one.
_PIECES = re.compile(rb'(?:"(?:[^"\\]++|\\.)*+")?+([^"]*+)', re.DOTALL)

T = TypeVar("T")


def has_too_many_values(text: bytes) -> bool:
    """Return whether a JSON text contains more than `MOST_VALUES` values."""
    return len(text) > MOST_VALUES and values_in(text) > MOST_VALUES


def values_in(text: bytes, most: int = MOST_VALUES) -> int:
    """Return an upper bound of the number of values in a JSON text. A result above `most` means only that there are
    more.
    """
    if (roughly := _punctuation(text)) <= most:
        return roughly
    values = 0
    for piece in _PIECES.finditer(text):
        values += _punctuation(piece[1])
        # A piece of nothing: a text that does not end, so this is no JSON.
        if values > most or not piece[0]:
            break
    return values


def _punctuation(text: bytes) -> int:
    """Count what precedes a value: a comma, or the bracket of a container that is not empty."""
    opened = text.count(b"{") + text.count(b"[") - text.count(b"{}") - text.count(b"[]")
    return text.count(b",") + opened


def is_too_heavy(document: Any) -> bool:
    """Return whether a decoded document has more than `MOST_VALUES` values, or values whose depths sum to more than
    `MOST_STEPS`.
    """
    values, steps, depth, level = 0, 0, 1, [document]
    while level:
        inner = [
            part
            for one in level
            for part in (one.values() if type(one) is dict else one)
            if type(part) is dict or type(part) is list
        ]
        here = sum(map(len, level))
        values, steps = values + here, steps + depth * here
        if values > MOST_VALUES or steps > MOST_STEPS:
            return True
        level, depth = inner, depth + 1
    return False


def abbreviated(text: str, longest: int = LONGEST) -> str:
    """Return `text`; if it has more than `longest` characters, its beginning and the number of the others."""
    return text if len(text) <= longest else f"{text[:longest]}… and {len(text) - longest:,} more characters"


def listed(words: Iterable[str], count: int) -> str:
    """Return words separated by commas; of many words only the first ones, and the number of the others.

    Args:
        words: The words. At most one more than is shown is read from the iterable.
        count: The number of all words.
    """
    shown: list[str] = []
    room = LONGEST
    for word in words:
        room -= len(word) + 2
        if room < 0:
            shown.append(f"… and {count - len(shown):,} more")
            break
        shown.append(word)
    return ", ".join(shown)


def abbreviated_message(text: str) -> str:
    """Return the message of an error response; if it is very long, its beginning and the number of further
    characters.
    """
    return abbreviated(text, MOST_SAID + LONGEST)


class Told(NamedTuple, Generic[T]):
    """The first errors of a long sequence.

    Attributes:
        first: The errors that are reported.
        more: A phrase about the others, such as `and 999,900 more`; empty if absent.
    """

    first: list[T]
    more: str


def told(errors: Iterable[T], size: Any = len) -> Told[T]:
    """Return the first of `errors`, and a phrase with the number of the others, which are counted up to `MOST_COUNTED`.

    Args:
        errors: The errors. Only as many as needed are read from the iterable.
        size: A function that returns the length of an error, in characters. The lengths limit which errors are
            returned (`MOST_SAID`) and how many are read (`MOST_READ`).
    """
    first: list[T] = []
    found = said = read = 0
    for error in errors:
        found += 1
        length = size(error)
        read += length
        if len(first) < MOST_TOLD and (not first or said + length <= MOST_SAID):
            first.append(error)
            said += min(length, LONGEST)
        if found > len(first) and (found >= MOST_COUNTED or read >= MOST_READ):
            return Told(first, f"and at least {found - len(first):,} more")
    return Told(first, f"and {found - len(first):,} more" if found > len(first) else "")
