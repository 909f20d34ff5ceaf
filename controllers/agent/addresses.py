# SPDX-License-Identifier: Apache-2.0
"""Chooses the addresses of a node: as configured, else as its name resolves, else that of the default route."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from controllers.agent.machine import Machine, NotObserved
from controllers.agent.settings import IPAddress, Settings, unreachable


def addresses(machine: Machine, settings: Settings) -> list[dict[str, str]]:
    """Return the addresses for the node's status: its IP addresses, then its host name.

    Raises:
        NotObserved: No usable address was found, or one of `settings.node_ips` is not this machine's.
    """
    found = _internal(machine, settings)
    if not found:
        raise NotObserved(f"no address is known at which {settings.name} can be reached: give one with --node-ip")
    internal = [{"type": "InternalIP", "address": str(address)} for address in found]
    return [*internal, {"type": "Hostname", "address": settings.name}]


def _internal(machine: Machine, settings: Settings) -> list[IPAddress]:
    """Return the addresses that are configured, else the best one that was found; empty if absent."""
    local = set(_parsed(machine.local))
    asked = [address for address in settings.node_ips if not address.is_unspecified]
    for address in asked:
        if address not in local:
            raise NotObserved(f"--node-ip {address} is not an address of this machine")
    if asked:
        return asked
    preferred = settings.node_ips[0].version if settings.node_ips else 4
    named = [*_parsed([settings.name]), *_parsed(machine.resolved)]
    usable = [address for address in named if address in local and not unreachable(address)]
    for known in (usable, [address for address in _parsed(machine.routed) if not unreachable(address)]):
        for address in sorted(
            known, key=lambda address: address.version != preferred
        ):  # the sort is stable: otherwise the order found
            return [address]
    return []


def _parsed(texts: Iterable[str]) -> list[IPAddress]:
    """Return those of `texts` that are IP addresses."""
    found = []
    for text in texts:
        try:
            found.append(
                ipaddress.ip_address(text.partition("%")[0])
            )  # without the zone of a link-local address, such as %eth0
        except ValueError:
            continue
    return found
