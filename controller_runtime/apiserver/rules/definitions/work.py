# SPDX-License-Identifier: Apache-2.0
"""The work of checking one object by a schema: paths that are spelled only for a fault, and a bound on all checks.

A schema and an object of 3 MB each can ask for billions of comparisons. A real server carries them out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from controller_runtime.apiserver.bounds import listed
from controller_runtime.apiserver.rules.definitions.patterns import Pattern, compiled
from controller_runtime.apiserver.status import too_large

MOST_CHECKS = 250_000
"""Checks of a value by a schema, and of names that have to be there, for one object or one definition."""

_FEW = 16  # words that are compared one by one
_SORTED = 10  # words that are put into a set in the time of a check
_COMPILED = 5  # instructions of a pattern that are made in the time of a check
_MATCHED = 1_000  # characters, times instructions, that are matched in the time of a check


class Path(NamedTuple):
    """The place of a value. Its text is made on demand, because names can be long and values below them many."""

    parent: Path | None
    step: str

    def __str__(self) -> str:
        steps, place = [], self
        while place.parent is not None:
            steps.append(place.step)
            place = place.parent
        return place.step + "".join(reversed(steps)) if place.step else "".join(reversed(steps)).removeprefix(".")

    def below(self, step: str) -> Path:
        """Return the path that goes on by `.name` or `[0]`."""
        return Path(self, step)


ROOT = Path(None, "")


class Work:
    """The checks of one object by the schema of its kind, or of one definition. Threads: one."""

    def __init__(self) -> None:
        self._left = MOST_CHECKS
        self._patterns: dict[str, Pattern] = {}
        # What is known of the words of enums, by their identity; the schema keeps them alive.
        self._words: dict[int, tuple[frozenset[Any], list[Any]]] = {}
        self._told: dict[int, str] = {}

    def spend(self, checks: int) -> None:
        """Count checks that are about to be done.

        Raises:
            StatusError: 413, all together are too many.
        """
        self._left -= checks
        if self._left < 0:
            raise too_large(f"limit is {MOST_CHECKS} checks by the schemas of a kind")

    def matches(self, pattern: str, text: str) -> bool:
        """Return whether a text has somewhere what a pattern describes.

        Raises:
            NoPattern: It describes nothing.
            StatusError: 413, it would take too long.
        """
        made = self.compiled(pattern)
        self.spend(len(text) * made.size // _MATCHED)
        return made.matches(text)

    def compiled(self, pattern: str) -> Pattern:
        """Return a pattern, compiled once for all its uses.

        Raises:
            NoPattern: It is none.
            StatusError: 413, there are too many, or too large ones.
        """
        made = self._patterns.get(pattern)
        if made is None:
            made = self._patterns[pattern] = compiled(pattern)
            self.spend(made.size // _COMPILED)
        return made

    def is_among(self, value: Any, words: Sequence[Any]) -> bool:
        """Return whether `value` is one of the words of an enum."""
        if len(words) <= _FEW:
            return value in words
        if (known := self._words.get(id(words))) is None:
            self.spend(len(words) // _SORTED)
            others = [word for word in words if isinstance(word, dict | list)]
            single = frozenset(word for word in words if not isinstance(word, dict | list))
            known = self._words[id(words)] = single, others
        single, others = known
        if not isinstance(value, dict | list):
            return value in single
        self.spend(len(others))
        return value in others

    def told(self, words: Sequence[Any]) -> str:
        """Return the words of an enum as a refusal lists them."""
        if (text := self._told.get(id(words))) is None:
            text = self._told[id(words)] = listed(map(_quoted, words), len(words))
        return text


def _quoted(word: Any) -> str:
    text = word if isinstance(word, str) else msgspec.json.encode(word).decode()
    return msgspec.json.encode(text).decode()
