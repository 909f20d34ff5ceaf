# SPDX-License-Identifier: Apache-2.0
"""Texts as Go writes them, and durations as it reads them, for parameters and refusals of a real API server."""

from __future__ import annotations

import re
from typing import Any

from embedded_apiserver.quoting import quoted
from embedded_apiserver.status import StatusError, bad_request

_JSON_STARTS = [bytes([one]) for one in b'{["-0123456789tfn']
_BAD_TIMEOUT = "invalid timeout specified in the request URL - time: "
_QUANTITY = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([^0-9.]*)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_LONGEST = (1 << 63) * 1e-9
# A shorter time passes on a real server before the request is carried out.
_LEAST = 1e-3


def no_json(content: bytes) -> str:
    """Return the error of a text that does not begin with a JSON value, in the words of a real API server; empty if it
    does.
    """
    rest = content.lstrip(b" \t\r\n")
    if not rest:
        return "unexpected end of JSON input"
    if rest[:1] in _JSON_STARTS:
        return ""
    character = {"'": "\\'", '"': '"'}.get(chr(rest[0]), quoted(chr(rest[0]))[1:-1])
    return f"invalid character '{character}' looking for beginning of value"


def go_value(value: Any) -> str:
    """Return a decoded JSON value as text, as by Go's `%v`, but floating-point numbers in Python's format, as `1.0`."""
    match value:
        case None:
            return "<nil>"
        case bool():
            return "true" if value else "false"
        case dict():
            return f"map[{' '.join(f'{key}:{go_value(value[key])}' for key in sorted(value))}]"
        case list():
            return f"[{' '.join(map(go_value, value))}]"
    return str(value)


def check_timeout(text: str) -> None:
    """Refuse a request whose parameter `timeout` is not a duration, or is greater than 0 but less than a millisecond.

    Raises:
        StatusError: 400 if `text` is not empty and not a duration of Go, 504 if it is greater than 0 but less than a
            millisecond.
    """
    if not text:
        return
    signed = text.removeprefix(text[0]) if text[0] in "+-" else text
    seconds, rest = 0.0, "" if signed == "0" else signed or "s"
    while rest:
        match = _QUANTITY.match(rest)
        if match is None:
            raise bad_request(f"{_BAD_TIMEOUT}invalid duration {quoted(text)}")
        number, unit = match.groups()
        if not unit:
            raise bad_request(f"{_BAD_TIMEOUT}missing unit in duration {quoted(text)}")
        if unit not in _SECONDS:
            raise bad_request(f"{_BAD_TIMEOUT}unknown unit {quoted(unit)} in duration {quoted(text)}")
        seconds += float(number) * _SECONDS[unit]
        rest = rest[match.end() :]
    if seconds > _LONGEST:
        raise bad_request(f"{_BAD_TIMEOUT}invalid duration {quoted(text)}")
    if not text.startswith("-") and 0 < seconds < _LEAST:
        text = "Timeout: request did not complete within the allotted timeout"
        raise StatusError(504, "Timeout", text, details={})
