# SPDX-License-Identifier: Apache-2.0
"""By which addresses others reach a node: as configured, as its name resolves, or as its default route leaves it."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from controllers.agent.machine import Machine, NotObserved
from controllers.agent.settings import IPAddress, Settings, unreachable


def addresses(machine: Machine, settings: Settings) -> list[dict[str, str]]:
    """The addresses of the node's status, its name last.

    Raises:
        NotObserved: There is none, or one that was asked for is not this machine's.
    """
    found = _internal(machine, settings)
    if not found:
        raise NotObserved(f"no address by which others could reach {settings.name} is known: give --node-ip one")
    internal = [{"type": "InternalIP", "address": str(address)} for address in found]
    return [*internal, {"type": "Hostname", "address": settings.name}]


def _internal(machine: Machine, settings: Settings) -> list[IPAddress]:
    local = set(_parsed(machine.local))
    asked = [address for address in settings.node_ips if not address.is_unspecified]
    for address in asked:
        if address not in local:
            raise NotObserved(f"--node-ip {address} is no address of this machine")
    if asked:
        return asked
    preferred = settings.node_ips[0].version if settings.node_ips else 4
    named = [*_parsed([settings.name]), *_parsed(machine.resolved)]
    usable = [address for address in named if address in local and not unreachable(address)]
    for known in (usable, [address for address in _parsed(machine.routed) if not unreachable(address)]):
        for address in sorted(known, key=lambda address: address.version != preferred):  # else in their order
            return [address]
    return []


def _parsed(texts: Iterable[str]) -> list[IPAddress]:
    """Those of `texts` that are addresses."""
    found = []
    for text in texts:
        try:
            found.append(ipaddress.ip_address(text.partition("%")[0]))  # without the zone of a link-local one
        except ValueError:
            continue
    return found
