# SPDX-License-Identifier: Apache-2.0
"""Paths of values that are cheap to build."""

from __future__ import annotations

from typing import NamedTuple


class Path(NamedTuple):
    """The path of a value. Its text is built only for an error message, because that would be expensive for each value.

    Attributes:
        parent: The path of the object or list that contains the value; None at the root.
        step: The last step, such as `.name` or `[0]`; at the root, the prefix of all paths.
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
        """Return the path of a value inside the value at this path, whose last step is `step`, such as `.name` or
        `[0]`.
        """
        return Path(self, step)


ROOT = Path(None, "")
