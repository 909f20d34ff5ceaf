# SPDX-License-Identifier: Apache-2.0
"""Notices the node that fell silent: marks it, its pods, and taints it so that others act.

One node at a time, by what it is now: its conditions, then its taints, then its pods. There is
no periodic pass: each node is looked at when it changes, and when its silence would become
too long. `docs/node-lifecycle.md` has the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs
from prometheus_client.metrics_core import Metric

from controller_runtime.api.codec import decoder_for
from controller_runtime.api.objects import Cached, ObjectKey, timestamp
from controller_runtime.api.resources import LEASES, NODES, PODS
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.store import Delta
from controller_runtime.client.client import Client
from controller_runtime.client.patches import PatchType
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.core.errors import Conflict, DecodeError, NotFound, TerminalError
from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger
from controller_runtime.events.recorder import EventRecorder
from controller_runtime.manager.manager import Manager
from controllers.heartbeat.node_lease import NAMESPACE
from controllers.node_lifecycle.config import LifecycleConfig
from controllers.node_lifecycle.health import Health, unknown_conditions
from controllers.node_lifecycle.metrics import metrics_of_zones
from controllers.node_lifecycle.monitor import Monitor
from controllers.node_lifecycle.pods import Debts, PodMarker
from controllers.node_lifecycle.taints import Eviction, eviction, missing_labels, new_taints
from controllers.node_lifecycle.views import STOPPED_POSTING, LeaseView, NodeView, PodView
from controllers.shared.pods_by_node import pods_by_node

log = get_logger(__name__)

NAME = "node-lifecycle"
COMPONENT = "node-controller"
"""Who reports its events, as upstream."""
WORKERS = 8
"""As many as kube-controller-manager runs for this controller."""

_JUST_AFTER = 0.001
"""Seconds after the end of a grace: too long is what is longer."""
_LINGER = 0.1
"""Seconds by which renewals may be noticed late: of thousands, one by one, most of the cost would be to wake up."""
_SOON = 0.1
"""Seconds until a node that the monitor has not heard of yet is looked at again."""


@attrs.frozen
class NodeLifecycle(Reconciler):
    """Brings the conditions, the taints and the pods of one node to what its silence calls for."""

    host: Host
    client: Client
    nodes: Lister[NodeView]
    monitor: Monitor
    marker: PodMarker
    debts: Debts
    recorder: EventRecorder
    config: LifecycleConfig
    read_node: Callable[[bytes], NodeView]

    def reconcile(self, request: Request) -> Result:
        """Look at one node; or at a pod (its request has a namespace) that came to one that is not ready."""
        try:
            if request.namespace:
                self.marker.mark_late(request)
                return Result()
            node = self.nodes.get(request)
            return Result() if node is None else self._look(node)
        except DecodeError as error:
            raise TerminalError(f"{request} is left alone until it changes: {error}") from error

    def metrics(self) -> Iterable[Metric]:
        """Its zones: their sizes, their states, and the pace of evictions in them."""
        return metrics_of_zones(self.monitor.reports())

    def follow_nodes(self, delta: Delta) -> Iterable[Request]:
        """Hear of one change of a node; who is to be looked at because of it."""
        old, new = delta.old, delta.new
        if old is not None and (new is None or new.uid != old.uid):
            self._tell(old, "RemovingNode", f"Node {old.name} event: Removing Node {old.name} from Controller")
            self.debts.forgive(old.name)
        if new is not None and (old is None or new.uid != old.uid):
            self._tell(new, "RegisteredNode", f"Node {new.name} event: Registered Node {new.name} in Controller")
        if new is not None and delta.initial and self._was_declared_silent(new):
            self.debts.owe(new.name)  # whoever ran before may not have come to its pods
        concerned = self.monitor.node_changed(delta)
        return concerned if new is None else {delta.key: None, **dict.fromkeys(concerned)}

    def _look(self, node: NodeView) -> Result:
        request, result = ObjectKey(node.name), None
        try:
            try:
                result = self._bring(node)
            except Conflict:  # another writer was first: once more, by what the node is now
                result = self._bring(self.client.get(NODES, request, NodeView))
        except NotFound:  # of which we shall be told
            result = Result()
        finally:
            if result is None:  # it is looked at again later, and its zone's line does not wait for that
                self.monitor.step_aside(node.name)
        return result

    def _bring(self, node: NodeView) -> Result:
        """Do what is to be done for a node as it is; when to look again."""
        health = self.monitor.health(node)
        if health is None:
            return Result(requeue_after=_SOON)
        now, graces, is_declared = self.host.monotonic(), self.config.graces, False
        if health.is_silent(graces, now) and unknown_conditions(node, ""):
            health = self._asked_the_server(node, health)
            if self.host.monotonic() - now > self.config.monitor_period:
                self.monitor.step_aside(node.name)
                return Result(requeue_after=_SOON)  # it may have renewed since: the answer is of the past
            if health.is_silent(graces, now):
                node, is_declared = self._declare_unknown(node), True
        # Those that fell silent together are marked first, and then their pods.
        waits = [self._taint(node, health), _JUST_AFTER if is_declared else self._mark_pods(node)]
        if unknown_conditions(node, ""):  # its silence would make a difference
            waits.append(health.deadline(graces) - now + _JUST_AFTER)
        return Result(requeue_after=min((wait for wait in waits if wait is not None), default=None))

    def _was_declared_silent(self, node: Cached) -> bool:
        try:
            ready = self.read_node(node.raw).ready
        except DecodeError:
            return False
        return ready is not None and ready.is_ours and ready.reason == STOPPED_POSTING

    def _asked_the_server(self, node: NodeView, health: Health) -> Health:
        """Its health by the lease as it is: our cache may be behind, or we may have been stopped for a while."""
        try:
            renewed = self.client.get(LEASES, ObjectKey(node.name, NAMESPACE), LeaseView).renew_time
        except (NotFound, DecodeError):
            renewed = None
        return self.monitor.renewed(node.name, renewed) or health

    def _declare_unknown(self, node: NodeView) -> NodeView:
        """Write that nobody knows how the node is; what it is then."""
        was_ready = node.ready is not None and node.ready.status == "True"
        if was_ready:
            self.debts.owe(node.name)  # before it is written, lest a lost answer forgive them
        conditions = unknown_conditions(node, timestamp(self.host.now()))
        written = self._patch(node, {}, {"status": {"conditions": conditions}}, subresource="status")
        log.info("node is silent", node=node.name, reason=conditions[0]["reason"])
        if was_ready:
            self._tell(written, "NodeNotReady", f"Node {node.name} status is now: NodeNotReady")
        return written

    def _taint(self, node: NodeView, health: Health) -> float | None:
        """Bring its taints and labels to what its conditions call for; in how many seconds to ask for more."""
        what = eviction(node, all_silent=self.monitor.all_silent)
        wait = None
        if what is Eviction.ASK:
            wait = self._wait_for_turn(node, health)
            what = Eviction.SET if wait == 0.0 else Eviction.ASK
        else:
            self.monitor.leave_line(node.name)
        taints = new_taints(node, what, timestamp(self.host.now()))
        labels = missing_labels(node)
        if taints is not None or labels:
            self._patch(node, {"labels": labels}, {} if taints is None else {"spec": {"taints": taints or None}})
        return wait if what is Eviction.ASK else None

    def _wait_for_turn(self, node: NodeView, health: Health) -> float | None:
        """In how many seconds the node may be evicted, as `Monitor.turn`.

        A node that says itself that it is not ready can only do so alive. Any other must not be evicted while its
        lease is alive; meanwhile it does not stand in the line, where it would hold up the others.
        """
        patience = self.config.monitor_period
        if node.ready is None or node.ready.status != "Unknown":
            return self.monitor.turn(node.name, patience)
        left = self._left_to_answer(health)
        if left < 0:
            wait = self.monitor.turn(node.name, patience)
            if wait != 0.0:
                return wait
            left = self._left_to_answer(self._asked_the_server(node, health))
            if left < 0:
                return wait
        self.monitor.pass_turn(node.name)
        return left + _JUST_AFTER

    def _left_to_answer(self, health: Health) -> float:
        """Seconds in which a node counts as just heard: its lease is alive, so its status will be too."""
        return health.heard + self.config.graces.monitor - self.host.monotonic()

    def _mark_pods(self, node: NodeView) -> float | None:
        """Mark the pods of a node that we declared unknown; in how many seconds to try again."""
        so_far = self.debts.round(node.name)
        if so_far is None:
            return None
        if node.ready is not None and node.ready.status == "Unknown":
            period = self.config.monitor_period
            if not self.marker.mark_some(node.name, so_far, self.host.monotonic() + period):
                return _JUST_AFTER
            if so_far.failures:
                self.debts.owe(node.name)
                return period
        self.debts.forgive(node.name)
        return None

    def _patch(
        self, node: NodeView, metadata: dict[str, Any], patch: dict[str, Any], subresource: str = ""
    ) -> NodeView:
        """Write what was decided, if the node is still what it was decided on; what it is then."""
        body = {"metadata": {"resourceVersion": node.metadata.resource_version, **metadata}, **patch}
        request = ObjectKey(node.name)
        written = self.client.patch(NODES, request, body, type=PatchType.STRATEGIC, subresource=subresource)
        return self.read_node(written.raw)

    def _tell(self, node: Any, reason: str, message: str) -> None:
        self.recorder.event(node, "Normal", reason, message, resource=NODES)


def node_lifecycle(manager: Manager, *, workers: int = WORKERS, config: LifecycleConfig | None = None) -> Controller:
    """The controller, ready to add to `manager`.

    Args:
        manager: Whose nodes to look after.
        workers: Nodes looked at at the same time.
        config: How patient it is; upstream's numbers by default.
    """
    config = config or LifecycleConfig()
    host, client, recorder = manager.host, manager.client, manager.recorder(COMPONENT)
    monitor = Monitor(host, config.graces, config.zones)
    marker = PodMarker(host, client, manager.lister(PODS, PodView), pods_by_node(manager), recorder, monitor)
    reconciler = NodeLifecycle(
        host=host,
        client=client,
        nodes=manager.lister(NODES, NodeView),
        monitor=monitor,
        marker=marker,
        debts=Debts(host),
        recorder=recorder,
        config=config,
        read_node=decoder_for(NodeView, NODES),
    )
    return (
        Controller(NAME, reconciler, workers=workers)
        .follow(NODES, reconciler.follow_nodes)
        .follow(LEASES, monitor.lease_changed, namespace=NAMESPACE, linger=_LINGER)
        .watch(PODS, map=marker.placed)
        .receive(monitor.next_in_line)
    )
