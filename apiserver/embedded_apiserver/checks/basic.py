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
    """Return the validation errors of negative numbers among the fields `names`, in their order."""
    for name in names:
        if (value := obj.get(name)) is not None and value < 0:
            yield invalid(f"{place}.{name}", value, NOT_NEGATIVE)


def in_range(value: int, low: int, high: int, field: str) -> list[Cause]:
    """Return the cause of a number outside `low` to `high`."""
    return [] if low <= value <= high else [invalid(field, value, f"must be between {low} and {high}, inclusive")]


def port_number(value: int, field: str) -> list[Cause]:
    """Return the cause of a number that is not a port."""
    return in_range(value, 1, 65535, field)


def identifier(obj: Object, name: str, place: str) -> list[Cause]:
    """Return the cause of a user or group id out of range; a missing one has none."""
    value = obj.get(name)
    return [] if value is None else in_range(value, 0, _MOST, f"{place}.{name}")


def one_of(value: object, supported: Sequence[str], field: str) -> list[Cause]:
    """Return a validation error if the value is not one of `supported`."""
    return [] if value in supported else [not_supported(field, value, supported)]


def given_one_of(value: object, supported: Sequence[str], field: str) -> list[Cause]:
    """Return the cause of a word that is not one of `supported`; a missing one has a default."""
    return [not_supported(field, value, supported)] if value and value not in supported else []


def each(problems: Problems, value: str, field: str) -> list[Cause]:
    """Return one cause for each problem of a text."""
    return [invalid(field, value, text) for text in problems(value)]


def label(value: str, field: str) -> list[Cause]:
    """Return the validation errors of a text that must be a DNS label."""
    return each(label_errors, value, field)


def subdomain(value: str, field: str) -> list[Cause]:
    """Return the validation errors of a text that must be a DNS subdomain."""
    return each(subdomain_errors, value, field)


def qualified_name(value: str, field: str) -> list[Cause]:
    """Return the validation errors of a text that must be a name with an optional prefix."""
    return each(qualified_name_errors, value, field)


def needs(obj: Object, place: str, *names: str) -> Iterator[Cause]:
    """Return the validation errors of required fields that are missing or empty."""
    for name in names:
        if not obj.get(name):
            yield required(f"{place}.{name}")


def unchanged(before: object, after: object, field: str, shown: Any = None) -> list[Cause]:
    """Return the cause of a changed field that must not change; `shown` is how the message shows it."""
    if before == after or (not before and not after and type(before) is not int and type(after) is not int):
        return []
    return [invalid(field, after if shown is None else shown, IMMUTABLE)]


def count_or_percent(value: int | str, field: str) -> list[Cause]:
    """Return the cause of a value that is neither a count nor a percentage."""
    if isinstance(value, str):
        return [] if _PERCENT.fullmatch(value) else [invalid(field, value, _PERCENT_TEXT)]
    return [] if value >= 0 else [invalid(field, value, NOT_NEGATIVE)]


def at_most_all(value: int | str, field: str) -> list[Cause]:
    """Return the cause of a percentage above 100."""
    is_percent = isinstance(value, str) and _PERCENT.fullmatch(value)
    return [invalid(field, value, "must not be greater than 100%")] if is_percent and amount(value) > 100 else []


def amount(value: int | str) -> int:
    """Return the number of a count or a percentage; 0 for any other text that is not a number."""
    if isinstance(value, int):
        return value
    digits = value[:-1] if _PERCENT.fullmatch(value) else value
    try:
        return int(digits)
    except ValueError:
        return 0


def take(target: dict[str, Any], source: Object, name: str) -> None:
    """Give `target` a field as `source` has it, or remove it if `source` has none: then they do not differ in it."""
    if name in source:
        target[name] = source[name]
    else:
        target.pop(name, None)
