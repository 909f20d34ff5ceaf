# SPDX-License-Identifier: Apache-2.0
"""Rules of IP addresses and of address ranges."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterator, Sequence

from embedded_apiserver.causes import invalid
from embedded_apiserver.status import Cause

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_ZEROS = re.compile(r"(?<![0-9a-fA-F:.])0+(?=[0-9])|(?<=\.)0+(?=[0-9])")
_NO_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
_NO_RANGE = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"


def address_of(text: str) -> Address | None:
    """Return the IP address that a text represents, leading zeros allowed; None if it is not an address."""
    if "%" in text:
        return None
    try:
        return ipaddress.ip_address(_ZEROS.sub("", text))
    except ValueError:
        return None


def address(text: str, field: str, known: Collection[str] = ()) -> list[Cause]:
    """Return a validation error if a text is not an IP address, has leading zeros, or is an IPv4-mapped IPv6 address.

    The texts in `known` were accepted before, and are valid.
    """
    if text in known:
        return []
    found = address_of(text)
    if found is None:
        return [invalid(field, text, _NO_ADDRESS)]
    if _ZEROS.sub("", text) != text:
        return [invalid(field, text, "must not have leading 0s")]
    if found.version == 6 and found.ipv4_mapped is not None:
        return [invalid(field, text, "must not be an IPv4-mapped IPv6 address")]
    return []


def network_of(text: str) -> Network | None:
    """Return the address range that a text represents, host bits allowed; None if it is not a range."""
    if text.count("/") != 1 or "%" in text:
        return None
    host, _, bits = text.partition("/")
    if not (bits.isascii() and bits.isdigit()):
        return None
    try:
        return ipaddress.ip_network(f"{_ZEROS.sub('', host)}/{int(bits)}", strict=False)
    except ValueError:
        return None


def network(text: str, field: str, known: Collection[str] = ()) -> list[Cause]:
    """Return a validation error if a text is not an address range, or has leading zeros, host bits, or an IPv4-mapped
    IPv6 address.

    The texts in `known` were accepted before, and are valid.
    """
    if text in known:
        return []
    found = network_of(text)
    if found is None:
        return [invalid(field, text, _NO_RANGE)]
    host, _, bits = text.partition("/")
    if _ZEROS.sub("", host) != host or str(int(bits)) != bits:
        return [invalid(field, text, "must not have leading 0s in IP or prefix length")]
    own = ipaddress.ip_address(host)
    if own.version == 6 and own.ipv4_mapped is not None:
        return [invalid(field, text, "must not have an IPv4-mapped IPv6 address")]
    if own != found.network_address:
        return [invalid(field, text, "must not have bits set beyond the prefix length")]
    return []


def unreadable(texts: Sequence[str]) -> str:
    """Return an error message for the first text that is not an address range; empty if all are."""
    for index, text in enumerate(texts):
        if network_of(text) is None:
            return f"invalid CIDR[{index}]: <nil> (invalid CIDR address: {text})"
    return ""


def endpoint_address(text: str, field: str) -> Iterator[Cause]:
    """Return the validation errors of an endpoint's IP address, which must be able to receive traffic."""
    found = address_of(text)
    if found is None:
        yield invalid(field, text, "must be a valid IP address")
        return
    if found.is_unspecified:
        yield invalid(field, text, f"may not be unspecified ({text})")
    if found.is_loopback:
        yield invalid(field, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if found.is_link_local:
        yield invalid(field, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if found in _LOCAL_GROUPS[found.version]:
        yield invalid(field, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")


_LOCAL_GROUPS = {4: ipaddress.ip_network("224.0.0.0/24"), 6: ipaddress.ip_network("ff02::/16")}


def has_two_families(texts: Collection[str]) -> bool:
    """Return whether addresses or ranges include both IPv4 and IPv6."""
    return {":" in text for text in texts} == {True, False}
