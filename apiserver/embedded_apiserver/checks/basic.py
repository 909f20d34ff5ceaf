# SPDX-License-Identifier: Apache-2.0
"""Rules of single values: numbers, words, names, percentages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from apimachinery.names import label_errors, qualified_name_errors, subdomain_errors
from embedded_apiserver.causes import invalid, not_supported, required
from embedded_apiserver.objects import Object
from embedded_apiserver.status import Cause

NOT_NEGATIVE = "must be greater than or equal to 0"
IMMUTABLE = "field is immutable"
PROTOCOLS = ("SCTP", "TCP", "UDP")
_MOST = 2**31 - 1
_PERCENT = re.compile(r"[0-9]+%")
_PERCENT_TEXT = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)

Problems = Callable[[str], Iterable[str]]


def non_negative(obj: Object, place: str, *names: str) -> Iterator[Cause]:
    """Return a validation error for each of the fields `names` of `obj` that is negative."""
    for name in names:
        if (value := obj.get(name)) is not None and value < 0:
            yield invalid(f"{place}.{name}", value, NOT_NEGATIVE)


def in_range(value: int, low: int, high: int, field: str) -> list[Cause]:
    """Return a validation error if a number is not in the range from `low` to `high`, both included."""
    return [] if low <= value <= high else [invalid(field, value, f"must be between {low} and {high}, inclusive")]


def port_number(value: int, field: str) -> list[Cause]:
    """Return a validation error if a number is not a port (1 to 65535)."""
    return in_range(value, 1, 65535, field)


def identifier(obj: Object, name: str, place: str) -> list[Cause]:
    """Return a validation error if the user or group id in the field `name` is out of range; a missing one is valid."""
    value = obj.get(name)
    return [] if value is None else in_range(value, 0, _MOST, f"{place}.{name}")


def one_of(value: object, supported: Sequence[str], field: str) -> list[Cause]:
    """Return a validation error if the value is not one of `supported`."""
    return [] if value in supported else [not_supported(field, value, supported)]


def given_one_of(value: object, supported: Sequence[str], field: str) -> list[Cause]:
    """Return a validation error if a value is not one of `supported`. A missing or empty value is no error."""
    return [not_supported(field, value, supported)] if value and value not in supported else []


def each(problems: Problems, value: str, field: str) -> list[Cause]:
    """Return a validation error for each text that `problems` returns for the value."""
    return [invalid(field, value, text) for text in problems(value)]


def label(value: str, field: str) -> list[Cause]:
    """Return the validation errors of a text that must be a DNS label."""
    return each(label_errors, value, field)


def subdomain(value: str, field: str) -> list[Cause]:
    """Return the validation errors of a text that must be a DNS subdomain."""
    return each(subdomain_errors, value, field)


def qualified_name(value: str, field: str) -> list[Cause]:
    """Return the validation errors of a text that must be a qualified name, such as `example.com/a`."""
    return each(qualified_name_errors, value, field)


def needs(obj: Object, place: str, *names: str) -> Iterator[Cause]:
    """Return a validation error for each of the fields `names` of `obj` that is missing or empty."""
    for name in names:
        if not obj.get(name):
            yield required(f"{place}.{name}")


def unchanged(before: object, after: object, field: str, shown: Any = None) -> list[Cause]:
    """Return a validation error if an immutable field has changed.

    `shown` replaces the new value in the message; None shows the new value itself.
    """
    if before == after or (not before and not after and type(before) is not int and type(after) is not int):
        return []
    return [invalid(field, after if shown is None else shown, IMMUTABLE)]


def count_or_percent(value: int | str, field: str) -> list[Cause]:
    """Return a validation error if a value is neither a non-negative count nor a percentage."""
    if isinstance(value, str):
        return [] if _PERCENT.fullmatch(value) else [invalid(field, value, _PERCENT_TEXT)]
    return [] if value >= 0 else [invalid(field, value, NOT_NEGATIVE)]


def at_most_all(value: int | str, field: str) -> list[Cause]:
    """Return a validation error if a value is a percentage above 100."""
    is_percent = isinstance(value, str) and _PERCENT.fullmatch(value)
    return [invalid(field, value, "must not be greater than 100%")] if is_percent and amount(value) > 100 else []


def amount(value: int | str) -> int:
    """Return the number in a count or a percentage; 0 for a text without a number."""
    if isinstance(value, int):
        return value
    digits = value[:-1] if _PERCENT.fullmatch(value) else value
    try:
        return int(digits)
    except ValueError:
        return 0


def take(target: dict[str, Any], source: Object, name: str) -> None:
    """Copy a field from `source` to `target`; remove it from `target` if `source` lacks it."""
    if name in source:
        target[name] = source[name]
    else:
        target.pop(name, None)
