# SPDX-License-Identifier: Apache-2.0
"""Registers a node and posts its status; the decisions are pure functions in the modules next to this one.

The reporter is a reconciler with one key, the node's name. It measures the machine and posts the status in
rounds of up to five tries. All its waits are waits of its queue, so that a stop never waits for more
than the request under way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apimachinery.errors import (
    AlreadyExists,
    APIError,
    Cancelled,
    ControllerRuntimeError,
    Forbidden,
)
from apimachinery.host import Host
from apimachinery.log import get_logger
from apimachinery.objects import ObjectKey, timestamp
from apimachinery.stop import Stop
from controller_runtime.api.resources import NODES
from controller_runtime.cache.latch import Latch
from controller_runtime.cache.lister import Lister
from controller_runtime.client.client import Client
from controller_runtime.client.patches import PatchType
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.controller.workers import Workers
from controller_runtime.core.backoff import Backoff
from controller_runtime.queue.workqueue import WorkQueue
from controllers.agent.changes import Reported, differs, node_patch
from controllers.agent.conditions import is_ready
from controllers.agent.events import NodeEvents
from controllers.agent.machine import Machine, Observer
from controllers.agent.node import adoption_patch, initial_node, pod_cidrs_of, updated_node
from controllers.agent.pressure import last_short, pressures
from controllers.agent.settings import Settings
from controllers.agent.status import Composed, Situation, compose

log = get_logger(__name__)

Node = dict[str, Any]

REGISTRATION = Backoff(initial=0.1, factor=2.0, cap=7.0, jitter=0.0)
"""Seconds before each try to register, the first one included."""
TRIES = 5
"""Tries of a round, without a pause between them; after the last one the next round is waited for."""
JITTER = 0.04
"""The pause between rounds is stretched by up to this fraction of it."""
STARTUP_INTERVAL = 0.1
"""Seconds between rounds at the start, until the node is ready."""
STARTUP_PERIOD = 120.0
"""Seconds after which rounds are `update_interval` apart even if the node is not ready."""


class NodeReporter(Reconciler):
    """Registers a Node once, then updates its status from measurements of the machine.

    As with a kubelet, a deleted Node is not created again while the program runs.

    Args:
        host: The source of time and waiting.
        client: Reads and writes the Node; its timeout limits each try.
        nodes: A cache with this Node, which saves a request in each update.
        observer: Measures the machine.
        settings: The settings of the agent.
        events: Records the changes as events.
        on_repeated_failure: Called after each failed try of an update except the first. It should close the
            connections, since they may be broken.

    Attributes:
        registered: Set once the Node is registered; set from the start if the agent must not register it.

    Threads: call `run` once, from any thread.
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
        self._startup_ends = host.monotonic() + STARTUP_PERIOD
        self.registered = Latch(host, "node registered")
        if not settings.register:
            self.registered.set()
        # The fields below belong to the one call of `reconcile` that runs; so they need no lock.
        self._failures = 0  # of registration, or of this round
        self._logged_failure = ""  # the failure that was logged last; empty once a try has succeeded
        self._reported = Reported()
        self._short: dict[str, float] = {}  # when each pressure condition was last measured to hold
        self._version = ""  # of the Node as we wrote it last; a cache that is behind it is not used
        self._problems: list[str] = []  # of the last round, which were logged
        self._pod_cidrs = ""

    def run(self, stop: Stop) -> None:
        """Register the Node and update its status until `stop` is set; then post Ready=False, if the settings require
        it.
        """
        queue: WorkQueue[Request] = WorkQueue(self._host, name=self.name)
        workers = Workers(self._host, self.name, self, queue, stop)
        queue.add_after(self.key, 0.0 if self.registered.is_set() else REGISTRATION.initial)
        stop.on_set(queue.shut_down)
        workers.start(1)
        workers.join_until(None)
        if self._settings.shutdown_grace and self.registered.is_set() and not stop.is_cancelled():
            self._report_shutdown()

    def reconcile(self, request: Request) -> Result:
        """Register the Node or update its status, and return when the next try is due."""
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
        if self._logged_failure:
            self._logged_failure = ""
            log.info("requests for the node succeed again", node=self.key)
        return result

    def _register(self) -> None:
        """Create the Node, or patch the one that exists."""
        machine = self._observer.observe()
        initial = initial_node(self._settings, machine, self._composed(machine, None).status)
        try:
            made = self._client.create(NODES, initial)
        except (AlreadyExists, Forbidden):  # it may exist even if we have no right to create it
            existing = self._client.get(NODES, self.key, dict)
            if patch := adoption_patch(existing, initial):
                self._write(patch)
            self._events.started(existing)
        else:
            self._version = made.resource_version
            self._events.started(made)
            self._events.record(None, {**initial, "metadata": {**initial["metadata"], "uid": made.uid}})
        log.info("node is registered", node=self.key)

    def _report(self, node: Node, *, stops: bool = False) -> Node:
        """Post the status if it has changed or is due, and return the Node as it should be now."""
        machine = self._observer.observe()
        composed = self._composed(machine, node.get("status"), stops=stops)
        self._log_problems(composed.problems)
        after = updated_node(node, machine, composed.status)
        pod_cidrs = pod_cidrs_of(node)
        is_new_range = pod_cidrs not in ("", self._pod_cidrs)
        # A new range is posted at once, as by a kubelet, though the status does not contain it.
        changed = is_new_range or differs(node, after)
        if changed or self._reported.is_due(self._host.monotonic(), self._settings.report_interval):
            self._write(node_patch(node, after))
            interval, chance = self._settings.report_interval, self._host.random
            self._reported = self._reported.after(self._host.monotonic(), interval, changed=changed, chance=chance)
            log.debug("status posted", node=self.key, changed=changed)
        if is_new_range:
            log.info("node has a range of pod addresses", node=self.key, pod_cidrs=pod_cidrs)
            self._pod_cidrs = pod_cidrs
        self._events.record(node.get("status"), after)
        return after

    def _node(self) -> Node:
        """Return the Node: in the first try of a round from the cache, unless that is behind our last write.

        Further tries read it from the server, as a kubelet's do, since a stale Node may be why the first failed.
        """
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
        if not is_ready(node["status"]["conditions"]) and self._host.monotonic() < self._startup_ends:
            return Result(requeue_after=STARTUP_INTERVAL)
        return Result(requeue_after=self._settings.update_interval, jitter=JITTER)

    def _report_shutdown(self) -> None:
        """Post Ready=False, because the node shuts down."""
        self._client = self._client.within(self._settings.shutdown_grace)
        try:
            self._report(self._client.get(NODES, self.key, dict), stops=True)
        except ControllerRuntimeError as error:
            log.warning("cannot post that the node shuts down", node=self.key, error=error)

    def _failed(self, error: ControllerRuntimeError) -> Result:
        """Count a failed try, and return when the next one is due."""
        self._failures += 1
        at_least = (error.retry_after or 0.0) if isinstance(error, APIError) else 0.0
        if not self.registered.is_set():
            self._log_failure("cannot register the node, trying again", error)
            return Result(requeue_after=max(REGISTRATION.delay(self._failures + 1, self._host.random), at_least))
        if self._failures > 1:
            self._on_repeated_failure()
        if self._failures < TRIES:
            return Result(requeue_after=at_least)
        self._failures = 0
        self._log_failure("cannot post the status, trying again", error)
        return Result(requeue_after=max(self._settings.update_interval, at_least), jitter=JITTER)

    def _log_failure(self, message: str, error: ControllerRuntimeError) -> None:
        """Log a failure as a warning, or at debug level if it is the one that was logged last."""
        write_log = log.debug if str(error) == self._logged_failure else log.warning
        write_log(message, node=self.key, error=error)
        self._logged_failure = str(error) or message

    def _log_problems(self, problems: list[str]) -> None:
        for problem in problems:
            if problem not in self._problems:
                log.warning("a part of the status is not known, so it stays as it was", why=problem)
        self._problems = problems
