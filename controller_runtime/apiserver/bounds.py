# SPDX-License-Identifier: Apache-2.0
"""How much one request may hold and one refusal may say, so that none holds up the others for long.

A body of `api.http.BODY_LIMIT` bytes could hold a million values, and each costs far more than its
bytes. The numbers keep one request within a second of CPU and 64 MiB; `tests/attack/bounds.py` holds
them to that. Objects that a real server can store stay far below them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Generic, NamedTuple, TypeVar

from controller_runtime.api.http import BODY_LIMIT

MOST_VALUES = 80_000
"""Values in a body, and in a stored object: fields of objects and elements of lists, at any depth."""

MOST_STEPS = 2_000_000
"""Steps from the root of an object to all its values together, for the owner of each is noted by its path."""

LIGHT = 64 << 10
"""Bytes of JSON that cannot hold so many values or steps that it pays to count them."""

MOST_STORED = BODY_LIMIT
"""Bytes of a stored object's JSON, so that whoever reads it can send it back."""

MOST_TOLD = 100
"""Faults that a refusal tells one by one; the others are counted."""

MOST_COUNTED = 10_000
"""Faults that are counted; the search ends there."""

MOST_READ = 4 << 20
"""Characters of the faults that are counted; the search ends there, too."""

LONGEST = 16 << 10
"""Characters of one text within a refusal."""

MOST_SAID = 64 << 10
"""Characters of all faults that are told, together."""

# A text in quotes, if there is one, and what stands between it and the next one.
_PIECES = re.compile(rb'(?:"(?:[^"\\]++|\\.)*+")?+([^"]*+)', re.DOTALL)

T = TypeVar("T")


def has_too_many_values(text: bytes) -> bool:
    """Whether a JSON text holds more than `MOST_VALUES`, or so many brackets that it is as good as that."""
    return len(text) > MOST_VALUES and values_in(text) > MOST_VALUES


def values_in(text: bytes, most: int = MOST_VALUES) -> int:
    """How many values a JSON text holds at most; of more than `most`, not how many more."""
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
    """Each value comes after a comma, or after a bracket that holds something."""
    opened = text.count(b"{") + text.count(b"[") - text.count(b"{}") - text.count(b"[]")
    return text.count(b",") + opened


def is_too_heavy(document: Any) -> bool:
    """Whether a document holds more than `MOST_VALUES`, or they are more than `MOST_STEPS` away from its root."""
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
    """`text`, or its beginning and how much is left out."""
    return text if len(text) <= longest else f"{text[:longest]}… and {len(text) - longest:,} more characters"


def listed(words: Iterable[str], count: int) -> str:
    """Words with commas between them, or the first of them and how many more there are.

    Args:
        words: Made as they are asked for.
        count: How many there are.
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
    """The same for a whole message."""
    return abbreviated(text, MOST_SAID + LONGEST)


class Told(NamedTuple, Generic[T]):
    """The first faults of many.

    Attributes:
        first: Those that are told.
        more: What is said of the others, such as `and 999,900 more`; empty if there are none.
    """

    first: list[T]
    more: str


def told(faults: Iterable[T], size: Any = len) -> Told[T]:
    """The first of `faults`, and how many more there are; the search for them ends after a while.

    Args:
        faults: What is wrong; made as it is asked for.
        size: Of one of them, in characters.
    """
    first: list[T] = []
    found = said = read = 0
    for fault in faults:
        found += 1
        length = size(fault)
        read += length
        if len(first) < MOST_TOLD and (not first or said + length <= MOST_SAID):
            first.append(fault)
            said += min(length, LONGEST)
        if found > len(first) and (found >= MOST_COUNTED or read >= MOST_READ):
            return Told(first, f"and at least {found - len(first):,} more")
    return Told(first, f"and {found - len(first):,} more" if found > len(first) else "")
