# SPDX-License-Identifier: Apache-2.0
"""Composes the node agent: a reporter that posts the Node and its status, and the heartbeat of the Node's lease."""

from __future__ import annotations

import attrs

from apimachinery.host import Host
from apimachinery.stop import Stop
from controller_runtime.api.resources import NODES
from controller_runtime.cache.latch import Latch
from controller_runtime.cache.lister import Lister
from controller_runtime.events.recorder import EventAPI, EventRecorder
from controller_runtime.manager.manager import Manager
from controllers.agent.events import NodeEvents
from controllers.agent.machine import Observer
from controllers.agent.reporter import NodeReporter
from controllers.agent.settings import Settings
from controllers.heartbeat.lease_heartbeat import LeaseHeartbeat
from controllers.heartbeat.node_lease import REQUEST_TIMEOUT, node_lease

COMPONENT = "node-agent"
"""Name of the component that reports the events."""
RENEW_FRACTION = 0.25
"""Fraction of a lease's duration after which it is renewed, as a kubelet does."""
REGISTRATION_WAIT = 1.0
"""Seconds for which the first renewal waits for the registration at most."""


@attrs.frozen
class _LeaseOfNode:
    """The heartbeat of the lease, which begins once the Node is registered, or after `REGISTRATION_WAIT` seconds.

    It waits because the lease is not created before its Node, and a try too early would delay it to the next
    pass. It does not wait longer, because the lease of a Node that exists must be renewed even while the
    registration fails.
    """

    heartbeat: LeaseHeartbeat
    registered: Latch
    host: Host

    @property
    def name(self) -> str:
        return self.heartbeat.name

    def run(self, stop: Stop) -> None:
        self.registered.wait(stop, self.host.monotonic() + REGISTRATION_WAIT)
        self.heartbeat.run(stop)


def add_node_agent(manager: Manager, observer: Observer, settings: Settings) -> NodeReporter:
    """Add the agent of one node to `manager`: a reporter of its status, and the heartbeat of its lease.

    A post of the status that hangs does not delay a renewal of the lease: the two share only connections, which each of
    them closes when its requests fail repeatedly.

    Args:
        manager: The manager that runs them, and whose client they use.
        observer: Measures the machine.
        settings: The node's name, addresses, labels and intervals.

    Returns:
        The reporter.
    """
    # Read as dicts, not as a view: a patch is the difference to the whole Node, with what others have set on it.
    nodes: Lister[dict[str, object]] = manager.lister(NODES, dict, field_selector=f"metadata.name={settings.name}")
    # Events of the core API, as a kubelet's are: a node has no rights to those of events.k8s.io.
    recorder = EventRecorder(manager.host, manager.client, component=COMPONENT, api=EventAPI.CORE)
    reporter = NodeReporter(
        manager.host,
        manager.client.within(REQUEST_TIMEOUT),
        nodes,
        observer,
        settings,
        events=NodeEvents(recorder, settings.name),
        on_repeated_failure=manager.transport.close,
    )
    heartbeat = node_lease(
        manager.host,
        manager.client,
        settings.name,
        duration=settings.lease_duration,
        renew_interval=settings.lease_duration * RENEW_FRACTION,
        on_repeated_heartbeat_failure=manager.transport.close,
    )
    manager.add(recorder)
    manager.add(reporter)
    manager.add(_LeaseOfNode(heartbeat, reporter.registered, manager.host))
    return reporter
