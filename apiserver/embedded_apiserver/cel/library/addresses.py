# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' functions of IP addresses and networks, with Go's texts for invalid ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Any

from embedded_apiserver.cel import types
from embedded_apiserver.cel.declarations import CallEstimate, Function, Library, Operand, Overload
from embedded_apiserver.cel.errors import EvaluationError, no_such_overload
from embedded_apiserver.cel.library import costs
from embedded_apiserver.cel.library.address_texts import NoAddress, address_of, prefix_of
from embedded_apiserver.cel.ranges import Range, exactly
from embedded_apiserver.cel.types import BOOL, INT, STRING
from embedded_apiserver.cel.values import Opaque, Value
from embedded_apiserver.quoting import quoted

Address = IPv4Address | IPv6Address
_MAPPED_BITS = 0xFFFF
_IP, _CIDR = types.opaque("net.IP"), types.opaque("net.CIDR")
_LINK_LOCAL_MULTICAST = ip_network("224.0.0.0/24"), ip_network("ff02::/16")
_MULTICAST_SCOPE = 0x0F


class IP(Opaque):
    """An IP address, the value of the CEL type `net.IP`.

    Attributes:
        address: The address.
    """

    __slots__ = ("address",)
    type = _IP

    def __init__(self, address: Address) -> None:
        self.address = address

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IP) and self.address == other.address

    def __hash__(self) -> int:
        return hash(self.address)

    @property
    def size(self) -> int:
        """The number of bytes of the address: 4 or 16."""
        return self.address.max_prefixlen // 8


class CIDR(Opaque):
    """A network, the value of the CEL type `net.CIDR`.

    Attributes:
        address: The address before the slash.
        bits: The prefix length, in bits.
    """

    __slots__ = ("address", "bits")
    type = _CIDR

    def __init__(self, address: Address, bits: int) -> None:
        self.address, self.bits = address, bits

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CIDR) and (self.address, self.bits) == (other.address, other.bits)

    def __hash__(self) -> int:
        return hash((self.address, self.bits))

    @property
    def size(self) -> int:
        """Return the size of the prefix in bytes, rounded up."""
        return math.ceil(self.bits / 8)

    def contains(self, other: Address) -> bool:
        """Return whether an address is in the network."""
        if self.address.version != other.version:
            return False
        rest = self.address.max_prefixlen - self.bits
        return int(self.address) >> rest == int(other) >> rest


def ip(text: str) -> IP:
    """Return the IP address that a text represents.

    Raises:
        EvaluationError: The text is not an IP address, has a zone, or is an IPv4-mapped IPv6 address.
    """
    try:
        address, zone = address_of(text)
    except NoAddress as error:
        raise EvaluationError(f"IP Address {quoted(text)} parse error during conversion from string: {error}") from None
    if zone:
        raise EvaluationError(f"IP address {quoted(text)} with zone value is not allowed")
    if _is_mapped(address):
        raise EvaluationError(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return IP(address)


def cidr(text: str) -> CIDR:
    """Return the network that a text represents.

    Raises:
        EvaluationError: The text is not a network, or one of IPv4-mapped IPv6 addresses.
    """
    failed = "network address parse error during conversion from string: "
    try:
        address, bits = prefix_of(text)
    except NoAddress as error:
        raise EvaluationError(f"{failed}{failed}{error}") from None
    if _is_mapped(address):
        raise EvaluationError(f"{failed}IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return CIDR(address, bits)


def _is_mapped(address: Address) -> bool:
    return isinstance(address, IPv6Address) and address.ipv4_mapped is not None


def _is(make: Callable[[str], Value]) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            make(text)
        except EvaluationError:
            return False
        return True

    return check


def _is_canonical(text: str) -> bool:
    return _text(ip(text)) == text


def _text(value: IP) -> str:
    return str(value.address)


def _text_of_network(value: CIDR) -> str:
    return f"{value.address}/{value.bits}"


def _is_link_local_multicast(value: IP) -> bool:
    if isinstance(value.address, IPv4Address):
        return value.address in _LINK_LOCAL_MULTICAST[0]
    first = value.address.packed
    return first[0] == 0xFF and first[1] & _MULTICAST_SCOPE == 2


def _is_global_unicast(value: IP) -> bool:
    address = value.address
    is_broadcast = isinstance(address, IPv4Address) and int(address) == 0xFFFFFFFF
    is_other = address.is_unspecified or address.is_loopback or address.is_multicast or address.is_link_local
    return not is_broadcast and not is_other


def _contains_ip(network: CIDR, address: Value) -> bool:
    try:
        return network.contains((ip(address) if isinstance(address, str) else address).address)
    except EvaluationError:
        raise no_such_overload() from None  # so does a real server say that a text is no address


def _contains_cidr(network: CIDR, other: Value) -> bool:
    inner: CIDR = cidr(other) if isinstance(other, str) else other
    return network.bits <= inner.bits and network.contains(inner.address)


def _masked(network: CIDR) -> CIDR:
    rest = network.address.max_prefixlen - network.bits
    return CIDR(type(network.address)(int(network.address) >> rest << rest), network.bits)


def _containing(times: int, more: int) -> costs.Cost:
    """Return the cost of a comparison; a text is read first."""

    def cost(arguments: Sequence[Value], _: Value) -> int:
        network, other = arguments
        spent = math.ceil(costs.size_of(network) * 2 * costs.TRAVERSAL)
        if times == 3:
            spent += math.ceil(costs.size_of(network) * costs.TRAVERSAL) + more
        return spent + (math.ceil(len(other) * costs.TRAVERSAL) if isinstance(other, str) else 0)

    return cost


def _containing_estimate(times: int, more: int) -> costs.Estimate:
    sizes = Range(4, 16)  # bytes of an address

    def estimate(operands: Sequence[Operand]) -> CallEstimate:
        cost = sizes.plus(sizes).scaled(costs.TRAVERSAL)
        if times == 3:
            cost = cost.plus(sizes.scaled(costs.TRAVERSAL)).plus(exactly(more))
        if operands[1].type == STRING:
            cost = cost.plus(costs.sized(operands[1]).scaled(costs.TRAVERSAL))
        return CallEstimate(cost)

    return estimate


def _parsing(name: str, id_: str, result: types.Type, call: Callable[..., Value], factor: float = 1) -> Function:
    made = Overload(id_, (STRING,), result, call, cost=costs.read(factor), estimate=costs.read_estimate(factor))
    return Function(name, (made,))


def _nominal(
    name: str, id_: str, argument: types.Type, result: types.Type, call: Callable[..., Any], *, member: bool = True
) -> Function:
    made = Overload(
        *(id_, (argument,), result, call), member=member, cost=costs.nominal, estimate=costs.nominal_estimate
    )
    return Function(name, (made,))


def _containment(
    name: str, id_: str, other: types.Type, call: Callable[..., Value], times: int, more: int = 0
) -> Function:
    made = Overload(
        *(id_, (_CIDR, other), BOOL, call),
        member=True,
        cost=_containing(times, more),
        estimate=_containing_estimate(times, more),
    )
    return Function(name, (made,))


ADDRESSES = Library(
    (
        _parsing("ip", "string_to_ip", _IP, ip),
        _parsing("isIP", "is_ip", BOOL, _is(ip)),
        _parsing("ip.isCanonical", "ip_is_canonical", BOOL, _is_canonical, 2),
        _nominal("family", "ip_family", _IP, INT, lambda value: value.address.version),
        _nominal("isUnspecified", "ip_is_unspecified", _IP, BOOL, lambda value: value.address.is_unspecified),
        _nominal("isLoopback", "ip_is_loopback", _IP, BOOL, lambda value: value.address.is_loopback),
        _nominal("isLinkLocalMulticast", "ip_is_link_local_multicast", _IP, BOOL, _is_link_local_multicast),
        _nominal(
            "isLinkLocalUnicast", "ip_is_link_local_unicast", _IP, BOOL, lambda value: value.address.is_link_local
        ),
        _nominal("isGlobalUnicast", "ip_is_global_unicast", _IP, BOOL, _is_global_unicast),
        Function("string", (Overload("ip_to_string", (_IP,), STRING, _text),)),
        _parsing("cidr", "string_to_cidr", _CIDR, cidr),
        _parsing("isCIDR", "is_cidr", BOOL, _is(cidr)),
        _containment("containsIP", "cidr_contains_ip_string", STRING, _contains_ip, 2),
        _containment("containsIP", "cidr_contains_ip_ip", _IP, _contains_ip, 2),
        _containment("containsCIDR", "cidr_contains_cidr_string", STRING, _contains_cidr, 3, 1),
        _containment("containsCIDR", "cidr_contains_cidr", _CIDR, _contains_cidr, 3, 1),
        _nominal("ip", "cidr_ip", _CIDR, _IP, lambda network: IP(network.address)),
        _nominal("prefixLength", "cidr_prefix_length", _CIDR, INT, lambda network: network.bits),
        _nominal("masked", "cidr_masked", _CIDR, _CIDR, _masked),
        Function("string", (Overload("cidr_to_string", (_CIDR,), STRING, _text_of_network),)),
    ),
    {"net.IP": _IP, "net.CIDR": _CIDR},
)
"""The functions of addresses and networks."""
