# SPDX-License-Identifier: Apache-2.0
"""Regular expressions of schemas, run by RE2; where that is not installed, a subset by an engine of our own.

Patterns come from clients, and both match in time linear in the text; `re` can take exponential time. The syntax is
that of Go's regular expressions, which a real API server uses.
"""

from __future__ import annotations

import re
import sysconfig
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, TypeAlias

from apimachinery.errors import UsageError
from apimachinery.log import get_logger
from embedded_apiserver.pattern_subset import BeyondSubset, SubsetPattern

log = get_logger(__name__)

# The faults that Go's regular expressions have under other names than those of RE2.
_FAULTS = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "trailing \\": "trailing backslash at end of expression",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid repetition size": "invalid repeat count",
    "invalid named capture group": "invalid named capture",
}


_FEW = 20
"""Instructions of a pattern up to which RE2 keeps all its states."""


_MOST_REPEATED = 1_000
"""The most times that RE2 repeats a part."""


class NoPattern(ValueError):
    """A text is not a valid regular expression; the message is that of a real API server."""

    def __init__(self, problem: str) -> None:
        fault, _, place = problem.partition(": ")
        super().__init__(f"error parsing regexp: {_FAULTS.get(fault, fault)}: `{place}`")


class Pattern:
    """A regular expression compiled by RE2.

    Attributes:
        size: The number of RE2 instructions. A search executes at most this many for each character.
    """

    def __init__(self, made: Any) -> None:  # the engine is untyped
        self._made = made
        self.size: int = made.programsize

    def matches(self, text: str) -> bool:
        """Return whether the pattern matches anywhere in `text`."""
        return self._made.search(text) is not None

    def steps(self, characters: int) -> int:
        """Return the maximum cost of a search in a text of `characters` characters, in steps of 0.1 µs.

        A pattern with few instructions has few states, which RE2 caches: a character then takes 1 to 5 ns. For other
        patterns RE2 may have to simulate all instructions, at up to 14 ns each (measured with 1.1.20251105).
        """
        return 1 + characters * self.size // 10 if self.size > _FEW else 1 + characters // 32

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the start and the end of each match in `text`; the matches do not overlap."""
        for match in self._made.finditer(text):
            yield match.span()


AnyPattern: TypeAlias = Pattern | SubsetPattern


_REPETITION = re.compile(r"(\))?\{(?:\d*,)?(\d*)\}")


def steps_to_compile(pattern: str) -> int:
    """Return the maximum cost of compiling a pattern, in steps of 0.1 µs, estimated from its text.

    The time that RE2 needs grows with the square of the number of optional parts in sequence: 1.3 s for 20,000, which a
    text of 240 characters can have. Further cost depends on the number of instructions, which is known only after
    compilation.
    """
    parts = pattern.count("?") + pattern.count("*")
    for closed, most in _REPETITION.findall(pattern):
        parts += min(int(most[:5] or 1), _MOST_REPEATED) * (len(pattern) if closed else 1)
    return len(pattern) + parts * parts // 30


def compiled(pattern: str) -> AnyPattern:
    """Return the compiled pattern, perhaps from a cache.

    Raises:
        NoPattern: RE2 is installed, and the text is not a regular expression.
        UsageError: RE2 is not installed, and the pattern is beyond the subset that needs none, or is not valid.
    """
    engine, options = _engine()
    if engine is None:
        return _of_the_subset(pattern)
    try:
        return Pattern(engine.compile(pattern, options))
    except engine.error as error:
        raise NoPattern(error.args[0].decode()) from None


@lru_cache(maxsize=512)
def _of_the_subset(pattern: str) -> SubsetPattern:
    try:
        return SubsetPattern(pattern)
    except BeyondSubset as error:
        is_free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))  # for which there is no wheel
        remedy = "build it for this Python" if is_free else "pip install google-re2"
        raise UsageError(f"the pattern {pattern!r} needs google-re2: {remedy} ({error})") from None


@cache
def _engine() -> tuple[Any, Any]:
    """Return RE2 and its options; imported when the first pattern is compiled, since most servers see none.

    Without RE2 both are None. Two threads that are here at once log twice, which does no other harm.
    """
    try:
        import re2
    except ModuleNotFoundError:
        log.warning(
            "google-re2 is not installed: patterns of schemas are matched slowly, and those beyond a subset fail"
        )
        return None, None
    options = re2.Options()
    options.log_errors = False  # RE2 would write each invalid pattern to stderr
    return re2, options
