# SPDX-License-Identifier: Apache-2.0
"""Durations and timestamps: their texts, and the parts of a date in a time zone."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from embedded_apiserver.cel.errors import EvaluationError
from embedded_apiserver.cel.numbers import as_duration, as_timestamp
from embedded_apiserver.cel.values import Duration, Timestamp

_UNITS = {
    "ns": 1, "us": 10**3, "µs": 10**3, "μs": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9,
}  # fmt: skip
_PART = re.compile(r"(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d?\d):(\d\d):(\d\d)(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))", re.ASCII)
_BILLION = 10**9
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONGEST = 2**63


def duration(text: str) -> Duration:
    """Return the duration that a text such as `1h30m` represents.

    Raises:
        EvaluationError: The text is not a duration.
    """
    found = _nanoseconds(text)
    if found is None or not -_LONGEST <= found < _LONGEST:
        raise EvaluationError("type conversion error from 'string' to 'google.protobuf.Duration'")
    return Duration(found)


def _nanoseconds(text: str) -> int | None:
    negative = text.startswith("-")
    body = text[1:] if text[:1] in ("-", "+") else text
    if body == "0":
        return 0
    total, place = 0, 0
    while place < len(body):
        part = _PART.match(body, place)
        if part is None or not (part.group(1) or part.group(2)) or len(part.group(1)) > 30:
            return None
        unit = _UNITS[part.group(3)]
        total += int(part.group(1) or 0) * unit
        fraction = (part.group(2) or "")[:30]
        if fraction:
            total += int(fraction) * unit // 10 ** len(fraction)
        place = part.end()
    return (-total if negative else total) if body else None


def text_of_duration(value: Duration) -> str:
    """Return a duration as a text in seconds, such as `5400s`."""
    whole, rest = divmod(abs(value.nanoseconds), _BILLION)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    return f"{'-' if value.nanoseconds < 0 else ''}{whole}{fraction}s"


def timestamp(text: str) -> Timestamp:
    """Return the time that a text in the format RFC 3339 represents.

    Raises:
        EvaluationError: The text is not a time.
    """
    match = _TIME.fullmatch(text)
    failed = "type conversion error from 'string' to 'google.protobuf.Timestamp'"
    if match is None:
        raise EvaluationError(failed)
    *numbers, fraction, sign, hours, minutes = match.groups()
    year, month, day, hour, minute, second = (int(number) for number in numbers)
    if year == 0:
        raise EvaluationError("timestamp overflow")
    if int(hours or 0) > 24 or int(minutes or 0) > 60:
        raise EvaluationError(failed)
    try:
        moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        raise EvaluationError(failed) from None
    offset = (int(hours or 0) * 60 + int(minutes or 0)) * (-60 if sign == "-" else 60)
    parts = int(((fraction or "") + "000000000")[:9])
    return as_timestamp(((moment - _EPOCH) // timedelta(seconds=1) - offset) * _BILLION + parts)


def text_of_timestamp(value: Timestamp) -> str:
    """Return a time in UTC as text in the format RFC 3339."""
    seconds, rest = divmod(value.nanoseconds, _BILLION)
    moment = _EPOCH + timedelta(seconds=seconds)
    fraction = f".{rest:09d}".rstrip("0") if rest else ""
    date = f"{moment.year:04d}-{moment.month:02d}-{moment.day:02d}"
    return f"{date}T{moment.hour:02d}:{moment.minute:02d}:{moment.second:02d}{fraction}Z"


def plus(time: Timestamp, span: Duration) -> Timestamp:
    """Return the time `span` after `time`.

    Raises:
        EvaluationError: The result is not in the years 1 to 9999.
    """
    return as_timestamp(time.nanoseconds + span.nanoseconds)


def minus(time: Timestamp, span: Duration) -> Timestamp:
    """Return the time `span` before `time`.

    Raises:
        EvaluationError: The result is not in the years 1 to 9999.
    """
    return as_timestamp(time.nanoseconds - span.nanoseconds)


def between(one: Timestamp, other: Timestamp) -> Duration:
    """Return the duration from `other` to `one`, negative if `one` is earlier.

    Raises:
        EvaluationError: The result does not fit into 64 bits of nanoseconds.
    """
    return as_duration(one.nanoseconds - other.nanoseconds)


def part_of(part: str) -> Callable[..., int]:
    """Return a function that returns a part, such as `getFullYear`, of a time in a time zone, by default UTC."""
    read = _PARTS[part]

    def found(time: Timestamp, zone: str = "UTC") -> int:
        seconds, rest = divmod(time.nanoseconds, _BILLION)
        moment = _EPOCH + timedelta(seconds=seconds, microseconds=rest // 1000)
        try:
            return read(moment.astimezone(_zone(zone)))
        except OverflowError:
            raise EvaluationError("timestamp overflow") from None

    return found


_PARTS: dict[str, Callable[[datetime], int]] = {
    "getFullYear": lambda moment: moment.year,
    "getMonth": lambda moment: moment.month - 1,
    "getDayOfYear": lambda moment: moment.timetuple().tm_yday - 1,
    "getDayOfMonth": lambda moment: moment.day - 1,
    "getDate": lambda moment: moment.day,
    "getDayOfWeek": lambda moment: moment.isoweekday() % 7,
    "getHours": lambda moment: moment.hour,
    "getMinutes": lambda moment: moment.minute,
    "getSeconds": lambda moment: moment.second,
    "getMilliseconds": lambda moment: moment.microsecond // 1000,
}


@lru_cache(maxsize=64)
def _zone(name: str) -> tzinfo:
    """Return a time zone by its name or offset; only so many are kept, since clients name them."""
    if name in ("", "UTC", "Local"):
        return UTC
    if ":" in name:
        hours, _, minutes = name.partition(":")
        for number in (hours, minutes):
            if not re.fullmatch(r"[+-]?\d{1,9}", number, re.ASCII):
                raise EvaluationError(f'strconv.Atoi: parsing "{number}": invalid syntax')
        offset = int(hours) * 60 + (-int(minutes) if name.startswith("-") else int(minutes))
        if abs(offset) >= 24 * 60:
            raise EvaluationError("timestamp overflow")
        return timezone(timedelta(minutes=offset))
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise EvaluationError(f"unknown time zone {name}") from None


def hours_of(span: Duration) -> int:
    """Return the whole hours of a duration, rounded towards zero."""
    return _towards_zero(span.nanoseconds, 3600 * _BILLION)


def minutes_of(span: Duration) -> int:
    """Return the whole minutes of a duration, rounded towards zero."""
    return _towards_zero(span.nanoseconds, 60 * _BILLION)


def seconds_of(span: Duration) -> int:
    """Return the whole seconds of a duration, rounded towards zero."""
    return _towards_zero(span.nanoseconds, _BILLION)


def milliseconds_of(span: Duration) -> int:
    """Return the whole milliseconds of a duration, rounded towards zero."""
    return _towards_zero(span.nanoseconds, 10**6)


def _towards_zero(amount: int, unit: int) -> int:
    return -(-amount // unit) if amount < 0 else amount // unit
