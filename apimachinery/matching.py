# SPDX-License-Identifier: Apache-2.0
"""Requirements of selectors, grouped by label or field, so that a match costs as much as the object has of them.

A selector of 60 KB can hold ten thousand requirements or values, and a list applies it to each object.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

_HIGHEST = 1 << 63  # beyond all integers of a label


class _Wanted:
    """The requirements for one label that has to be there."""

    def __init__(self) -> None:
        self.values: frozenset[str] | None = None  # any
        self.above, self.below = -1, _HIGHEST
        self.is_number = False

    def narrow(self, operator: str, values: Sequence[str]) -> None:
        """Add a requirement."""
        if operator in ("in", "="):
            self.values = frozenset(values) if self.values is None else self.values & frozenset(values)
        elif operator in (">", "<"):
            self.is_number, limit = True, integer(values[0])
            if limit is None:
                self.values = frozenset()  # nothing compares with what is no number
            elif operator == ">":
                self.above = max(limit, self.above)
            else:
                self.below = min(limit, self.below)

    def fits(self, value: str, number: int | None) -> bool:
        if self.values is not None and value not in self.values:
            return False
        return not self.is_number or (number is not None and self.above < number < self.below)


class LabelMatch:
    """All requirements of a label selector, grouped by label for fast matching.

    Args:
        requirements: The key, operator (such as `notin`) and values of each requirement.

    Threads: any.
    """

    def __init__(self, requirements: Iterable[tuple[str, str, Sequence[str]]]) -> None:
        self._present: dict[str, _Wanted] = {}
        self._absent: set[str] = set()
        self._excluded: dict[str, set[str]] = {}
        for key, operator, values in requirements:
            match operator:
                case "!":
                    self._absent.add(key)
                case "notin" | "!=":
                    self._excluded.setdefault(key, set()).update(values)
                case _:
                    self._present.setdefault(key, _Wanted()).narrow(operator, values)

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether `labels` meet all requirements."""
        if len(self._present) > len(labels):
            return False
        for key, wanted in self._present.items():
            value = labels.get(key)
            if value is None or not wanted.fits(value, integer(value) if wanted.is_number else None):
                return False
        if not self._absent and not self._excluded:
            return True
        return not any(key in self._absent or value in self._excluded.get(key, ()) for key, value in labels.items())


class FieldMatch:
    """All requirements of a field selector; a missing field counts as an empty text.

    Args:
        requirements: The field and value of each requirement, and True if the field must equal the value, False if it
            must differ.

    Threads: any.
    """

    def __init__(self, requirements: Iterable[tuple[str, str, bool]]) -> None:
        self._equal: dict[str, set[str]] = {}
        self._unequal: dict[str, set[str]] = {}
        for field, value, equal in requirements:
            (self._equal if equal else self._unequal).setdefault(field, set()).add(value)

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Return whether `fields`, values by path, meet all requirements."""
        for field, values in self._equal.items():
            if len(values) > 1 or fields.get(field, "") not in values:
                return False
        return all(fields.get(field, "") not in values for field, values in self._unequal.items())


def integer(text: str) -> int | None:
    """Return the number in a label's value; None unless it consists of decimal digits and is at most 2**63 - 1."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 19 and int(text) < _HIGHEST else None
