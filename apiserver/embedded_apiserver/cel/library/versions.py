# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' functions of semantic versions, with the texts of the Go package that it uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from embedded_apiserver.cel import types
from embedded_apiserver.cel.declarations import Function, Library, Overload
from embedded_apiserver.cel.errors import EvaluationError
from embedded_apiserver.cel.library import costs
from embedded_apiserver.cel.types import BOOL, INT, STRING
from embedded_apiserver.cel.values import Opaque, Value
from embedded_apiserver.quoting import quoted

_SEMVER = types.opaque("kubernetes.Semver")
_LARGEST = (1 << 64) - 1
_LETTERS = frozenset("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-")


class Semver(Opaque):
    """A semantic version, the value of the CEL type `kubernetes.Semver`. Build metadata is ignored.

    Attributes:
        numbers: The major, minor and patch number.
        before: The identifiers of the pre-release: texts, and numbers as integers.
    """

    __slots__ = ("before", "numbers")
    type = _SEMVER

    def __init__(self, numbers: tuple[int, ...], before: tuple[int | str, ...]) -> None:
        self.numbers, self.before = numbers, before

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and (self.numbers, self.before) == (other.numbers, other.before)

    def __hash__(self) -> int:
        return hash((self.numbers, self.before))

    def order(self) -> tuple[Any, ...]:
        """Return the sort key: a pre-release comes before its release, numbers before words."""
        words = tuple((isinstance(word, str), word) for word in self.before)
        return self.numbers, not self.before, words


def semver(text: str, normalize: bool = False) -> Semver:
    """Return the semantic version that a text represents.

    Args:
        text: The text.
        normalize: True to accept a leading `v`, leading zeros, and fewer than three numbers.

    Raises:
        EvaluationError: The text is not a semantic version.
    """
    return _parsed(_normalized(text) if normalize else text)


def _parsed(text: str) -> Semver:
    if not text:
        raise EvaluationError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise EvaluationError("No Major.Minor.Patch elements found")
    rest, plus, build = parts[2].partition("+")
    patch, dash, before = rest.partition("-")
    numbers = (_number(parts[0], "major"), _number(parts[1], "minor"), _number(patch, "patch"))
    words = tuple(map(_word, before.split("."))) if dash else ()
    for word in build.split(".") if plus else ():
        if not word:
            raise EvaluationError("Build meta data is empty")
        if not _LETTERS.issuperset(word):
            raise EvaluationError(f"Invalid character(s) found in build meta data {quoted(word)}")
    return Semver(numbers, words)


def _number(text: str, name: str) -> int:
    if not all("0" <= letter <= "9" for letter in text):
        raise EvaluationError(f"Invalid character(s) found in {name} number {quoted(text)}")
    if len(text) > 1 and text[0] == "0":
        raise EvaluationError(f"{name.capitalize()} number must not contain leading zeroes {quoted(text)}")
    return _bounded(text)


def _bounded(text: str) -> int:
    if not text:
        raise EvaluationError('strconv.ParseUint: parsing "": invalid syntax')
    if len(text) > len(str(_LARGEST)) or int(text) > _LARGEST:
        raise EvaluationError(f"strconv.ParseUint: parsing {quoted(text)}: value out of range")
    return int(text)


def _word(text: str) -> int | str:
    if not text:
        raise EvaluationError("Prerelease is empty")
    if all("0" <= letter <= "9" for letter in text):
        if len(text) > 1 and text[0] == "0":
            raise EvaluationError(f"Numeric PreRelease version must not contain leading zeroes {quoted(text)}")
        return _bounded(text)
    if not _LETTERS.issuperset(text):
        raise EvaluationError(f"Invalid character(s) found in prerelease {quoted(text)}")
    return text


def _normalized(text: str) -> str:
    parts = [_without_zeros(part) for part in text.removeprefix("v").split(".", 2)]
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise EvaluationError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _without_zeros(part: str) -> str:
    if len(part) < 2:
        return part
    left = part.lstrip("0")
    return left if left and "0" <= left[0] <= "9" else f"0{left}"


def is_semver(text: str, normalize: bool = False) -> bool:
    """Return whether a text is a semantic version; for `normalize` see `semver`."""
    try:
        semver(text, normalize)
    except EvaluationError:
        return False
    return True


def _compared(one: Semver, other: Semver) -> int:
    first, second = one.order(), other.order()
    return (first > second) - (first < second)


def _parsing(name: str, id_: str, result: types.Type, call: Callable[..., Value], *more: types.Type) -> Function:
    made = Overload(id_, (STRING, *more), result, call, cost=costs.read(), estimate=costs.read_estimate())
    return Function(name, (made,))


def _method(name: str, id_: str, result: types.Type, call: Callable[..., Any], *more: types.Type) -> Function:
    made = Overload(
        *(id_, (_SEMVER, *more), result, call), member=True, cost=costs.nominal, estimate=costs.nominal_estimate
    )
    return Function(name, (made,))


VERSIONS = Library(
    (
        _parsing("semver", "string_to_semver", _SEMVER, semver),
        _parsing("semver", "string_bool_to_semver", _SEMVER, semver, BOOL),
        _parsing("isSemver", "is_semver_string", BOOL, is_semver),
        _parsing("isSemver", "is_semver_string_bool", BOOL, is_semver, BOOL),
        _method("isGreaterThan", "semver_is_greater_than", BOOL, lambda one, other: _compared(one, other) > 0, _SEMVER),
        _method("isLessThan", "semver_is_less_than", BOOL, lambda one, other: _compared(one, other) < 0, _SEMVER),
        _method("compareTo", "semver_compare_to", INT, _compared, _SEMVER),
        _method("major", "semver_major", INT, lambda one: one.numbers[0]),
        _method("minor", "semver_minor", INT, lambda one: one.numbers[1]),
        _method("patch", "semver_patch", INT, lambda one: one.numbers[2]),
    )
)
"""The functions of semantic versions."""
