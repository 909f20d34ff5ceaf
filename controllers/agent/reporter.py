# SPDX-License-Identifier: Apache-2.0
"""Registers a node and posts its status, one request at a time: a thin hand around pure functions.

Its one key is the node's name. Registration, the five tries of a round and the pause between rounds
are waits of its queue, so that a stop is never further away than the request in hand.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from controller_runtime.api.objects import ObjectKey, timestamp
from controller_runtime.api.resources import NODES
from controller_runtime.cache.latch import Latch
from controller_runtime.cache.lister import Lister
from controller_runtime.client.client import Client
from controller_runtime.client.patches import PatchType
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.controller.workers import Workers
from controller_runtime.core.backoff import Backoff
from controller_runtime.core.errors import (
    AlreadyExists,
    APIError,
    Cancelled,
    ControllerRuntimeError,
    Forbidden,
)
from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger
from controller_runtime.core.stop import Stop
from controller_runtime.queue.workqueue import WorkQueue
from controllers.agent.changes import Reported, differs, node_patch
from controllers.agent.conditions import is_ready
from controllers.agent.events import NodeEvents
from controllers.agent.machine import Machine, Observer
from controllers.agent.node import brought_to_date, initial_node, pod_cidrs_of, reconciled
from controllers.agent.pressure import last_short, pressures
from controllers.agent.settings import Settings
from controllers.agent.status import Composed, Situation, compose

log = get_logger(__name__)

Node = dict[str, Any]

REGISTRATION = Backoff(initial=0.1, factor=2.0, cap=7.0, jitter=0.0)
"""Before each try, the first one included."""
TRIES = 5
"""Of a round, one after the other; then the next round is waited for."""
JITTER = 0.04
"""The pause between rounds is stretched by up to this part of it."""
SOON = 0.1
"""Seconds between rounds at the start, until the node is ready,"""
AT_FIRST = 120.0
"""but no longer than these."""


class NodeReporter(Reconciler):
    """Registers a Node, once, and then keeps its status as the machine is.

    A Node that is deleted is not made again while the program runs.

    Args:
        host: What it runs on.
        client: Writes the Node; give it a timeout of its own.
        nodes: A cache of (at least) this Node, which saves a request each round.
        observer: Sees the machine.
        settings: What it was told.
        events: Tells people what has changed.
        on_repeated_failure: Called after every failed try of a round but the first; a component closes
            its connections.

    Attributes:
        registered: Set once the Node is registered, or if that is left to others.

    Threads: `run` from one, once.
    """

    name = "node-status"

    def __init__(
        self,
        host: Host,
        client: Client,
        nodes: Lister[Any],
        observer: Observer,
        settings: Settings,
        *,
        events: NodeEvents,
        on_repeated_failure: Callable[[], None],
    ) -> None:
        self.key = ObjectKey(settings.name)
        self._host = host
        self._client = client
        self._nodes = nodes
        self._observer = observer
        self._settings = settings
        self._events = events
        self._on_repeated_failure = on_repeated_failure
        self._until = host.monotonic() + AT_FIRST
        self.registered = Latch(host, "node registered")
        if not settings.register:
            self.registered.set()
        # Whoever holds the key owns all below.
        self._failures = 0  # of registration, or of this round
        self._lament = ""  # what was logged of failures, until one try succeeds
        self._reported = Reported()
        self._short: dict[str, float] = {}  # when each condition was last seen to be so
        self._version = ""  # of the Node as we wrote it last: a cache that is behind that is not asked
        self._problems: list[str] = []  # that were logged
        self._pod_cidrs = ""

    def run(self, stop: Stop) -> None:
        """Register and report until `stop` is set; then say the last word, if one is to be said."""
        queue: WorkQueue[Request] = WorkQueue(self._host, name=self.name)
        workers = Workers(self._host, self.name, self, queue, stop)
        queue.add_after(self.key, 0.0 if self.registered.is_set() else REGISTRATION.initial)
        stop.on_set(queue.shut_down)
        workers.start(1)
        workers.join_until(None)
        if self._settings.shutdown_grace and self.registered.is_set() and not stop.is_cancelled():
            self._say_goodbye()

    def reconcile(self, request: Request) -> Result:
        """Make the next try of what is due, and say when to make the one after it."""
        try:
            if self.registered.is_set():
                result = self._next_round(self._report(self._node()))
            else:
                self._register()
                self.registered.set()
                result = Result(requeue_after=0.0)
        except Cancelled:
            raise
        except ControllerRuntimeError as error:
            return self._failed(error)
        self._failures = 0
        if self._lament:
            self._lament = ""
            log.info("node is heard again", node=self.key)
        return result

    # Registration

    def _register(self) -> None:
        """Make the Node, or bring to date the one that is there."""
        machine = self._observer.observe()
        initial = initial_node(self._settings, machine, self._composed(machine, None).status)
        try:
            made = self._client.create(NODES, initial)
        except (AlreadyExists, Forbidden):  # it may be there though we may not make it
            existing = self._client.get(NODES, self.key, dict)
            if patch := reconciled(existing, initial):
                self._write(patch)
            self._events.started(existing)
        else:
            self._version = made.resource_version
            self._events.started(made)
            self._events.tell(None, {**initial, "metadata": {**initial["metadata"], "uid": made.uid}})
        log.info("node is registered", node=self.key)

    # Status

    def _report(self, node: Node, *, stops: bool = False) -> Node:
        """Post the status if it says something new or is due; the Node as it should be now."""
        machine = self._observer.observe()
        composed = self._composed(machine, node.get("status"), stops=stops)
        self._complain(composed.problems)
        after = brought_to_date(node, machine, composed.status)
        pod_cidrs = pod_cidrs_of(node)
        is_new_range = pod_cidrs not in ("", self._pod_cidrs)
        changed = is_new_range or differs(node, after)
        if changed or self._reported.is_due(self._host.monotonic(), self._settings.report_interval):
            self._write(node_patch(node, after))
            interval, chance = self._settings.report_interval, self._host.random
            self._reported = self._reported.after(self._host.monotonic(), interval, changed=changed, chance=chance)
            log.debug("status posted", node=self.key, changed=changed)
        if is_new_range:
            log.info("node has a range of pod addresses", node=self.key, pod_cidrs=pod_cidrs)
            self._pod_cidrs = pod_cidrs
        self._events.tell(node.get("status"), after)
        return after

    def _node(self) -> Node:
        """The Node: the first try of a round takes the cache's, if that knows our own last word; the others ask."""
        if self._failures == 0 and not self._nodes.behind(self._version):
            node: Node | None = self._nodes.get(self.key)
            if node is None:
                raise ControllerRuntimeError(f"node {self.key} is not in the cache")
            return node
        return self._client.get(NODES, self.key, dict)

    def _composed(self, machine: Machine, before: Node | None, *, stops: bool = False) -> Composed:
        now = self._host.monotonic()
        self._short = last_short(machine, self._settings.thresholds, self._short, now)
        held = pressures(machine, self._short, now, self._settings.pressure_hold)
        at = timestamp(self._host.now())
        return compose(before, Situation(machine, self._settings, held, at, stops))

    def _write(self, patch: Node) -> None:
        written = self._client.patch(NODES, self.key, patch, type=PatchType.STRATEGIC, subresource="status")
        self._version = written.resource_version

    def _next_round(self, node: Node) -> Result:
        if not is_ready(node["status"]["conditions"]) and self._host.monotonic() < self._until:
            return Result(requeue_after=SOON)
        return Result(requeue_after=self._settings.update_interval, jitter=JITTER)

    def _say_goodbye(self) -> None:
        """Post that the node is not ready, because it goes."""
        self._client = self._client.within(self._settings.shutdown_grace)
        try:
            self._report(self._client.get(NODES, self.key, dict), stops=True)
        except ControllerRuntimeError as error:
            log.warning("node goes without a word", node=self.key, error=error)

    def _failed(self, error: ControllerRuntimeError) -> Result:
        self._failures += 1
        at_least = (error.retry_after or 0.0) if isinstance(error, APIError) else 0.0
        if not self.registered.is_set():
            self._failed_with("node cannot be registered, trying again", error)
            return Result(requeue_after=max(REGISTRATION.delay(self._failures + 1, self._host.random), at_least))
        if self._failures > 1:
            self._on_repeated_failure()
        if self._failures < TRIES:
            return Result(requeue_after=at_least)
        self._failures = 0
        self._failed_with("status cannot be posted, trying again", error)
        return Result(requeue_after=max(self._settings.update_interval, at_least), jitter=JITTER)

    # Words

    def _failed_with(self, message: str, error: ControllerRuntimeError) -> None:
        """Log a failure unless it is the one that was logged last; repetitions are for the curious."""
        tell = log.debug if str(error) == self._lament else log.warning
        tell(message, node=self.key, error=error)
        self._lament = str(error) or message

    def _complain(self, problems: list[str]) -> None:
        for problem in problems:
            if problem not in self._problems:
                log.warning("a part of the status is not known, so it stays as it was", why=problem)
        self._problems = problems
