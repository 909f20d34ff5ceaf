# SPDX-License-Identifier: Apache-2.0
"""Nodes that are ready for as long as the program runs, without leases: nothing is asked of the server for them."""

from __future__ import annotations

from apimachinery.errors import AlreadyExists, ControllerRuntimeError
from apimachinery.log import get_logger
from apimachinery.objects import ObjectKey, timestamp
from apimachinery.stop import Stop
from controller_runtime.api.resources import NODES
from controller_runtime.core.backoff import Backoff
from controller_runtime.manager.manager import Manager
from controllers.hollow.node import hollow_node, node_name

log = get_logger(__name__)
RETRY = Backoff(initial=0.1, factor=2.0, cap=10.0, jitter=0.0)
"""Seconds between two tries to register the nodes."""


class FixedNodes:
    """Registers nodes once. They have no leases, so a node lifecycle controller must not run.

    Args:
        manager: The manager, whose client registers the nodes.
        count: The number of nodes.

    Threads: call `run` once, from any thread; `is_running` from any, at any time.
    """

    name = "fixed-nodes"

    def __init__(self, manager: Manager, count: int) -> None:
        self._host = manager.host
        self._client = manager.client
        self._names = [node_name(index) for index in range(count)]

    def run(self, stop: Stop) -> None:
        """Register all nodes; failed registrations are tried again until `stop` is set."""
        failures = 0
        for index in range(len(self._names)):
            while not stop.is_set():
                try:
                    self._register(index)
                    break
                except ControllerRuntimeError as error:
                    failures += 1
                    log.warning("cannot register a node, trying again", node=self._names[index], error=error)
                    stop.wait(RETRY.delay(failures, self._host.random))

    def is_running(self, name: str) -> bool:
        """Return whether `name` is one of the nodes."""
        return name in self._names

    def _register(self, index: int) -> None:
        node = hollow_node(index, timestamp(self._host.now()))
        key = ObjectKey(node["metadata"]["name"])
        try:
            self._client.create(NODES, node)
        except AlreadyExists:
            self._client.patch(NODES, key, {"status": node["status"]}, subresource="status")
        # The server taints a new node until a controller sees that it is ready; here it is from the start.
        self._client.patch(NODES, key, {"spec": {"taints": None}})
