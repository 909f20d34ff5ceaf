# SPDX-License-Identifier: Apache-2.0
"""The face of a program: one connection, shared caches, what is added to it, and its run."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self, TypeVar, Unpack, overload

from controller_runtime.api.resources import Resource
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.patience import Patience
from controller_runtime.cache.transforms import Transform
from controller_runtime.client.client import Client
from controller_runtime.client.counting import CountingTransport
from controller_runtime.client.deadlines import DeadlineTransport, reconcile_limit
from controller_runtime.client.transport import Transport
from controller_runtime.controller.controller import Controller
from controller_runtime.core.errors import ControllerRuntimeError, UsageError
from controller_runtime.core.host import Host, Thread
from controller_runtime.core.stop import Stage, Stop
from controller_runtime.core.system import SystemHost
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.election.elector import LeaderElector
from controller_runtime.election.fenced import elector_and_fence
from controller_runtime.events.recorder import EventRecorder
from controller_runtime.manager.lifecycle import Lifecycle, Runnable
from controller_runtime.manager.options import ManagerOptions

T = TypeVar("T")
V = TypeVar("V")


class Manager:
    """Runs controllers and runnables on one API server, and stops them in order.

    Collections that several ask for are listed and watched once. It runs once.

    Args:
        host: What it runs on.
        transport: Reaches the API server.
        grace: Seconds that work in hand has to finish once the manager stops; then it is
            cancelled, and requests that wait for an answer are given up.
        cache_sync_timeout: Seconds that caches have to fill, each time something is started.
        leader_election: Run controllers only while this replica leads, of all that have the
            same lease; the rest runs before, so that a new leader's caches are filled. It leads
            at most once: losing the lease, or giving way, ends the run. None: no lease.
        transforms: What to make of objects before they are cached, by their resource; see `without`.
        patience: How long its caches wait for the server.

    Attributes:
        host: As given.
        transport: Carries all its requests, and counts them.
        client: Reads and writes the live state, past the caches; nothing past the deadline of the lease that it
            leads by, nor in a reconcile past that of the reconcile.
        elector: Knows who leads; None without leader election.
        informers: The caches.
        stopping: Set when the manager stops, cancelled when its grace has run out; for
            reconcilers that wait or take long.

    Raises:
        ValueError: A negative grace.

    Threads: `add`, `lister` and `informer` from any; `run` from one.
    """

    def __init__(
        self,
        host: Host,
        transport: Transport,
        *,
        grace: float = 30.0,
        cache_sync_timeout: float = 120.0,
        leader_election: LeaderElectionConfig | None = None,
        transforms: Mapping[Resource[Any], Transform] = MappingProxyType({}),
        patience: Patience | None = None,
    ) -> None:
        if grace < 0:
            raise ValueError(f"grace ({grace}) must be zero or more")
        self.host = host
        self.transport = CountingTransport(host, transport)
        self.informers = Informers(
            host, self.transport, transforms=transforms, patience=patience, contact=self.transport.contact
        )
        self.stopping = Stop(host, "manager")
        fenced: Transport = self.transport
        self.elector: LeaderElector | None = None
        if leader_election is not None:
            self.elector, fenced = elector_and_fence(
                host,
                self.transport,
                self.informers,
                leader_election,
                on_leading=self._tell,
                on_yielding=self.stopping.fail,
            )
        self.client = Client(host, DeadlineTransport(fenced, reconcile_limit(host)))
        self._grace = grace
        self._cache_sync_timeout = cache_sync_timeout
        self._lifecycle = Lifecycle(host, self.informers, self.stopping, self.elector, self.transport.close)
        # Guards the four fields below; `run` waits on it.
        self._condition = host.condition("manager")
        self._has_run = False
        self._things: list[Controller | Runnable] = []
        self._added: list[Controller | Runnable] = []  # of them those that are not started yet
        self._has_news = False
        if self.elector is not None and self.elector.candidate is not None:
            self.add(self.elector.candidate)

    @classmethod
    def from_kubeconfig(
        cls,
        path: str | os.PathLike[str] | None = None,
        context: str | None = None,
        **options: Unpack[ManagerOptions],
    ) -> Self:
        """A manager on this machine, for the cluster that a kubeconfig describes.

        Args:
            path: The file; None is the pod's own cluster where there is one, else what
                `$KUBECONFIG` names, or `~/.kube/config`.
            context: Which of its contexts; None is its current one.
            **options: As for the class.

        Raises:
            UsageError: The configuration is missing or cannot be used.
        """
        # Who brings a transport need not pay for the official client.
        from controller_runtime.client.http.configuration import find
        from controller_runtime.client.http.transport import HTTPTransport

        host = SystemHost()
        return cls(host, HTTPTransport(host, find(path, context)), **options)

    @overload
    def lister(
        self, resource: Resource[T], *, namespace: str = "", label_selector: str = "", field_selector: str = ""
    ) -> Lister[T]: ...

    @overload
    def lister(
        self,
        resource: Resource[Any],
        view: type[V],
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
    ) -> Lister[V]: ...

    def lister(
        self,
        resource: Resource[Any],
        view: type[Any] | None = None,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
    ) -> Lister[Any]:
        """Reads of one collection's cache; all that ask for the same one share it.

        Args:
            resource: The collection.
            view: The class to read objects as; None is the resource's own.
            namespace: Only this one; empty is all of them.
            label_selector: Only objects that it matches.
            field_selector: The same for fields.

        Raises:
            ValueError: `view` has fields that objects of this kind cannot have.
        """
        informer = self.informer(
            resource, namespace=namespace, label_selector=label_selector, field_selector=field_selector
        )
        return Lister(informer.store, resource, view)

    def informer(
        self, resource: Resource[Any], *, namespace: str = "", label_selector: str = "", field_selector: str = ""
    ) -> Informer:
        """Return the informer of one collection, to subscribe to; it runs while the manager does."""
        return self.informers.of(
            resource, namespace=namespace, label_selector=label_selector, field_selector=field_selector
        )

    def recorder(self, component: str) -> EventRecorder:
        """A recorder of events that runs with the manager, whether it leads or not.

        Args:
            component: Who reports; one recorder for each.

        Raises:
            UsageError: There is one already, or the manager stops or has stopped.
        """
        # Past the fence: what happened while we led may be told afterwards.
        recorder = EventRecorder(self.host, Client(self.host, self.transport), component=component)
        self.add(recorder)
        return recorder

    @property
    def controllers(self) -> list[Controller]:
        """The controllers that were added, whether they run yet or not."""
        with self._condition:
            return [thing for thing in self._things if isinstance(thing, Controller)]

    @property
    def recorders(self) -> list[EventRecorder]:
        """Those that it made, or that were added."""
        with self._condition:
            return [thing for thing in self._things if isinstance(thing, EventRecorder)]

    def add(self, thing: Controller | Runnable) -> None:
        """Let a controller or a runnable run with the manager: when it starts, or at once if it has.

        Raises:
            UsageError: The name is taken, or the manager stops or has stopped.
        """
        with self._condition:
            if self.stopping.is_set():
                raise UsageError(f"{thing.name} cannot be added: the manager stops or has stopped")
            if any(thing.name == other.name for other in self._things):
                raise UsageError(f"{thing.name} cannot be added: the name is taken")
            self._things.append(thing)
            self._added.append(thing)
        self._tell()

    def run(self, stop: Stop | None = None) -> None:
        """Run until `stop` is set or something fails; then stop everything, in order.

        The client still works afterwards; then the transport is its user's to close again.

        Raises:
            UsageError: It has run before.
            CacheSyncTimeout: The caches did not fill in time.
            LeadershipLost: The lease was lost; what ran was told to give up at once.
            Exception: The first failure of a thread.
            ControllerRuntimeError: Something still runs although it was cancelled; the
                error's notes tell where it stands.
        """
        with self._condition:
            if self._has_run:
                raise UsageError("a manager runs once, and this one has been run")
            self._has_run = True
        self.stopping.on_set(self._tell)
        if stop is not None:
            stop.on_set(self.stopping.set)
            stop.on_set(self.stopping.cancel, Stage.CANCELLED)
        try:
            self._start_whatever_is_added()
        except Exception as error:  # noqa: BLE001  this thread's part ends here, as that of the others does in `spawn`
            self._lifecycle.fail(error)
        finally:
            self.stopping.set()
            stuck = self._lifecycle.finish(self._grace)
            self.transport.close()
        self._raise_failure(stuck)

    def _start_whatever_is_added(self) -> None:
        """Start what was added before, then what is added or may start meanwhile, until it stops."""
        self._lifecycle.start_caches()
        things = self._take_added()
        while not self.stopping.is_set():
            self._lifecycle.start(things, self._cache_sync_timeout)
            self._await_news()
            things = self._take_added()

    def _take_added(self) -> list[Controller | Runnable]:
        with self._condition:
            taken, self._added, self._has_news = self._added, [], False
            return taken

    def _await_news(self) -> None:
        with self._condition:
            while not self._has_news:
                self._condition.wait_until(None)

    def _tell(self) -> None:
        """Something was added, we lead, or we stop."""
        with self._condition:
            self._has_news = True
            self._condition.notify_all()

    def _raise_failure(self, stuck: list[Thread]) -> None:
        failure = self.stopping.failure
        if stuck:
            names = ", ".join(thread.name for thread in stuck)
            late = ControllerRuntimeError(
                f"still running after a grace of {self._grace:g} s, though cancelled: {names}"
            )
            if failure is None:
                failure = late
            else:
                failure.add_note(str(late))
            for thread in stuck:
                failure.add_note(f"{thread.name} stands at\n{thread.stack()}")
        if failure is not None:
            raise failure
