# SPDX-License-Identifier: Apache-2.0
"""Durations and ages in the short form that `kubectl get` shows."""

from __future__ import annotations

from datetime import datetime

_MINUTE = 60
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_YEAR = 365 * _DAY
# Below so many seconds, a duration is shown in a unit and, if there is a second one, the rest in that.
_STEPS = (
    (2 * _MINUTE, (1, "s"), None),
    (10 * _MINUTE, (_MINUTE, "m"), (1, "s")),
    (3 * _HOUR, (_MINUTE, "m"), None),
    (8 * _HOUR, (_HOUR, "h"), (_MINUTE, "m")),
    (48 * _HOUR, (_HOUR, "h"), None),
    (8 * _DAY, (_DAY, "d"), (_HOUR, "h")),
    (2 * _YEAR, (_DAY, "d"), None),
    (8 * _YEAR, (_YEAR, "y"), (_DAY, "d")),
    (float("inf"), (_YEAR, "y"), None),
)

UNKNOWN = "<unknown>"


def short_duration(seconds: float) -> str:
    """Return a duration in the short form of kubectl, such as `5s`, `3m20s` or `2d`.

    As in kubectl, a negative duration is `0s` if it is shorter than two seconds, because clocks differ a little,
    otherwise `<invalid>`.
    """
    whole = int(seconds)
    if whole < 0:
        return "0s" if whole > -2 else "<invalid>"
    (size, unit), finer = next((coarse, fine) for limit, coarse, fine in _STEPS if whole < limit)
    count, rest = divmod(whole, size)
    if finer is None or (rest := rest // finer[0]) == 0:
        return f"{count}{unit}"
    return f"{count}{unit}{rest}{finer[1]}"


def age(time: str | None, now: datetime) -> str:
    """Return the duration from `time` to `now` in the short form of kubectl; `<unknown>` if `time` is missing or
    empty.
    """
    if not time:
        return UNKNOWN
    return short_duration((now - datetime.fromisoformat(time)).total_seconds())
