# SPDX-License-Identifier: Apache-2.0
"""The manager: one connection to an API server, shared caches, and the run of all that is added to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, Unpack

from apimachinery.errors import UsageError
from apimachinery.host import Host
from apimachinery.plain_functions import synchronous
from apimachinery.stop import Stage, Stop
from apimachinery.system import SystemHost
from controller_runtime.api.resources import Kind
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.options import CacheOptions
from controller_runtime.cache.patience import Patience
from controller_runtime.cache.transforms import Transform
from controller_runtime.client.client import Client
from controller_runtime.client.counting import CountingTransport
from controller_runtime.client.deadlines import DeadlineTransport, reconcile_limit
from controller_runtime.client.request_threads import RequestThreads
from controller_runtime.client.stories import StoryTransport
from controller_runtime.client.transport import Transport
from controller_runtime.client.written_versions import WrittenTransport
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.observers import Observers
from controller_runtime.controller.panics import OnPanic, ignore_panic
from controller_runtime.controller.self_wakes import SelfWakes
from controller_runtime.controller.stories import Stories
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.election.history import LeaderHistory
from controller_runtime.events.recorder import EventAPI, EventRecorder
from controller_runtime.manager.caches import ManagedCaches
from controller_runtime.manager.definitions import Definitions
from controller_runtime.manager.deletions import limited_client
from controller_runtime.manager.electing import elector_of
from controller_runtime.manager.failure import failure_of
from controller_runtime.manager.lifecycle import CANCEL_GRACE, Lifecycle, Runnable
from controller_runtime.manager.members import Members
from controller_runtime.manager.options import ManagerOptions
from controller_runtime.manager.page.shown import ShownTables
from controller_runtime.manager.recording import listening, recorded
from controller_runtime.manager.rights import Right, observed
from controller_runtime.manager.rings import ManagedRings
from controller_runtime.manager.tracing import tracing_of
from controller_runtime.manager.unhandled_signals import stop_on_unhandled_signals
from controller_runtime.manager.unreadable_events import UnreadableEvents
from controller_runtime.manager.webhooks import ManagedWebhooks

if TYPE_CHECKING:  # a program without coroutines, leader election or tracing should not pay for them
    from opentelemetry.trace import TracerProvider

    from controller_runtime.client.async_client import AsyncClient
    from controller_runtime.incidents.recorder import Incidents


class Manager(ManagedCaches, ManagedRings, ManagedWebhooks, ShownTables):
    """Runs controllers and runnables on one API server, and stops them in order.

    Controllers and listers that use the same collection share one cache. A manager runs once.

    Args:
        host: Its clock, locks, threads and randomness.
        transport: Reaches the API server.
        grace: Seconds that running work has to finish once the manager stops. Then it is cancelled, and
            requests that wait for an answer are given up, and it has 5 s more to end. Both together should be less
            than the pod's `terminationGracePeriodSeconds`, which is 30 unless it is set.
        cache_sync_timeout: Seconds that caches have to fill, each time that members are started.
        leader_election: The lease of which this replica must be the leader to run its controllers. All else runs
            before that, so that the caches of a new leader are filled. A replica leads at most once: if it loses or
            yields the lease, the run ends. None: controllers run without a lease.
        transforms: Functions that change objects before they are cached, by resource; see `without`.
        patience: How long the caches wait for the server.
        namespace: The namespace of each collection that names none, for programs that may read no others; empty for
            all namespaces. Cluster-scoped kinds are read as ever, and writes name their namespace themselves.
        on_panic: Called with each unexpected error of a reconcile, on the worker's thread, to report it to a tracker of
            errors; it is logged and counted anyway. If this raises, the manager stops.
        tracer_provider: OpenTelemetry's, which gets a span of each change that causes reconciles, of each reconcile,
            and of each request in it. None makes no spans, and imports nothing of OpenTelemetry.
        incidents: The options of the recorder of reconciles; None records nothing.

    Attributes:
        host: The host that it was given; if reconciles are recorded, one that notes the times that they ask for.
        namespace: As given.
        declared: The bounds of its rights, as `declare` was given them.
        transport: Sends all requests of the manager, and counts them.
        client: Reads and writes at the server, past the caches. It sends nothing after the deadline of the leadership,
            and in a reconcile nothing after that reconcile's deadline.
        elector: Competes for the lease; None without leader election.
        leaders: The leaders that the elector has seen.
        stories: The last reconciles; kept once `Endpoints.serve` serves the status page.
        incident_recorder: Keeps the last reconciles; None without `incidents`.
        self_wakes: The controllers that were found to wake themselves, or each other.
        informers: The caches.
        definitions: The definitions that are installed when the manager starts; see `install`.
        deletions: The budgets of what `client` may delete; none unless they are given by its method `limit`.
        stopping: Set when the manager begins to stop, and cancelled when its grace has run out; for reconcilers that
            wait or take long.

    Raises:
        ValueError: A negative grace.

    Threads: `run` one, everything else any.
    """

    def __init__(
        self,
        host: Host,
        transport: Transport,
        *,
        grace: float = 20.0,
        cache_sync_timeout: float = 120.0,
        leader_election: LeaderElectionConfig | None = None,
        transforms: Mapping[Kind[Any], Transform] = MappingProxyType({}),
        patience: Patience | None = None,
        namespace: str = "",
        on_panic: OnPanic = ignore_panic,
        tracer_provider: TracerProvider | None = None,
        incidents: Incidents | None = None,
    ) -> None:
        if grace < 0:
            raise ValueError(f"grace ({grace}) must be zero or more")
        self._own_host, self.host, self.namespace = host, host, namespace
        self.declared: list[Right] = []
        self.transport = CountingTransport(host, observed(self, transport))
        options = CacheOptions(patience=patience or Patience(), reachable=self.transport.reachable)
        self.informers = Informers(host, self.transport, options, transforms=transforms, namespace=namespace)
        self.stopping = Stop(host, "manager")
        self.stories, self.self_wakes = Stories(), SelfWakes(host)
        self._members, self._request_threads = Members(host, self.stopping), RequestThreads(host)
        self.leaders = LeaderHistory(host)
        self.elector, limited = elector_of(
            *(host, self.transport, self.informers, leader_election),
            on_leading=self._members.wake,
            on_new_leader=self.leaders.note,
            on_yielding=self.stopping.fail,
        )
        bound = self._bound(DeadlineTransport(limited, reconcile_limit(host)))
        self.incident_recorder, own, fenced = recorded(host, WrittenTransport(StoryTransport(bound)), incidents)
        tracing = None if tracer_provider is None else tracing_of(host, tracer_provider)
        self.deletions, self.client = limited_client(self, fenced, tracing)
        self.host = own  # what is made above takes the one that was given
        # Its client is not bound to a leadership: definitions are needed before there can be one.
        self.definitions = Definitions(host, Client(host, self.transport), self.with_conversion)
        self._grace, self._cache_sync_timeout = grace, cache_sync_timeout
        report = UnreadableEvents(lambda: self.recorders, self.recorder).report
        told = (synchronous("on_panic", on_panic), report)
        observers = Observers(*told, self.stories, tracing, self.self_wakes, self.incident_recorder)
        self._lifecycle = Lifecycle(host, self.informers, self.stopping, self.elector, self.transport.close, observers)
        if self.elector is not None and self.elector.candidate is not None:
            self.add(self.elector.candidate)

    @classmethod
    def from_kubeconfig(
        cls,
        path: str | os.PathLike[str] | None = None,
        context: str | None = None,
        *,
        longest_answer: int | None = None,
        **options: Unpack[ManagerOptions],
    ) -> Self:
        """Return a manager on this machine, for the cluster that a kubeconfig describes.

        Args:
            path: The file. If None, the file that `$KUBECONFIG` names, or `~/.kube/config`; but a process in a pod uses
                the cluster of the pod, unless `context` is given.
            context: The name of one of its contexts; None is the current one.
            longest_answer: Most bytes of one answer, except for streams: a longer one raises `ConnectionLost`. None is
                2 GiB, which is etcd's default quota for all objects together.
            **options: As for the class.

        Raises:
            UsageError: The configuration is missing or cannot be used.
        """
        # Imported here, because the official client is large, and a program with another transport does not need it.
        from controller_runtime.client.http.answer import LONGEST_ANSWER
        from controller_runtime.client.http.configuration import find
        from controller_runtime.client.http.transport import HTTPTransport

        host = SystemHost()
        longest = LONGEST_ANSWER if longest_answer is None else longest_answer
        return cls(host, HTTPTransport(host, find(path, context), longest_answer=longest), **options)

    def recorder(self, component: str, *, api: EventAPI = EventAPI.EVENTS) -> EventRecorder:
        """Return a new recorder of events, which runs with the manager whether this replica leads or not.

        Args:
            component: The reporting component; each has one recorder.
            api: The API that it writes to, and so whether another message is another event.

        Raises:
            UsageError: The component has a recorder already, or the manager is stopping or has stopped.
        """
        # Its client is not bound to the leadership's deadline: events of the time when we led may be written later.
        recorder = EventRecorder(self.host, Client(self.host, self.transport), component=component, api=api)
        self.add(recorder)
        return recorder

    @property
    def async_client(self) -> AsyncClient:
        """The same as `client`, for coroutines: one pool of 16 threads sends all their requests."""
        from controller_runtime.client.async_client import AsyncClient

        return AsyncClient(self.client, self._request_threads)

    @property
    def controllers(self) -> list[Controller]:
        """The controllers that were added, whether they run yet or not."""
        return [member for member in self._members.all() if isinstance(member, Controller)]

    @property
    def recorders(self) -> list[EventRecorder]:
        """The recorders of events that `recorder` made, or that were added."""
        return [member for member in self._members.all() if isinstance(member, EventRecorder)]

    def add(self, thing: Controller | Runnable) -> None:
        """Run a controller or a runnable with the manager: from the manager's start on, or at once if the manager runs.

        Raises:
            UsageError: The name is taken, the manager is stopping or has stopped, or a controller has no source.
        """
        if isinstance(thing, Controller):
            if not thing.has_sources:
                text = "call its `watch`, `follow`, `every` or `receive` before it is added"
                raise UsageError(f"controller {thing.name} would never reconcile anything: {text}")
            self.definitions.see(*(collection.resource for collection in thing.collections))
        self._members.add(thing)

    def declare(self, *rights: Right) -> None:
        """Say which names and namespaces are the program's own, for a record of its rights; nothing else reads it."""
        self.declared.extend(rights)

    def run(self, stop: Stop | None = None, *, signals: bool = True) -> None:
        """Run until `stop` is set, a signal arrives or something fails; then stop everything, in order.

        Without `stop`, SIGINT and SIGTERM stop the manager, and a second one ends the process at once with status 1;
        each only if Python would otherwise end at it, this is the main thread, and the host is the real machine.
        The old handlers are back when this returns.

        `client` still works afterwards; its connections stay open then until the caller closes `transport`.

        Args:
            stop: Ends the run. The caller decides what signals do; see `stop_on_signals`.
            signals: False leaves all signals alone, for notebooks and for programs with a loop of their own.

        Raises:
            UsageError: The manager has run before, a declared class cannot read its objects, or budgets lack a record.
            CacheSyncTimeout: The caches did not fill in time.
            LeadershipLost: The lease was lost; all work was cancelled at once.
            Exception: The first failure of a thread.
            ControllerRuntimeError: A thread still runs although it was cancelled; the notes show its stack.
        """
        self.deletions.check()
        self._members.begin()
        self.stopping.on_set(self._members.wake)
        if stop is not None:
            stop.on_set(self.stopping.set)
            stop.on_set(self.stopping.cancel, Stage.CANCELLED)
        handled = stop_on_unhandled_signals(self._own_host, self.stopping, wanted=signals and stop is None)
        with handled, listening(self.incident_recorder):
            self._run()

    def _run(self) -> None:
        try:
            self._start_members()
        except Exception as error:  # noqa: BLE001  the work of this thread ends here, as that of others does in `spawn`
            self._lifecycle.fail(error)
        finally:
            self.stopping.set()
            stuck = self._lifecycle.finish(self._grace)
            self.stop_webhooks()
            self.transport.close()
            # Work that has ended sends nothing any more, so these are about to end; abandoned reads have just been.
            stuck += self._request_threads.join_until(self.host.monotonic() + CANCEL_GRACE)
        failure = failure_of(self.stopping.failure, stuck, self._grace)
        if failure is not None:
            raise failure

    def _start_members(self) -> None:
        """Start the members that were added, and those that are added or may start later, until the manager stops."""
        self.start_webhooks()
        self.definitions.install(self.stopping, self.host.monotonic() + self._cache_sync_timeout)
        self.trust_webhooks()
        self.definitions.check()
        self._lifecycle.start_caches()
        added = self._members.take_added()
        while not self.stopping.is_set():  # looked at after the news were taken, since a stop is news as well
            self.definitions.check()
            self._lifecycle.start(added, self._cache_sync_timeout)
            self._members.wait_for_news()
            added = self._members.take_added()


Setup = Callable[[Manager], None]
"""Adds to a manager all that a program runs. It is called once for each manager, before that is run."""
