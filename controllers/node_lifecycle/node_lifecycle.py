# SPDX-License-Identifier: Apache-2.0
"""Marks nodes that have fallen silent, and their pods, and taints the nodes so that other controllers act.

Each reconcile handles one node as it is now: its conditions, then its taints, then its pods. There is no periodic pass:
a node is reconciled when it changes, and when its grace period would end. `docs/node-lifecycle.md` has the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs
from prometheus_client.metrics_core import Metric

from apimachinery.errors import Conflict, DecodeError, NotFound, TerminalError
from apimachinery.host import Host
from apimachinery.log import get_logger
from apimachinery.objects import Cached, ObjectKey, timestamp
from controller_runtime.api.codec import decoder_for
from controller_runtime.api.resources import LEASES, NODES, PODS
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.store import Delta
from controller_runtime.client.client import Client
from controller_runtime.client.patches import PatchType
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.events.recorder import EventRecorder
from controller_runtime.manager.manager import Manager
from controllers.heartbeat.node_lease import NAMESPACE
from controllers.node_lifecycle.config import LifecycleConfig
from controllers.node_lifecycle.health import Health, unknown_conditions
from controllers.node_lifecycle.metrics import metrics_of_zones
from controllers.node_lifecycle.monitor import Monitor
from controllers.node_lifecycle.pods import PendingPods, PodMarker
from controllers.node_lifecycle.taints import Eviction, eviction, missing_labels, new_taints
from controllers.node_lifecycle.views import STOPPED_POSTING, MonitoredNodeView, MonitoredPodView, NodeLeaseView
from controllers.shared.pods_by_node import pods_by_node

log = get_logger(__name__)

NAME = "node-lifecycle"
COMPONENT = "node-controller"
"""The component that events are reported by; upstream's name."""
WORKERS = 8
"""The number that kube-controller-manager runs for this controller."""

_JUST_AFTER = 0.001
"""Seconds by which a look is later than the end of a grace period: only a longer silence is too long."""
_LINGER = 0.1
"""Seconds by which renewals may be noticed late, so that many are taken together: with thousands of nodes, waking up
for each renewal would cost more than taking it."""
_SOON = 0.1
"""Seconds until the next look at a node that the monitor has not seen yet, or that may have renewed meanwhile."""


@attrs.frozen
class NodeLifecycle(Reconciler):
    """Sets the conditions and taints of a node, and the readiness of its pods, by its signs of life.

    Attributes:
        host: The source of the time: its monotonic clock measures silence, its wall clock is for times in objects.
        client: Reads leases from the server, and writes nodes.
        nodes: The cache of nodes.
        monitor: Keeps the health of each node and the order of evictions.
        marker: Marks pods as not ready.
        pending_pods: The nodes whose pods must still be marked.
        recorder: Receives the events on nodes.
        config: The settings.
        read_node: Decodes a node.
    """

    host: Host
    client: Client
    nodes: Lister[MonitoredNodeView]
    monitor: Monitor
    marker: PodMarker
    pending_pods: PendingPods
    recorder: EventRecorder
    config: LifecycleConfig
    read_node: Callable[[bytes], MonitoredNodeView]

    def reconcile(self, request: Request) -> Result:
        """Reconcile a node; or a pod that was bound to a node that is not ready, if the request has a namespace."""
        try:
            if request.namespace:
                self.marker.mark_late(request)
                return Result()
            node = self.nodes.get(request)
            return Result() if node is None else self._look(node)
        except DecodeError as error:
            raise TerminalError(f"{request} is left alone until it changes: {error}") from error

    def metrics(self) -> Iterable[Metric]:
        """Return the metrics of the zones: sizes, states, and rates of eviction."""
        return metrics_of_zones(self.monitor.reports())

    def follow_nodes(self, delta: Delta) -> Iterable[Request]:
        """Record one change of a node, and return the nodes that must be reconciled because of it."""
        old, new = delta.old, delta.new
        if old is not None and (new is None or new.uid != old.uid):
            self._record(old, "RemovingNode", f"Node {old.name} event: Removing Node {old.name} from Controller")
            self.pending_pods.clear(old.name)
        if new is not None and (old is None or new.uid != old.uid):
            self._record(new, "RegisteredNode", f"Node {new.name} event: Registered Node {new.name} in Controller")
        if new is not None and delta.initial and self._was_declared_silent(new):
            self.pending_pods.add(new.name)  # an earlier process may have ended before it marked the pods
        concerned = self.monitor.node_changed(delta)
        return concerned if new is None else {delta.key: None, **dict.fromkeys(concerned)}

    def _look(self, node: MonitoredNodeView) -> Result:
        request, result = ObjectKey(node.name), None
        try:
            try:
                result = self._update(node)
            except Conflict:  # the node has changed since: decide once more on the server's copy
                result = self._update(self.client.get(NODES, request, MonitoredNodeView))
        except NotFound:  # the watch will show that the node is gone
            result = Result()
        finally:
            if result is None:  # it failed and is tried again later; the queue of its zone must not wait for that
                self.monitor.step_aside(node.name)
        return result

    def _update(self, node: MonitoredNodeView) -> Result:
        """Bring the conditions, taints and pods of a node up to date, and return when to look again."""
        health = self.monitor.health(node)
        if health is None:
            return Result(requeue_after=_SOON)
        now, graces, is_declared = self.host.monotonic(), self.config.graces, False
        if health.is_silent(graces, now) and unknown_conditions(node, ""):
            health = self._health_at_server(node, health)
            if self.host.monotonic() - now > self.config.monitor_period:
                self.monitor.step_aside(node.name)
                return Result(requeue_after=_SOON)  # the answer took so long that the node may have renewed since
            if health.is_silent(graces, now):
                node, is_declared = self._declare_unknown(node), True
        # The pods come in another turn, so that all nodes that fell silent together are marked before any pods.
        waits = [self._taint(node, health), _JUST_AFTER if is_declared else self._mark_pods(node)]
        if unknown_conditions(node, ""):  # not Unknown yet, so the end of its grace period matters
            waits.append(health.deadline(graces) - now + _JUST_AFTER)
        return Result(requeue_after=min((wait for wait in waits if wait is not None), default=None))

    def _was_declared_silent(self, node: Cached) -> bool:
        try:
            ready = self.read_node(node.raw).ready
        except DecodeError:
            return False
        return ready is not None and ready.is_ours and ready.reason == STOPPED_POSTING

    def _health_at_server(self, node: MonitoredNodeView, health: Health) -> Health:
        """Return the node's health by its lease at the server: our cache may be behind, or this process was stopped."""
        try:
            renewed = self.client.get(LEASES, ObjectKey(node.name, NAMESPACE), NodeLeaseView).renew_time
        except (NotFound, DecodeError):
            renewed = None
        return self.monitor.renewed(node.name, renewed) or health

    def _declare_unknown(self, node: MonitoredNodeView) -> MonitoredNodeView:
        """Set the conditions of a silent node to Unknown, and return the node as written."""
        was_ready = node.ready is not None and node.ready.status == "True"
        if was_ready:
            self.pending_pods.add(node.name)  # before the write, because its answer may be lost
        conditions = unknown_conditions(node, timestamp(self.host.now()))
        written = self._patch(node, {}, {"status": {"conditions": conditions}}, subresource="status")
        log.info("node is silent", node=node.name, reason=conditions[0]["reason"])
        if was_ready:
            self._record(written, "NodeNotReady", f"Node {node.name} status is now: NodeNotReady")
        return written

    def _taint(self, node: MonitoredNodeView, health: Health) -> float | None:
        """Change a node's taints and labels so that they fit its conditions.

        Returns:
            Seconds after which the next reconcile has to ask whether it is the node's turn to be evicted. None if the
            node needs no turn, or if its key is added to the controller's queue when its turn comes.
        """
        what = eviction(node, all_silent=self.monitor.all_silent)
        wait = None
        if what is Eviction.ASK:
            wait = self._wait_for_turn(node, health)
            what = Eviction.SET if wait == 0.0 else Eviction.ASK
        else:
            self.monitor.leave_queue(node.name)
        taints = new_taints(node, what, timestamp(self.host.now()))
        labels = missing_labels(node)
        if taints is not None or labels:
            self._patch(node, {"labels": labels}, {} if taints is None else {"spec": {"taints": taints or None}})
        return wait if what is Eviction.ASK else None

    def _wait_for_turn(self, node: MonitoredNodeView, health: Health) -> float | None:
        """Ask for the node's turn to be evicted.

        A node that reports itself that it is not ready is alive, so there is nothing to check. A node whose Ready
        condition is Unknown must not be evicted while its lease is renewed. Until then it does not stay in the
        queue, where it would hold up the others.

        Returns:
            As `Monitor.turn`.
        """
        patience = self.config.monitor_period
        if node.ready is None or node.ready.status != "Unknown":
            return self.monitor.turn(node.name, patience)
        left = self._protected_for(health)
        if left < 0:
            wait = self.monitor.turn(node.name, patience)
            if wait != 0.0:
                return wait
            left = self._protected_for(self._health_at_server(node, health))
            if left < 0:
                return wait
        self.monitor.give_back_turn(node.name)
        return left + _JUST_AFTER

    def _protected_for(self, health: Health) -> float:
        """Return the seconds for which the last sign of life prevents an eviction; negative if it does not."""
        return health.last_sign + self.config.graces.monitor - self.host.monotonic()

    def _mark_pods(self, node: MonitoredNodeView) -> float | None:
        """Mark the pods of a node that was declared Unknown, as far as one turn allows.

        Returns:
            Seconds after which to continue or to try again; None if there is nothing left to do.
        """
        so_far = self.pending_pods.progress(node.name)
        if so_far is None:
            return None
        if node.ready is not None and node.ready.status == "Unknown":
            period = self.config.monitor_period
            if not self.marker.mark_some(node.name, so_far, self.host.monotonic() + period):
                return _JUST_AFTER
            if so_far.failures:
                self.pending_pods.add(node.name)
                return period
        self.pending_pods.clear(node.name)
        return None

    def _patch(
        self, node: MonitoredNodeView, metadata: dict[str, Any], patch: dict[str, Any], subresource: str = ""
    ) -> MonitoredNodeView:
        """Patch the node if its resourceVersion is still the one that was judged, and return it as written."""
        body = {"metadata": {"resourceVersion": node.metadata.resource_version, **metadata}, **patch}
        request = ObjectKey(node.name)
        written = self.client.patch(NODES, request, body, type=PatchType.STRATEGIC, subresource=subresource)
        return self.read_node(written.raw)

    def _record(self, node: Any, reason: str, message: str) -> None:
        self.recorder.event(node, "Normal", reason, message, resource=NODES)


def node_lifecycle(manager: Manager, *, workers: int = WORKERS, config: LifecycleConfig | None = None) -> Controller:
    """Return the controller that marks and taints silent nodes, ready to be added to `manager`.

    Args:
        manager: The manager, whose client, caches and event recorder are used.
        workers: The most nodes that are processed at the same time.
        config: The settings; None for upstream's values.
    """
    config = config or LifecycleConfig()
    host, client, recorder = manager.host, manager.client, manager.recorder(COMPONENT)
    monitor = Monitor(host, config.graces, config.zones)
    marker = PodMarker(host, client, manager.lister(PODS, MonitoredPodView), pods_by_node(manager), recorder, monitor)
    reconciler = NodeLifecycle(
        host=host,
        client=client,
        nodes=manager.lister(NODES, MonitoredNodeView),
        monitor=monitor,
        marker=marker,
        pending_pods=PendingPods(host),
        recorder=recorder,
        config=config,
        read_node=decoder_for(MonitoredNodeView, NODES),
    )
    return (
        Controller(NAME, reconciler, workers=workers)
        .follow(NODES, reconciler.follow_nodes)
        .follow(LEASES, monitor.lease_changed, namespace=NAMESPACE, linger=_LINGER)
        .watch(PODS, map=marker.placed)
        .receive(monitor.next_in_queue)
    )
