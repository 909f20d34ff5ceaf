# SPDX-License-Identifier: Apache-2.0
"""The checks of network policies."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from embedded_apiserver.causes import forbidden, invalid, not_supported, required
from embedded_apiserver.checks.addresses import network, network_of
from embedded_apiserver.checks.basic import PROTOCOLS, each, port_number
from embedded_apiserver.checks.selectors import label_selector
from embedded_apiserver.groups.pods.probes import port_name_errors
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause

_POLICY_TYPES = ("Ingress", "Egress")


def network_policy(obj: Object, old: Object | None = None) -> Iterator[Cause]:
    """Return the validation errors of a NetworkPolicy.

    Args:
        obj: The policy.
        old: The stored policy if this is an update. An address range that it already has is not an error, even if it is
            in a notation that new policies must not use.
    """
    spec = part(obj, "spec")
    known = set(_ranges(part(old, "spec"))) if old is not None else ()
    yield from label_selector(part(spec, "podSelector"), "spec.podSelector")
    for side, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(side) or ()):
            place = f"spec.{side}[{index}]"
            for number, port in enumerate(rule.get("ports") or ()):
                yield from _policy_port(port, f"{place}.ports[{number}]")
            for number, peer in enumerate(rule.get(peers) or ()):
                yield from _peer(peer, f"{place}.{peers}[{number}]", known)
    types = spec.get("policyTypes") or ()
    if len(types) > len(_POLICY_TYPES):
        yield invalid("spec.policyTypes", types, "may not specify more than two policyTypes")
        return
    for index, one in enumerate(types):
        if one not in _POLICY_TYPES:
            yield not_supported(f"spec.policyTypes[{index}]", one, _POLICY_TYPES)


def network_policy_change(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a NetworkPolicy."""
    return network_policy(new, old)


def _ranges(spec: Object) -> Iterator[str]:
    for side, peers in (("ingress", "from"), ("egress", "to")):
        for rule in spec.get(side) or ():
            for peer in rule.get(peers) or ():
                block = part(peer, "ipBlock")
                yield from (block.get("cidr", ""), *(block.get("except") or ()))


def _policy_port(port: Object, place: str) -> Iterator[Cause]:
    protocol, number, end = port.get("protocol"), port.get("port"), port.get("endPort")
    if protocol is not None and protocol not in PROTOCOLS:
        yield not_supported(f"{place}.protocol", protocol, ("TCP", "UDP", "SCTP"))
    if isinstance(number, int):
        yield from port_number(number, f"{place}.port")
        if end is not None:
            if end < number:
                yield invalid(f"{place}.endPort", number, "must be greater than or equal to `port`")
            yield from port_number(end, f"{place}.endPort")
        return
    if end is not None:
        text = "non-numeric" if number is not None else "not specified"
        yield invalid(f"{place}.endPort", end, f"may not be specified when `port` is {text}")
    if number is not None:
        yield from each(port_name_errors, str(number), f"{place}.port")


def _peer(peer: Object, place: str, known: Collection[str]) -> Iterator[Cause]:
    count = 0
    for name in ("podSelector", "namespaceSelector"):
        if (selector := peer.get(name)) is not None:
            count += 1
            yield from label_selector(selector, f"{place}.{name}")
    block = peer.get("ipBlock")
    if block is not None:
        count += 1
        yield from _block(block, f"{place}.ipBlock", known)
    if not count:
        yield required(place, "must specify a peer")
    elif count > 1 and block is not None:
        yield forbidden(place, "may not specify both ipBlock and another peer")


def _block(block: Object, place: str, known: Collection[str]) -> Iterator[Cause]:
    cidr = block.get("cidr", "")
    if not cidr:
        yield required(f"{place}.cidr")
        return
    yield from network(cidr, f"{place}.cidr", known)
    if (whole := network_of(cidr)) is None:
        return
    for index, text in enumerate(block.get("except") or ()):
        field = f"{place}.except[{index}]"
        yield from network(text, field, known)
        if (inner := network_of(text)) is None:
            continue
        is_inside = whole.version == inner.version and inner.network_address in whole
        if not is_inside or whole.prefixlen >= inner.prefixlen:
            yield invalid(field, text, "must be a strict subset of `cidr`")
