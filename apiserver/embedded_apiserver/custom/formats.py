# SPDX-License-Identifier: Apache-2.0
"""Formats of strings in schemas of custom kinds: those that are checked, and those that are known but not checked."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from datetime import date
from urllib.parse import urlsplit

from apimachinery import names
from embedded_apiserver.typed import values

_LONGEST = 4096  # characters that a pattern is tried on; a longer string counts as malformed
Check = Callable[[str], bool]
"""Returns whether a string has the format."""


def normalized(name: str) -> str:
    """Return a format's name without dashes, because a real API server ignores them: `date-time` becomes `datetime`."""
    return name.replace("-", "")


def _read_by(read: Callable[[str], object]) -> Check:
    def check(text: str) -> bool:
        try:
            read(text)
        except ValueError:
            return False
        return True

    return check


def _matching(pattern: str) -> Check:
    compiled = re.compile(pattern, re.ASCII)
    return lambda text: len(text) <= _LONGEST and compiled.fullmatch(text) is not None


def _uri(text: str) -> None:
    if not urlsplit(text).scheme and not text.startswith("/"):
        raise ValueError("neither a scheme nor a path")


def _date(text: str) -> None:
    if len(text) != len("2026-01-01"):
        raise ValueError("not year, month and day with dashes")
    date.fromisoformat(text)


_HEX, _DASH = "[0-9a-fA-F]", "-?"


def _uuid(third: str = f"{_HEX}{{4}}", fourth: str = f"{_HEX}{{4}}") -> Check:
    return _matching(_DASH.join((f"{_HEX}{{8}}", f"{_HEX}{{4}}", third, fourth, f"{_HEX}{{12}}")))


_SPAN = r"\s*(?:ns|us|µs|ms|s|m|h|d|w|nanos?|micros?|millis?|seconds?|secs?|minutes?|mins?|hours?|days?|weeks?|hrs?)"

FORMATS: Mapping[str, Check] = {
    "byte": _read_by(values.base64_text),
    "cidr": _read_by(ipaddress.ip_interface),
    "date": _read_by(_date),
    "datetime": _read_by(values.time),
    "duration": _matching(rf"[+-]?(?:\d+(?:\.\d*)?{_SPAN}\s*)+|0"),
    "email": _matching(r"(?:[^<>@]*<)?[^\s@<>]+@[^\s@<>]+>?"),
    "hostname": _matching(r"(?=.{1,253}$)[A-Za-z0-9](?:[-A-Za-z0-9]{0,62})(?:\.[A-Za-z0-9][-A-Za-z0-9]{0,62})*\.?"),
    "ipv4": _read_by(ipaddress.IPv4Address),
    "ipv6": _read_by(ipaddress.IPv6Address),
    "k8slongname": lambda text: not names.subdomain_errors(text),
    "k8sshortname": lambda text: not names.label_errors(text),
    "mac": _matching(rf"{_HEX}{{2}}(?:[:-]{_HEX}{{2}}){{5,7}}"),
    "uri": _read_by(_uri),
    "uuid": _uuid(),
    "uuid3": _uuid(f"3{_HEX}{{3}}"),
    "uuid4": _uuid(f"4{_HEX}{{3}}", f"[89abAB]{_HEX}{{3}}"),
    "uuid5": _uuid(f"5{_HEX}{{3}}", f"[89abAB]{_HEX}{{3}}"),
}
"""The checks of formats, by normalized name."""

UNCHECKED = ("bsonobjectid", "creditcard", "hexcolor", "isbn", "isbn10", "isbn13", "password", "rgbcolor", "ssn")
"""Formats that a real API server checks. Here, each string is accepted."""

_NUMBERS = {"integer": ("int32", "int64"), "number": ("float", "double")}


def is_known(type_: str, format_: str) -> bool:
    """Return whether a real API server knows a format for values of a type. For an unknown one it sends a warning."""
    if type_ in ("", "string"):
        return normalized(format_) in (*FORMATS, *UNCHECKED)
    return format_ in _NUMBERS.get(type_, ())
