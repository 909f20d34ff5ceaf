# SPDX-License-Identifier: Apache-2.0
"""The addresses of the pods of hollow nodes, each of one pod at a time. Nothing answers at them."""

from __future__ import annotations

import ipaddress

from apimachinery.host import Host
from apimachinery.objects import ObjectKey

NETWORK = ipaddress.IPv4Network("10.128.0.0/9")
"""The addresses of pods; services of an embedded server have theirs in 10.0.0.0/16."""


class PodAddresses:
    """Assigns each pod an address that no other known pod has.

    The first address is random. So two processes with hollow nodes of one cluster, each of which sees the addresses of
    the other's pods a moment later, rarely assign the same one.

    Args:
        host: The source of the lock and of randomness.
        network: The network of the addresses.

    Threads: any.
    """

    def __init__(self, host: Host, network: ipaddress.IPv4Network = NETWORK) -> None:
        self._network = network
        # Guards the three fields that follow: the addresses by pod, the same as a set, and the place of the next one.
        self._lock = host.lock("hollow/addresses")
        self._by_pod: dict[ObjectKey, str] = {}
        self._taken: set[str] = set()
        self._next = host.random.randrange(network.num_addresses)

    def see(self, pod: ObjectKey, address: str) -> None:
        """Record the address of a pod; empty for a pod that is gone or has ended."""
        with self._lock:
            if address != (before := self._by_pod.pop(pod, "")):
                self._taken.discard(before)
            if address:
                self._by_pod[pod] = address
                self._taken.add(address)

    def give(self, pod: ObjectKey) -> str:
        """Return the address of a pod; assign one if it has none. Empty if there is no free address."""
        with self._lock:
            if pod in self._by_pod:
                return self._by_pod[pod]
            usable = self._network.num_addresses - 2  # without those of the network and of the broadcast
            for _ in range(min(usable, len(self._taken) + 1)):
                self._next = (self._next + 1) % usable
                address = str(self._network[self._next + 1])
                if address not in self._taken:
                    self._by_pod[pod] = address
                    self._taken.add(address)
                    return address
            return ""
