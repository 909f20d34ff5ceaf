# SPDX-License-Identifier: Apache-2.0
"""Nodes without machines: one process does the registrations, posts and heartbeats of thousands of kubelets.

All of them share one queue and a few threads. A node has two keys in the queue: its name, for registration and
status, and its lease. The keys of a node that is killed or paused are dropped when they are due, and a
revival adds them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from apimachinery.errors import AlreadyExists, ControllerRuntimeError, DecodeError
from apimachinery.host import Host
from apimachinery.log import get_logger
from apimachinery.objects import ObjectKey, timestamp
from apimachinery.stop import Stop
from controller_runtime.api.codec import decoder_for
from controller_runtime.api.resources import NODES
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.store import Delta
from controller_runtime.client.client import Client
from controller_runtime.client.patches import PatchType
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.controller.workers import Workers
from controller_runtime.core.backoff import Backoff
from controller_runtime.queue.workqueue import WorkQueue
from controllers.heartbeat.lease_heartbeat import LeaseHeartbeat
from controllers.heartbeat.node_lease import RENEW_INTERVAL, REQUEST_TIMEOUT, node_lease
from controllers.heartbeat.step import JITTER
from controllers.hollow.kubelet import HollowNode, KubeletState
from controllers.hollow.late_renewals import LateRenewals
from controllers.hollow.node import NodeConditions, conditions, hollow_node, node_name
from controllers.hollow.selection import Selection
from controllers.shared.trouble_log import TroubleLog

log = get_logger(__name__)

WORKERS = 8
"""Number of requests at the same time."""
STATUS_INTERVAL = 300.0
"""Seconds between two posts of an unchanged status."""
STATUS_REPAIR = 10.0
"""Seconds within which a kubelet restores a status that another client has changed."""
RETRY = Backoff(initial=0.1, factor=2.0, cap=7.0, jitter=0.0)
"""Delays of a kubelet's registration; used for posts of the status, too."""


class HollowNodes(Reconciler):
    """Registers `count` nodes, renews their leases and posts their status, with a kubelet's intervals.

    A node is registered once. Its lease is renewed every 10 s, and its status is posted every five minutes, and within
    10 s after another client has changed it. The renewals of all nodes are spread over the interval. Failed requests
    are repeated with a kubelet's backoff as long as the program runs. An existing Node is taken over.

    At most as many nodes as there are workers wait in the queue for their first registration. So on a slow server nodes
    register more slowly, and renewals of registered nodes do not wait behind them. If renewals are more than half an
    interval late, one line per minute is logged.

    Args:
        host: The source of time and waiting.
        client: Sends the requests.
        count: Number of nodes.
        spread: Seconds over which registrations are spread; more if the server is slow.
        workers: The most requests at the same time.
        renew_interval: Seconds between two renewals of a lease; less than the 40 s for which a renewal is valid.
        nodes: A running cache with at least the hollow nodes. Without it, a status that another client has changed is
            restored only by the next regular post.

    Threads: call `run` once, from any thread; `is_running`, `kill`, `pause` and `revive` from any, at any time.
    """

    name = "hollow-nodes"

    def __init__(
        self,
        host: Host,
        client: Client,
        count: int,
        *,
        spread: float = 4.0,
        workers: int = WORKERS,
        renew_interval: float = RENEW_INTERVAL,
        nodes: Informer | None = None,
    ) -> None:
        self._host = host
        self._client = client.within(REQUEST_TIMEOUT)
        self._spread = spread
        self._workers = workers
        self._renew_interval = renew_interval
        self._informer = nodes
        self._lister = None if nodes is None else Lister(nodes.store, NODES, NodeConditions)
        self._decode = decoder_for(NodeConditions, NODES)
        self._queue: WorkQueue[Request] = WorkQueue(host, name=self.name)
        self._trouble_log = TroubleLog(
            host, "requests of hollow nodes fail", "requests of all hollow nodes succeed again"
        )
        self._late_renewals = LateRenewals(host, renew_interval / 2)
        self._clock_log = TroubleLog(
            host, "clock is behind leases, renewing from their last times", "clock has caught up with all leases"
        )
        # Guards the states and heartbeats of the nodes, and the two fields below them.
        self._lock = host.lock(self.name)
        self._nodes = {node_name(index): HollowNode(index, self._new_heartbeat(index)) for index in range(count)}
        self._unregistered = count
        # The nodes that do not wait in the queue yet, and the monotonic seconds from which each may join.
        self._joining: Iterator[tuple[HollowNode, float]] = iter(())

    def run(self, stop: Stop) -> None:
        """Register all nodes, renew their leases and post their status until `stop` is set."""
        nodes, start, each = self._nodes.values(), self._host.monotonic(), self._spread / max(1, len(self._nodes))
        self._joining = iter([(node, start + each * node.index) for node in nodes])
        for _ in range(self._workers):
            self._admit_next()
        subscription = None if self._informer is None else self._informer.add_handler(self._on_change)
        workers = Workers(self._host, self.name, self, self._queue, stop)
        stop.on_set(self._queue.shut_down)
        workers.start(self._workers)
        workers.join_until(None)
        if subscription is not None:
            subscription.remove()

    def reconcile(self, request: Request) -> Result:
        """Do the work that is due for a node or its lease, unless its kubelet does not run."""
        node = self._nodes[request.name]
        try:
            return self._do(node, request)
        finally:
            if not request.namespace and not node.has_tried_to_register:
                node.has_tried_to_register = True
                self._admit_next()

    def _do(self, node: HollowNode, key: ObjectKey) -> Result:
        if node.state is not KubeletState.RUNNING:
            node.renewal_due = None
            self._trouble_log.note(key, "")  # a kubelet that does not run makes no requests that fail
            self._clock_log.note(key, "")
            return Result()
        if key.namespace:
            return self._renew(node, key)
        try:
            result = self._report(node) if node.registered else self._register(node)
        except ControllerRuntimeError as error:
            node.failures += 1
            self._trouble_log.note(key, "" if node.is_deleted else str(error))
            return Result(requeue_after=RETRY.delay(node.failures, self._host.random))
        node.failures, node.is_deleted = 0, False
        self._trouble_log.note(key, "")
        return result

    def is_running(self, name: str) -> bool:
        """Return whether `name` is a hollow node of this object whose kubelet runs."""
        node = self._nodes.get(name)
        return node is not None and node.state is KubeletState.RUNNING

    def kill(self, which: Selection) -> list[str]:
        """End the kubelets of these nodes without sending a request; return the names of those that were not killed
        before.

        Raises:
            UsageError: There is no such node, zone or rack.
        """
        return self._change(which, lambda state: state is not KubeletState.KILLED, KubeletState.KILLED)

    def pause(self, which: Selection) -> list[str]:
        """Freeze the kubelets of these nodes; return the names of those that were running before.

        Raises:
            UsageError: There is no such node, zone or rack.
        """
        return self._change(which, lambda state: state is KubeletState.RUNNING, KubeletState.PAUSED)

    def revive(self, which: Selection) -> list[str]:
        """Run the kubelets of these nodes again; return the names of those that were not running before.

        Raises:
            UsageError: There is no such node, zone or rack.
        """
        names = self._change(which, lambda state: state is not KubeletState.RUNNING, KubeletState.RUNNING)
        for name in names:
            self._queue.add(self._nodes[name].key, cause="revived")
            self._queue.add(self._nodes[name].heartbeat.key, cause="revived")
        return names

    def _admit_next(self) -> None:
        """Add the next node that has not joined to the queue, if there is one."""
        with self._lock:
            following = next(self._joining, None)
        if following is not None:
            node, at = following
            self._queue.add_after(node.key, at - self._host.monotonic(), cause="joins")

    def _new_heartbeat(self, index: int) -> LeaseHeartbeat:
        name, interval = node_name(index), self._renew_interval
        return node_lease(self._host, self._client, name, renew_interval=interval, is_quiet=True)

    def _register(self, node: HollowNode) -> Result:
        now = timestamp(self._host.now())
        try:
            self._client.create(NODES, hollow_node(node.index, now))
            result = self._next_report(changed=True)
        except AlreadyExists:
            result = self._report(node)
        node.registered = True
        node.renewal_due = self._host.monotonic() + self._renew_interval
        # At a random point of the interval, so that nodes that join together do not renew together.
        self._queue.add_after(node.heartbeat.key, self._renew_interval * self._host.random.random())
        with self._lock:
            self._unregistered -= 1
            complete = self._unregistered == 0
        if complete:
            log.info("hollow nodes registered", nodes=len(self._nodes))
        return result

    def _renew(self, node: HollowNode, key: ObjectKey) -> Result:
        """Make the next request about the lease, and note problems and late renewals."""
        heartbeat = node.heartbeat
        was_troubled = bool(heartbeat.trouble)
        result = heartbeat.reconcile(key)
        self._trouble_log.note(key, "" if node.is_deleted else heartbeat.trouble)
        self._clock_log.note(key, f"{heartbeat.behind:.0f} s behind" if heartbeat.behind else "")
        if not heartbeat.trouble and (result.requeue_after or 0.0) >= self._renew_interval:
            now = self._host.monotonic()
            if (
                node.renewal_due is not None and not was_troubled
            ):  # a failure is logged as such, not as a late renewal, too
                self._late_renewals.note(now - node.renewal_due)
            node.renewal_due = now + self._renew_interval * (1 + JITTER)
        return result

    def _report(self, node: HollowNode) -> Result:
        """Post the conditions of a healthy node, and return when to post again."""
        seen = self._lister.get(node.key) if self._lister is not None else None
        found = seen or self._client.get(NODES, node.key, NodeConditions)
        patch = {"status": {"conditions": conditions(timestamp(self._host.now()), found.statuses())}}
        self._client.patch(NODES, node.key, patch, type=PatchType.STRATEGIC, subresource="status")
        return self._next_report(changed=not found.is_healthy())

    def _next_report(self, *, changed: bool) -> Result:
        """Return when to post again: after one interval, or, if the status has changed, after 0.5 to 1.5 intervals.

        The spread is a kubelet's: without it, nodes that changed together would post together from then on.
        """
        return Result(requeue_after=STATUS_INTERVAL * (0.5 + self._host.random.random() if changed else 1.0))

    def _on_change(self, delta: Delta) -> None:
        """Schedule a post for a node whose conditions are no longer those of a healthy one, and log a deletion."""
        node = self._nodes.get(delta.key.name)
        if node is None or not node.registered or node.state is not KubeletState.RUNNING:
            return
        node.is_deleted = delta.new is None
        if delta.new is None:
            log.warning("hollow node was deleted: kill and revive it to register it again", node=delta.key)
            return
        try:
            healthy = self._decode(delta.new.raw).is_healthy()
        except DecodeError:
            healthy = False
        if not healthy:
            self._queue.add_after(node.key, STATUS_REPAIR * self._host.random.random(), cause="status changed")

    def _change(self, which: Selection, concerns: Callable[[KubeletState], bool], state: KubeletState) -> list[str]:
        """Put the selected nodes whose state `concerns` accepts into `state`, and return their names."""
        selected = [self._nodes[node_name(index)] for index in which.among(len(self._nodes))]
        with self._lock:
            changed = [node for node in selected if concerns(node.state)]
            if which.random:
                changed = self._host.random.sample(changed, min(which.random, len(changed)))
            for node in changed:
                if node.state is KubeletState.KILLED:  # it starts again, without what it knew of its lease
                    self._unregistered += node.registered
                    node.heartbeat, node.registered = self._new_heartbeat(node.index), False
                node.state = state
        names = sorted(node_name(node.index) for node in changed)
        log.info(f"hollow nodes {state.value}", nodes=len(names))
        return names
