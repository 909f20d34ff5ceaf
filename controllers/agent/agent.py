# SPDX-License-Identifier: Apache-2.0
"""What a kubelet does to stay alive in the API, without a container runtime: a node, its status and its lease."""

from __future__ import annotations

import attrs

from controller_runtime.api.resources import NODES
from controller_runtime.cache.latch import Latch
from controller_runtime.cache.lister import Lister
from controller_runtime.core.host import Host
from controller_runtime.core.stop import Stop
from controller_runtime.events.recorder import EventAPI, EventRecorder
from controller_runtime.manager.manager import Manager
from controllers.agent.events import NodeEvents
from controllers.agent.machine import Observer
from controllers.agent.reporter import NodeReporter
from controllers.agent.settings import Settings
from controllers.heartbeat.lease_heartbeat import LeaseHeartbeat
from controllers.heartbeat.node_lease import REQUEST_TIMEOUT, node_lease

COMPONENT = "node-agent"
"""Who reports the events."""
RENEWED_AFTER = 0.25
"""Of its duration a lease is renewed."""
LEASE_PATIENCE = 1.0
"""Seconds that the first renewal waits for the registration, since a lease is not made before its Node."""


@attrs.frozen
class _LeaseOfNode:
    """The heartbeat of the lease: it begins once the Node is registered, but waits no longer than a moment.

    While a registration fails, the lease of a Node that is there already must be kept all the same.
    """

    heartbeat: LeaseHeartbeat
    registered: Latch
    host: Host

    @property
    def name(self) -> str:
        return self.heartbeat.name

    def run(self, stop: Stop) -> None:
        self.registered.wait(stop, self.host.monotonic() + LEASE_PATIENCE)
        self.heartbeat.run(stop)


def add_node_agent(manager: Manager, observer: Observer, settings: Settings) -> NodeReporter:
    """Let `manager` run the agent of one node: its reporter, and beside it the heartbeat of its lease.

    The two share nothing but the connections, which either drops when its requests fail repeatedly:
    a status that hangs holds up no renewal.
    """
    # As a dict and not a view: what others put on the Node is part of the difference.
    nodes: Lister[dict[str, object]] = manager.lister(NODES, dict, field_selector=f"metadata.name={settings.name}")
    # Of the core API, as a kubelet's are: the rights of a node end there.
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
        renew_interval=settings.lease_duration * RENEWED_AFTER,
        on_repeated_heartbeat_failure=manager.transport.close,
    )
    manager.add(recorder)
    manager.add(reporter)
    manager.add(_LeaseOfNode(heartbeat, reporter.registered, manager.host))
    return reporter
