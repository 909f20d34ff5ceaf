# SPDX-License-Identifier: Apache-2.0
"""Parses semantic versions and puts them in order."""

from __future__ import annotations

import re
from typing import NamedTuple

_NUMBER = "(0|[1-9][0-9]{0,18})"  # at most 19 digits, which fit into 64 bits
_WORDS = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_VERSION = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-({_WORDS}))?(?:\+{_WORDS})?", re.ASCII)


class SemVer(NamedTuple):
    """A semantic version, ordered by the rules of semver.org. Build metadata is not kept, because it does not affect
    the order.

    Attributes:
        major: The first number.
        minor: The second number.
        patch: The third number.
        is_release: False for a pre-release.
        preview: The identifiers of the pre-release, in a form that compares as semver.org requires.
    """

    major: int
    minor: int
    patch: int
    is_release: bool = True
    """False for a preview, which sorts before its release."""
    preview: tuple[tuple[bool, int, str], ...] = ()
    """The dot-separated identifiers of a preview, encoded so that tuples sort as the rules say: numbers come first and
    compare by value, then texts."""

    @property
    def finalized(self) -> str:
        """The three numbers as text: the version without its pre-release part."""
        return f"{self.major}.{self.minor}.{self.patch}"


ZERO = SemVer(0, 0, 0)


def parse(text: str) -> SemVer | None:
    """Return the semantic version in `text`; None if `text` is not a complete semantic version."""
    match = _VERSION.fullmatch(text)
    if match is None:
        return None
    major, minor, patch, preview = match.groups()
    words = preview.split(".") if preview else []
    ranks = tuple((False, int(word), "") if _is_number(word) else (True, 0, word) for word in words)
    return SemVer(int(major), int(minor), int(patch), not words, ranks)


def parse_tolerant(text: str) -> SemVer | None:
    """Return the version in a loosely written text: with spaces around it, a leading `v`, leading zeros, or missing
    numbers.

    None if `text` is not a version, or has a pre-release or build part and fewer than three numbers.
    """
    parts = text.strip().removeprefix("v").split(".", 2)
    if len(parts) < 3 and re.search("[+-]", parts[-1]):
        return None  # in "1.2-beta" it is unclear which number is missing
    parts = [re.sub(r"^0+(?=[0-9])", "", part) for part in parts] + ["0"] * (3 - len(parts))
    return parse(".".join(parts))


def _is_number(word: str) -> bool:
    return word.isdecimal() and len(word) <= 19
