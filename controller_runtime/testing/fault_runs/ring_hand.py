# SPDX-License-Identifier: Apache-2.0
"""A person who changes a simulated ring's objects by hand, as with kubectl."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from apimachinery.errors import ControllerRuntimeError
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import LEASES
from controller_runtime.client.client import Client
from controller_runtime.testing.fault_runs.ring_program import CONFIG
from controller_runtime.testing.simulation import SimulatedHost
from controller_runtime.testing.simulation.network import Network
from controller_runtime.testing.simulation.network_transport import NetworkTransport


class Hand:
    """Changes objects of the ring, each on a thread of its own; a request may be lost, and then nothing is changed.

    Args:
        network: Carries the requests.
        host: The person's host.
    """

    def __init__(self, network: Network, host: SimulatedHost) -> None:
        self._host, self._client = host, Client(host, NetworkTransport(network, host), request_timeout=2.0)

    def delete_lease(self, name: str) -> None:
        """Delete the lease of a member."""
        self._do(lambda: self._client.delete(LEASES, ObjectKey(name, CONFIG.namespace)))

    def _do(self, action: Callable[[], object]) -> None:
        def act() -> None:
            with contextlib.suppress(ControllerRuntimeError):
                action()

        self._host.spawn("hand", act)
