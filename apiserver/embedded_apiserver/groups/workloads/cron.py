# SPDX-License-Identifier: Apache-2.0
"""Reads the schedules of cron jobs: five fields, or a descriptor such as `@hourly`, as robfig/cron reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_DESCRIPTORS = ("@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly")
_EVERY = "@every "
_INTEGER = re.compile(r"[+-]?[0-9]+")
_MOST = 2**63 - 1
_UNITS = ("ns", "us", "µs", "μs", "ms", "s", "m", "h")
_AMOUNT = re.compile(r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_UNIT = re.compile(r"[^0-9.]*")
_ZONE = re.compile(r"(?:CRON_)?TZ=")


class _Bounds(NamedTuple):
    """The least and the greatest number of a field, and its names of numbers."""

    low: int
    high: int
    names: Mapping[str, int] = {}


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DAYS = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS = (
    _Bounds(0, 59),
    _Bounds(0, 23),
    _Bounds(1, 31),
    _Bounds(1, 12, {name: number for number, name in enumerate(_MONTHS, 1)}),
    _Bounds(0, 6, {name: number for number, name in enumerate(_DAYS)}),
)


def schedule_problem(text: str) -> str:
    """Return the error of a CronJob's schedule; empty if it is valid.

    A time zone before the fields is ignored, because another rule refuses it.
    """
    if _ZONE.match(text):
        _, space, rest = text.partition(" ")
        if not space:
            return "invalid schedule format: runtime error: slice bounds out of range [:-1]"
        text = rest.strip()
    try:
        _read(text)
    except ValueError as error:
        return str(error)
    return ""


def _read(text: str) -> None:
    if text.startswith("@"):
        _check_descriptor(text)
        return
    fields = text.split()
    if len(fields) != len(_FIELDS):
        raise ValueError(f"expected exactly {len(_FIELDS)} fields, found {len(fields)}: [{' '.join(fields)}]")
    for field, bounds in zip(fields, _FIELDS, strict=True):
        for expression in filter(None, field.split(",")):
            _check_range(expression, bounds)


def _check_range(expression: str, bounds: _Bounds) -> None:
    span, *steps = expression.split("/")
    low, *highs = span.split("-")
    if low in ("*", "?"):
        start, end = bounds.low, bounds.high
    else:
        start = _number(low, bounds)
        if len(highs) > 1:
            raise ValueError(f"too many hyphens: {expression}")
        end = _number(highs[0], bounds) if highs else start
    if len(steps) > 1:
        raise ValueError(f"too many slashes: {expression}")
    step = 1
    if steps:
        step = _integer(steps[0])
        end = bounds.high if not highs else end
    if start < bounds.low:
        raise ValueError(f"beginning of range ({start}) below minimum ({bounds.low}): {expression}")
    if end > bounds.high:
        raise ValueError(f"end of range ({end}) above maximum ({bounds.high}): {expression}")
    if start > end:
        raise ValueError(f"beginning of range ({start}) beyond end of range ({end}): {expression}")
    if step == 0:
        raise ValueError(f"step of range should be a positive number: {expression}")


def _number(text: str, bounds: _Bounds) -> int:
    named = bounds.names.get(text.lower())
    return _integer(text) if named is None else named


def _integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise ValueError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": invalid syntax')
    number = int(text)
    if abs(number) > _MOST:
        raise ValueError(f'failed to parse int from {text}: strconv.Atoi: parsing "{text}": value out of range')
    if number < 0:
        raise ValueError(f"negative number ({number}) not allowed: {text}")
    return number


def _check_descriptor(text: str) -> None:
    if text in _DESCRIPTORS:
        return
    if not text.startswith(_EVERY):
        raise ValueError(f"unrecognized descriptor: {text}")
    if problem := _duration_problem(text.removeprefix(_EVERY)):
        raise ValueError(f"failed to parse duration {text}: {problem}")


def _duration_problem(text: str) -> str:
    """Return what is wrong with a duration such as `1h30m`."""
    rest = text[1:] if text.startswith(("+", "-")) else text
    if rest == "0":
        return ""
    if not rest:
        return f'time: invalid duration "{text}"'
    while rest:
        if (match := _AMOUNT.match(rest)) is None:
            return f'time: invalid duration "{text}"'
        rest = rest[match.end() :]
        unit = _UNIT.match(rest)
        name = unit[0] if unit else ""
        if not name:
            return f'time: missing unit in duration "{text}"'
        if name not in _UNITS:
            return f'time: unknown unit "{name}" in duration "{text}"'
        rest = rest[len(name) :]
    return ""
