# SPDX-License-Identifier: Apache-2.0
"""Reads addresses as Go's `netip` does, with its texts for what is wrong."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

from embedded_apiserver.quoting import quoted

_HEX = frozenset("0123456789abcdefABCDEF")
_FIELDS = 4
_LARGEST_FIELD = 255
_GROUP = 4  # digits


class NoAddress(ValueError):
    """A text is not an IP address or network; the message is Go's."""


def address_of(text: str) -> tuple[IPv4Address | IPv6Address, str]:
    """Return the IP address that a text represents, and its zone, which is empty if absent.

    Raises:
        NoAddress: The text is not an IP address.
    """
    for letter in text:
        if letter == ".":
            return IPv4Address(bytes(_fields(text, text))), ""
        if letter == ":":
            return _sixth(text)
        if letter == "%":
            raise _wrong(text, "missing IPv6 address")
    raise _wrong(text, "unable to parse IP")


def prefix_of(text: str) -> tuple[IPv4Address | IPv6Address, int]:
    """Return the address and the prefix length, in bits, of a network such as `10.0.0.0/8`.

    Raises:
        NoAddress: The text is not a network.
    """

    def wrong(message: str) -> NoAddress:
        return NoAddress(f"netip.ParsePrefix({quoted(text)}): {message}")

    before, slash, after = text.rpartition("/")
    if not slash:
        raise wrong("no '/'")
    try:
        address, zone = address_of(before)
    except NoAddress as error:
        raise wrong(str(error)) from None
    if zone:
        raise wrong("IPv6 zones cannot be present in a prefix")
    if not (after.isascii() and after.isdigit()) or (len(after) > 1 and after[0] == "0") or len(after) > _GROUP * 4:
        raise wrong(f"bad bits after slash: {quoted(after)}")
    if int(after) > address.max_prefixlen:
        raise wrong("prefix length out of range")
    return address, int(after)


def _wrong(text: str, message: str, at: str = "") -> NoAddress:
    place = f" (at {quoted(at)})" if at else ""
    return NoAddress(f"ParseAddr({quoted(text)}): {message}{place}")


def _fields(text: str, part: str) -> list[int]:
    """Return the four numbers of an address of version 4, which may be the end of one of version 6."""
    made, value, digits = list[int](), 0, 0
    for index, letter in enumerate(part):
        if "0" <= letter <= "9":
            if digits == 1 and value == 0:
                raise _wrong(text, "IPv4 field has octet with leading zero")
            value, digits = value * 10 + int(letter), digits + 1
            if value > _LARGEST_FIELD:
                raise _wrong(text, "IPv4 field has value >255")
        elif letter == ".":
            if index in (0, len(part) - 1) or part[index - 1] == ".":
                raise _wrong(text, "IPv4 field must have at least one digit", part[index:])
            if len(made) == _FIELDS - 1:
                raise _wrong(text, "IPv4 address too long")
            made.append(value)
            value = digits = 0
        else:
            raise _wrong(text, "unexpected character", part[index:])
    if len(made) < _FIELDS - 1:
        raise _wrong(text, "IPv4 address too short")
    return [*made, value]


def _sixth(text: str) -> tuple[IPv6Address, str]:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _wrong(text, "zone must be a non-empty string")
    made = bytearray()
    gap = -1
    if rest.startswith("::"):
        gap, rest = 0, rest[2:]
        if not rest:
            return IPv6Address(0), zone
    while len(made) < 16:
        length = _digits(text, rest)
        if rest[length : length + 1] == ".":
            made += _embedded(text, rest, made, gap)
            rest = ""
            break
        made += int(rest[:length], 16).to_bytes(2, "big")
        rest = rest[length:]
        if not rest:
            break
        rest = _after_colon(text, rest)
        if rest.startswith(":"):
            if gap >= 0:
                raise _wrong(text, "multiple :: in address", rest)
            gap, rest = len(made), rest[1:]
            if not rest:
                break
    return IPv6Address(_filled(text, made, gap, rest)), zone


def _digits(text: str, rest: str) -> int:
    """Return how many digits a text begins with."""
    length = 0
    while length < len(rest) and rest[length] in _HEX:
        length += 1
        if length > _GROUP:
            raise _wrong(text, "each group must have 4 or less digits", rest)
    if not length:
        raise _wrong(text, "each colon-separated field must have at least one digit", rest)
    return length


def _embedded(text: str, rest: str, made: bytearray, gap: int) -> bytes:
    if gap < 0 and len(made) != 12:
        raise _wrong(text, "embedded IPv4 address must replace the final 2 fields of the address", rest)
    if len(made) + _FIELDS > 16:
        raise _wrong(text, "too many hex fields to fit an embedded IPv4 at the end of the address", rest)
    return bytes(_fields(text, rest))


def _after_colon(text: str, rest: str) -> str:
    if rest[0] != ":":
        raise _wrong(text, "unexpected character, want colon", rest)
    if len(rest) == 1:
        raise _wrong(text, "colon must be followed by more characters", rest)
    return rest[1:]


def _filled(text: str, made: bytearray, gap: int, rest: str) -> bytes:
    if rest:
        raise _wrong(text, "trailing garbage after address", rest)
    if len(made) < 16:
        if gap < 0:
            raise _wrong(text, "address string too short")
        return bytes(made[:gap] + bytes(16 - len(made)) + made[gap:])
    if gap >= 0:
        raise _wrong(text, "the :: must expand to at least one field of zeros")
    return bytes(made)
