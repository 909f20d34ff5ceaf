# SPDX-License-Identifier: Apache-2.0
"""Paths of values that are cheap to build."""

from __future__ import annotations

from typing import NamedTuple


class Path(NamedTuple):
    """The path of a value. Its text is made only for an error: names can be long, and values below them many.

    Attributes:
        parent: The path of the object or list that holds the value; None at the root.
        step: `.name` or `[0]`; at the root, the text that all paths begin with.
    """

    parent: Path | None
    step: str

    def __str__(self) -> str:
        steps, place = [], self
        while place.parent is not None:
            steps.append(place.step)
            place = place.parent
        return place.step + "".join(reversed(steps)) if place.step else "".join(reversed(steps)).removeprefix(".")

    def below(self, step: str) -> Path:
        """Return the path of a value inside this one; `step` is `.name` or `[0]`."""
        return Path(self, step)


ROOT = Path(None, "")
