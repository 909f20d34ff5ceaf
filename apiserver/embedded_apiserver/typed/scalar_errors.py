# SPDX-License-Identifier: Apache-2.0
"""Errors of texts that are not times, quantities or base64, in the words of Go's libraries.

The readers of `values` decide what is accepted. These functions only make the messages.
"""

from __future__ import annotations

import json
import re

from apimachinery.quantities import QUANTITY

TIME_LAYOUT = "2006-01-02T15:04:05Z07:00"
MICRO_TIME_LAYOUT = "2006-01-02T15:04:05.000000Z07:00"
_QUANTITY_PARTS = re.compile(r"[+-]?\d*(?:\.\d*)?(?P<suffix>[eEinumkKMGTP]*[-+]?\d*)", re.ASCII)
_SUFFIX = re.compile(r"[numkMGTPE]?|[KMGTPE]i|[eE][-+]?\d+", re.ASCII)
# With a greater binary suffix or a lesser exponent a real server reads the number in another way, which needs digits.
_WITHOUT_DIGITS = re.compile(r"[+-]?\.?(?:[KMGT]i|[numkMGTPE]?|[eE](?:\+?\d{1,3}|-0{0,2}\d))", re.ASCII)
_QUANTITY_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
_TWO_DIGITS, _ONE_OR_TWO = re.compile(r"\d\d", re.ASCII), re.compile(r"\d\d?", re.ASCII)
_ZONE = re.compile(r"Z|[+-]\d\d:\d\d", re.ASCII)
# The parts of both layouts: the text in the layout, the pattern of a value, the first number that is too large.
_PARTS: tuple[tuple[str, re.Pattern[str], str, range], ...] = (
    ("2006", re.compile(r"\d{4}", re.ASCII), "", range(10_000)),
    ("-", re.compile("-"), "", range(0)),
    ("01", _TWO_DIGITS, "month", range(1, 13)),
    ("-", re.compile("-"), "", range(0)),
    ("02", _TWO_DIGITS, "", range(100)),
    ("T", re.compile("T"), "", range(0)),
    ("15", _ONE_OR_TWO, "hour", range(24)),
    (":", re.compile(":"), "", range(0)),
    ("04", _TWO_DIGITS, "minute", range(60)),
    (":", re.compile(":"), "", range(0)),
    ("05", _TWO_DIGITS, "second", range(60)),
)


def time_error(text: str, layout: str = TIME_LAYOUT) -> str:
    """Return Go's error for a text that is not a time in the given layout.

    Args:
        text: The text.
        layout: One of the two layouts of this module.
    """
    left, quoted = text, json.dumps(text, ensure_ascii=False)
    for part, pattern, name, allowed in _PARTS:
        if (match := pattern.match(left)) is None:
            return _unparsed(text, layout, left, part)
        left = left[match.end() :]
        if name and int(match[0]) not in allowed:
            return f"parsing time {quoted}: {name} out of range"
    fraction = re.compile(r"[.,]\d{6}" if layout == MICRO_TIME_LAYOUT else r"(?:[.,]\d+)?", re.ASCII).match(left)
    if fraction is None:
        return _unparsed(text, layout, left, ".000000")
    left = left[fraction.end() :]
    if (zone := _ZONE.match(left)) is None:
        return _unparsed(text, layout, left, "Z07:00")
    hours, minutes = int(zone[0][1:3] or 0), int(zone[0][4:] or 0)
    if hours > 24 or minutes > 60:
        return f"parsing time {quoted}: time zone offset {'hour' if hours > 24 else 'minute'} out of range"
    if left := left[zone.end() :]:
        return f"parsing time {quoted}: extra text: {json.dumps(left, ensure_ascii=False)}"
    return f"parsing time {quoted}: day out of range"


def _unparsed(text: str, layout: str, left: str, part: str) -> str:
    quoted = (json.dumps(one, ensure_ascii=False) for one in (text, layout, left, part))
    return "parsing time {} as {}: cannot parse {} as {}".format(*quoted)


def readable_quantity(text: str) -> str:
    """Return a quantity as a real API server parses it: without white space around it, and `0` if its number
    has no digits, as in `Mi`.
    """
    text = text.strip()
    return "0" if text and _WITHOUT_DIGITS.fullmatch(text) else text


def quantity_error(text: str) -> str:
    """Return Go's error for a text that is not a quantity; empty if it is one."""
    text = readable_quantity(text)
    if QUANTITY.fullmatch(text) is not None:
        return ""
    match = _QUANTITY_PARTS.fullmatch(text)
    if match is None or not text:
        return _QUANTITY_FORMAT
    if _SUFFIX.fullmatch(match["suffix"]) is None:
        return "unable to parse quantity's suffix"
    return "unable to parse numeric part of quantity"


def base64_error(text: str) -> str:
    """Return Go's error for a text that is not base64 (standard alphabet, with padding); empty if it is."""
    at = _corrupt_at(text.encode("utf-8", "surrogatepass").decode("latin-1"))
    return "" if at is None else f"illegal base64 data at input byte {at}"


def _corrupt_at(text: str) -> int | None:
    """Return the offset at which Go's decoder gives up, each character standing for a byte."""
    at, in_quantum = 0, 0
    while at < len(text):
        char = text[at]
        at += 1
        if char in "\r\n":
            continue
        if char in _BASE64:
            in_quantum = (in_quantum + 1) % 4
            continue
        if char != "=" or in_quantum < 2:
            return at - 1
        return _corrupt_padding(text, at, in_quantum)
    return None if not in_quantum else at - in_quantum


def _skipped(text: str, start: int) -> int:
    """Return the offset of the next character that ends no line."""
    return len(text) - len(text[start:].lstrip("\r\n"))


def _corrupt_padding(text: str, at: int, in_quantum: int) -> int | None:
    if in_quantum == 2:
        at = _skipped(text, at)
        if at == len(text):
            return at
        if text[at] != "=":
            return at - 1
        at += 1
    at = _skipped(text, at)
    return at if at < len(text) else None
