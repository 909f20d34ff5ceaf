# SPDX-License-Identifier: Apache-2.0
"""Semantic versions: read, and put in order."""

from __future__ import annotations

import re
from typing import NamedTuple

_NUMBER = "(0|[1-9][0-9]{0,18})"  # what a machine's integer holds
_WORDS = r"[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*"
_VERSION = re.compile(rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-({_WORDS}))?(?:\+{_WORDS})?", re.ASCII)


class SemVer(NamedTuple):
    """One version; they compare as semver.org says. Build metadata is left out: it does not count."""

    major: int
    minor: int
    patch: int
    is_release: bool = True
    """A release comes after its own previews."""
    preview: tuple[tuple[bool, int, str], ...] = ()
    """The words of a preview: numbers by their value, and before other words."""

    @property
    def finalized(self) -> str:
        """The three numbers alone: the release that this is, or leads to."""
        return f"{self.major}.{self.minor}.{self.patch}"


ZERO = SemVer(0, 0, 0)


def parse(text: str) -> SemVer | None:
    """The version that `text` is, three numbers and all; None for anything else."""
    match = _VERSION.fullmatch(text)
    if match is None:
        return None
    major, minor, patch, preview = match.groups()
    words = preview.split(".") if preview else []
    ranks = tuple((False, int(word), "") if _is_number(word) else (True, 0, word) for word in words)
    return SemVer(int(major), int(minor), int(patch), not words, ranks)


def parse_tolerant(text: str) -> SemVer | None:
    """The same of what people write: blanks around it, a `v` before it, leading zeros, numbers left out at the end."""
    parts = text.strip().removeprefix("v").split(".", 2)
    if len(parts) < 3 and re.search("[+-]", parts[-1]):
        return None  # "1.2-beta" could mean two things
    parts = [re.sub(r"^0+(?=[0-9])", "", part) for part in parts] + ["0"] * (3 - len(parts))
    return parse(".".join(parts))


def _is_number(word: str) -> bool:
    return word.isdecimal() and len(word) <= 19
