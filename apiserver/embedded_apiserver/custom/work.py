# SPDX-License-Identifier: Apache-2.0
"""A limit on the computation that one request may cause with a schema, and paths that are cheap to build.

A schema and an object of 3 MB each can ask for billions of comparisons. A real API server carries them out; this one
shares its process with the tests of a user, and refuses the request with 413.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from embedded_apiserver.bounds import listed
from embedded_apiserver.patterns import AnyPattern, compiled, steps_to_compile
from embedded_apiserver.status import too_large

MOST_CHECKS = 250_000
"""The most checks for one object or one definition.

A check is the comparison of one value with one schema, or anything else that takes about that time.
"""

_FEW = 16  # words of an enum that are compared one by one; more are put into a set
_SORTED = 10  # words that are put into a set in about the time of a check
_COMPILED = 5  # instructions of a pattern that are compiled in about the time of a check
_STEPS = 20  # steps of a pattern's compilation in about the time of a check
_MATCHED = 1_000  # characters times instructions that are matched in about the time of a check


class Work:
    """A limit on the number of schema checks for one object or one definition: at most `MOST_CHECKS`.

    Threads: one; it is not thread-safe.
    """

    def __init__(self) -> None:
        self._left = MOST_CHECKS
        self._patterns: dict[str, AnyPattern] = {}
        # For each enum, its words in a set, and those that cannot be in a set. The key is the id of the list of words,
        # which the schema keeps alive.
        self._words: dict[int, tuple[frozenset[Any], list[Any]]] = {}
        self._lists: dict[int, str] = {}

    def spend(self, checks: int) -> None:
        """Count checks before they are done.

        Raises:
            StatusError: 413, the limit is exceeded.
        """
        self._left -= checks
        if self._left < 0:
            raise too_large(f"limit is {MOST_CHECKS} checks by the schemas of a kind")

    def matches(self, pattern: str, text: str) -> bool:
        """Return whether a pattern matches anywhere in a text.

        Raises:
            NoPattern: The pattern is not a regular expression.
            StatusError: 413, the limit is exceeded.
        """
        made = self.compiled(pattern)
        self.spend(len(text) * made.size // _MATCHED)
        return made.matches(text)

    def compiled(self, pattern: str) -> AnyPattern:
        """Return a compiled pattern. Each pattern is compiled only once for a request.

        Raises:
            NoPattern: The pattern is not a regular expression.
            StatusError: 413, the patterns are too many or too large.
        """
        made = self._patterns.get(pattern)
        if made is None:
            self.spend(steps_to_compile(pattern) // _STEPS)
            made = self._patterns[pattern] = compiled(pattern)
            self.spend(made.size // _COMPILED)
        return made

    def is_among(self, value: Any, words: Sequence[Any]) -> bool:
        """Return whether `value` is one of `words`, the values of an enum."""
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

    def list_of(self, words: Sequence[Any]) -> str:
        """Return the permitted values of an enum as one text, for an error message."""
        if (text := self._lists.get(id(words))) is None:
            text = self._lists[id(words)] = listed(map(_quoted, words), len(words))
        return text


def _quoted(word: Any) -> str:
    text = word if isinstance(word, str) else msgspec.json.encode(word).decode()
    return msgspec.json.encode(text).decode()
