# SPDX-License-Identifier: Apache-2.0
"""Nodes without machines: thousands of kubelets' heartbeats from one process, on one queue and a few threads.

Each is two keys of the queue: its name (registration, then status) and its lease. What
is killed or paused answers its keys with nothing, until it is revived.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator

import attrs

from controller_runtime.api.codec import decoder_for
from controller_runtime.api.objects import ObjectKey, timestamp
from controller_runtime.api.resources import NODES
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.store import Delta
from controller_runtime.client.client import Client
from controller_runtime.client.patches import PatchType
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.controller.workers import Workers
from controller_runtime.core.backoff import Backoff
from controller_runtime.core.errors import AlreadyExists, ControllerRuntimeError, DecodeError
from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger
from controller_runtime.core.stop import Stop
from controller_runtime.queue.workqueue import WorkQueue
from controllers.heartbeat.lease_heartbeat import LeaseHeartbeat
from controllers.heartbeat.node_lease import RENEW_INTERVAL, REQUEST_TIMEOUT, node_lease
from controllers.heartbeat.step import JITTER
from controllers.hollow.node import NodeView, conditions, hollow_node, node_name
from controllers.hollow.pace import Pace
from controllers.hollow.selection import Selection
from controllers.shared.trouble_log import TroubleLog

log = get_logger(__name__)

WORKERS = 8
STATUS_INTERVAL = 300.0
"""Seconds between two posts of an unchanged status."""
STATUS_LOOK = 10.0
"""Seconds within which a kubelet notices that others changed its status."""
RETRY = Backoff(initial=0.1, factor=2.0, cap=7.0, jitter=0.0)
"""A kubelet's registration; here for posts of status too."""


class Life(enum.Enum):
    """Whether a hollow node's kubelet runs."""

    RUNNING = "running"
    PAUSED = "paused"  # frozen: it remembers its lease
    KILLED = "killed"  # gone: revived, it begins with its registration


@attrs.define
class _HollowNode:
    """One of them. `life` and `heartbeat` change under the lock; the rest belongs to the worker that holds its key.

    A revival sets `registered` back all the same: at worst the request in hand then registers for it.
    """

    index: int
    heartbeat: LeaseHeartbeat
    life: Life = Life.RUNNING
    registered: bool = False
    has_tried: bool = False  # to register, for the first time
    renewal_due: float | None = None  # monotonic seconds; None while its kubelet does not run
    failures: int = 0
    is_deleted: bool = False  # by others, for the log: its kubelet goes on in vain, as a real one does

    @property
    def key(self) -> ObjectKey:
        return ObjectKey(node_name(self.index))


class HollowNodes(Reconciler):
    """Registers `count` nodes and keeps them alive at a kubelet's pace.

    A node is registered once, its lease renewed every 10 s, its status posted every five
    minutes, and within 10 s after others changed it. The leases' renewals are spread over their
    interval. A server that refuses, fails or is overloaded is asked again with a
    kubelet's backoff, for as long as the program runs. A node that exists already is taken over.

    No more nodes than there are workers stand in the queue to register for the first time, so on a slow server
    the nodes join more slowly, and the renewals of those that have joined do not wait behind them. One line of
    log a minute tells if renewals come more than half an interval late.

    Args:
        host: What it runs on.
        client: Where to register.
        count: How many nodes.
        spread: Seconds over which they join; longer if the server needs it.
        workers: Requests at the same time.
        renew_interval: Seconds between two renewals of a lease, below a kubelet's 40 s of duration.
        nodes: A cache of (at least) the hollow nodes that runs meanwhile; without it,
            changes of a status by others are noticed at the next post only.

    Threads: `run` from one, once; `is_running`, `kill`, `pause` and `revive` from any.
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
        self._lister = None if nodes is None else Lister(nodes.store, NODES, NodeView)
        self._decode = decoder_for(NodeView, NODES)
        self._queue: WorkQueue[Request] = WorkQueue(host, name=self.name)
        self._troubles = TroubleLog(host, "hollow nodes are in trouble", "hollow nodes are well again")
        self._pace = Pace(host, renew_interval / 2)
        self._clock = TroubleLog(
            host, "clock is behind leases, renewing from their last times", "clock has caught up with all leases"
        )
        # Guards the lives and heartbeats of the nodes, and the count.
        self._lock = host.lock(self.name)
        self._nodes = {node_name(index): _HollowNode(index, self._new_heartbeat(index)) for index in range(count)}
        self._unregistered = count
        # When those may join that do not stand in the queue yet.
        self._joining: Iterator[tuple[_HollowNode, float]] = iter(())

    def run(self, stop: Stop) -> None:
        """Register them all and keep them alive until asked to stop."""
        nodes, start, each = self._nodes.values(), self._host.monotonic(), self._spread / max(1, len(self._nodes))
        self._joining = iter([(node, start + each * node.index) for node in nodes])
        for _ in range(self._workers):
            self._let_one_join()
        told = None if self._informer is None else self._informer.add_handler(self._notice)
        workers = Workers(self._host, self.name, self, self._queue, stop)
        stop.on_set(self._queue.shut_down)
        workers.start(self._workers)
        workers.join_until(None)
        if told is not None:
            told.remove()

    def reconcile(self, request: Request) -> Result:
        """Do what is due for a node or its lease; nothing while its kubelet does not run."""
        node = self._nodes[request.name]
        try:
            return self._do(node, request)
        finally:
            if not request.namespace and not node.has_tried:
                node.has_tried = True
                self._let_one_join()

    def _do(self, node: _HollowNode, key: ObjectKey) -> Result:
        if node.life is not Life.RUNNING:
            node.renewal_due = None
            self._troubles.note(key, "")  # the dead have none
            self._clock.note(key, "")
            return Result()
        if key.namespace:
            return self._renew(node, key)
        try:
            result = self._report(node) if node.registered else self._register(node)
        except ControllerRuntimeError as error:
            node.failures += 1
            self._troubles.note(key, "" if node.is_deleted else str(error))
            return Result(requeue_after=RETRY.delay(node.failures, self._host.random))
        node.failures, node.is_deleted = 0, False
        self._troubles.note(key, "")
        return result

    def is_running(self, name: str) -> bool:
        """Whether there is a node of that name here, and its kubelet runs."""
        node = self._nodes.get(name)
        return node is not None and node.life is Life.RUNNING

    def kill(self, which: Selection) -> list[str]:
        """End the kubelets of some nodes, without a word to anybody; their names.

        Raises:
            UsageError: There is no such node or zone.
        """
        return self._change(which, lambda life: life is not Life.KILLED, Life.KILLED)

    def pause(self, which: Selection) -> list[str]:
        """Freeze the kubelets of some nodes; the names of those that ran.

        Raises:
            UsageError: There is no such node or zone.
        """
        return self._change(which, lambda life: life is Life.RUNNING, Life.PAUSED)

    def revive(self, which: Selection) -> list[str]:
        """Let the kubelets of some nodes run again; the names of those that did not.

        Raises:
            UsageError: There is no such node or zone.
        """
        names = self._change(which, lambda life: life is not Life.RUNNING, Life.RUNNING)
        for name in names:
            self._queue.add(self._nodes[name].key, cause="revived")
            self._queue.add(self._nodes[name].heartbeat.key, cause="revived")
        return names

    def _let_one_join(self) -> None:
        """Let the next node stand in the queue, if there is one."""
        with self._lock:
            following = next(self._joining, None)
        if following is not None:
            node, at = following
            self._queue.add_after(node.key, at - self._host.monotonic(), cause="joins")

    def _new_heartbeat(self, index: int) -> LeaseHeartbeat:
        name, interval = node_name(index), self._renew_interval
        return node_lease(self._host, self._client, name, renew_interval=interval, is_quiet=True)

    def _register(self, node: _HollowNode) -> Result:
        now = timestamp(self._host.now())
        try:
            self._client.create(NODES, hollow_node(node.index, now))
            result = self._next_report(changed=True)
        except AlreadyExists:
            result = self._report(node)
        node.registered = True
        node.renewal_due = self._host.monotonic() + self._renew_interval
        # Anywhere in the interval, so that nodes that join together do not beat together.
        self._queue.add_after(node.heartbeat.key, self._renew_interval * self._host.random.random())
        with self._lock:
            self._unregistered -= 1
            complete = self._unregistered == 0
        if complete:
            log.info("hollow nodes registered", nodes=len(self._nodes))
        return result

    def _renew(self, node: _HollowNode, key: ObjectKey) -> Result:
        """Go on with the lease, and note what is wrong with it."""
        heartbeat = node.heartbeat
        was_troubled = bool(heartbeat.trouble)
        result = heartbeat.reconcile(key)
        self._troubles.note(key, "" if node.is_deleted else heartbeat.trouble)
        self._clock.note(key, f"{heartbeat.behind:.0f} s behind" if heartbeat.behind else "")
        if not heartbeat.trouble and (result.requeue_after or 0.0) >= self._renew_interval:
            now = self._host.monotonic()
            if node.renewal_due is not None and not was_troubled:  # what fails is told as trouble
                self._pace.note(now - node.renewal_due)
            node.renewal_due = now + self._renew_interval * (1 + JITTER)
        return result

    def _report(self, node: _HollowNode) -> Result:
        """Post the status."""
        seen = self._lister.get(node.key) if self._lister is not None else None
        found = seen or self._client.get(NODES, node.key, NodeView)
        patch = {"status": {"conditions": conditions(timestamp(self._host.now()), found.statuses())}}
        self._client.patch(NODES, node.key, patch, type=PatchType.STRATEGIC, subresource="status")
        return self._next_report(changed=not found.is_healthy())

    def _next_report(self, *, changed: bool) -> Result:
        """As a kubelet: after a change anywhere around the interval, so that those changed together part again."""
        return Result(requeue_after=STATUS_INTERVAL * (0.5 + self._host.random.random() if changed else 1.0))

    def _notice(self, delta: Delta) -> None:
        """Look at a node whose status others have changed."""
        node = self._nodes.get(delta.key.name)
        if node is None or not node.registered or node.life is not Life.RUNNING:
            return
        node.is_deleted = delta.new is None
        if delta.new is None:
            log.warning("hollow node was deleted, and registers again only once killed and revived", node=delta.key)
            return
        try:
            healthy = self._decode(delta.new.raw).is_healthy()
        except DecodeError:
            healthy = False
        if not healthy:
            self._queue.add_after(node.key, STATUS_LOOK * self._host.random.random(), cause="status changed")

    def _change(self, which: Selection, concerns: Callable[[Life], bool], life: Life) -> list[str]:
        """Give those that are meant and concerned another life; their names."""
        meant = [self._nodes[node_name(index)] for index in which.among(len(self._nodes))]
        with self._lock:
            changed = [node for node in meant if concerns(node.life)]
            if which.random:
                changed = self._host.random.sample(changed, min(which.random, len(changed)))
            for node in changed:
                if node.life is Life.KILLED:  # begins anew
                    self._unregistered += node.registered
                    node.heartbeat, node.registered = self._new_heartbeat(node.index), False
                node.life = life
        names = sorted(node_name(node.index) for node in changed)
        log.info(f"hollow nodes {life.value}", nodes=len(names))
        return names
