# SPDX-License-Identifier: Apache-2.0
"""The manager: one connection to an API server, shared caches, and the run of all that is added to it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack, overload

from apimachinery.errors import UsageError
from apimachinery.host import Host
from apimachinery.plain_functions import synchronous
from apimachinery.stop import Stop
from apimachinery.system import SystemHost
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import Kind
from controller_runtime.cache.body_requests import BodyRequests
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.options import CacheOptions
from controller_runtime.cache.patience import Patience
from controller_runtime.cache.scope import CacheScope
from controller_runtime.cache.transforms import Transform
from controller_runtime.client.client import Client
from controller_runtime.client.counting import CountingTransport
from controller_runtime.client.kubeconfig_transport import kubeconfig_transport
from controller_runtime.client.request_threads import RequestThreads
from controller_runtime.client.transport import Transport
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.observers import Observers
from controller_runtime.controller.panics import OnPanic, ignore_panic
from controller_runtime.controller.self_wakes import SelfWakes
from controller_runtime.controller.stories import Stories
from controller_runtime.core.pod_namespace import pod_namespace
from controller_runtime.crd.types import CustomResource
from controller_runtime.election.config import LeaderElectionConfig
from controller_runtime.events.recorder import EventAPI, EventRecorder
from controller_runtime.manager.caches import ManagerCaches
from controller_runtime.manager.client_transport import client_transport
from controller_runtime.manager.definitions import Definitions
from controller_runtime.manager.deletions import limited_client
from controller_runtime.manager.lifecycle import Lifecycle, Runnable
from controller_runtime.manager.members import Members
from controller_runtime.manager.options import ManagerOptions, Selected
from controller_runtime.manager.page.shown import ShownTables, TakeTables
from controller_runtime.manager.recording import listening
from controller_runtime.manager.rights import Right, observed
from controller_runtime.manager.rings import ManagerRings
from controller_runtime.manager.unreadable_events import UnreadableEvents
from controller_runtime.manager.webhooks import DeclaredWebhooks
from controller_runtime.manager.work import ManagerWork, check_grace
from controller_runtime.ring.by import RingBy

if TYPE_CHECKING:  # a program without coroutines, leader election or tracing should not pay for them
    from opentelemetry.trace import TracerProvider

    from controller_runtime.client.async_client import AsyncClient
    from controller_runtime.incidents.options import Incidents
    from controller_runtime.ring.config import RingOptions
    from controller_runtime.ring.ring import Ring
    from controller_runtime.webhooks.webhooks import Webhooks

T = TypeVar("T")
V = TypeVar("V")


class Manager:
    """Runs controllers and runnables with one API server, and stops them in order.

    Controllers and listers that use the same collection share one cache. A manager runs once.

    Args:
        host: The source of time, locks, threads and randomness.
        transport: Carries the requests to the API server.
        grace: Seconds that running work has to finish once the manager stops. Then the work is cancelled, requests that
            wait for an answer are aborted, and it has 5 s more to end. The sum should be less than the pod's
            `terminationGracePeriodSeconds`, which is 30 by default.
        cache_sync_timeout: Seconds that caches have to fill, each time that controllers or runnables are started.
        leader_election: The lease that this replica must hold to run its controllers. Everything else, and controllers
            whose work a ring divides, also run without it, so that the caches of a new leader are filled. A replica
            leads at most once: if it loses or yields the lease, the run ends. None: controllers run without a lease.
        transforms: Functions that change objects before they are cached, by resource; see `without`.
        patience: The timeouts of the caches.
        namespace: The namespace of collections that name none, for programs with rights in one namespace; empty for all
            namespaces. It does not affect cluster-scoped kinds and writes.
        on_panic: Called with each unexpected error of a reconcile, on the worker's thread, for example to report it to
            an error tracker; the error is also logged and counted. If this raises, the manager stops.
        tracer_provider: The tracer provider of OpenTelemetry, which gets spans of changes that cause reconciles, of
            reconciles, and of their requests. None makes no spans, and does not import OpenTelemetry.
        incidents: The options for recording reconciles; None records nothing.

    Attributes:
        host: As given; if reconciles are recorded, a host that also records the times that they read.
        namespace: As given.
        declared: The bounds of its rights, as passed to `declare`.
        transport: Carries all requests of the manager, and counts them.
        client: Reads and writes at the server, without the caches. It sends nothing after the deadline of the
            leadership, and in a reconcile nothing after the deadline of the reconcile.
        elector: Competes for the lease; None without leader election.
        leaders: The leaders that the elector has seen.
        stories: Records of the last reconciles, once `Endpoints.serve` serves the status page.
        incident_recorder: Records reconciles so that they can be replayed; None without `incidents`.
        self_wakes: The controllers whose writes were found to cause their own or each other's reconciles.
        informers: The caches.
        caches: Makes listers and informers, and the audit of the caches.
        definitions: The definitions that are installed when the manager starts; see `install`.
        declared_webhooks: The webhooks that were declared so far.
        shown_tables: The program's own tables of the status page.
        deletions: The budgets of deletions by `client`; none unless its method `limit` adds them.
        stopping: Set when the manager begins to stop, and cancelled when its grace has passed; for slow reconcilers.

    Raises:
        ValueError: `grace` is negative.

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
        check_grace(grace)
        self.host, self._bare_host, self.namespace, self.declared = host, host, namespace, list[Right]()
        self.transport = CountingTransport(host, observed(self, transport))
        options = CacheOptions(patience=patience or Patience(), reachable=self.transport.reachable)
        self.informers = Informers(host, self.transport, options, transforms=transforms, namespace=namespace)
        self.stopping, self.shown_tables = Stop(host, "manager"), ShownTables()
        self.stories, self.self_wakes = Stories(), SelfWakes(host)
        self._members, self._request_threads = Members(host, self.stopping), RequestThreads(host)
        self._rings = ManagerRings(host, self.transport, self.informers, self.stopping, lambda: self.controllers)
        way = client_transport(
            *(host, self.transport, self.informers, self._rings),
            leader_election=leader_election,
            incidents=incidents,
            tracer_provider=tracer_provider,
            on_leading=self._members.wake,
            on_yielding=self.stopping.fail,
        )
        self.elector, self.leaders, self.incident_recorder = way.elector, way.leaders, way.recorder
        self.deletions, self.client = limited_client(self, way.sent)
        self.informers.fetch_bodies(BodyRequests(lambda: self.client.transport, self._request_threads))
        self.host = way.host  # what is made above takes the one that was given
        self.declared_webhooks = DeclaredWebhooks(host, self.transport)
        # Its client is not bound to a leadership: definitions are needed before there can be one.
        self.definitions = Definitions(host, Client(host, self.transport), self.declared_webhooks.with_conversion)
        self.caches = ManagerCaches(host, self.transport, self.informers, self.definitions)
        told = synchronous("on_panic", on_panic), UnreadableEvents(lambda: self.recorders, self.recorder).report
        observers = Observers(*told, self.stories, way.tracing, self.self_wakes, self.incident_recorder)
        to_start = self.informers, self.stopping, self.elector, self.transport.close, observers, self._rings.hand_overs
        self._work = ManagerWork(
            *(host, self.stopping, self._members, self.definitions, self.declared_webhooks, self.declare),
            Lifecycle(host, *to_start),
            *(self._request_threads, self.transport.close, grace, cache_sync_timeout),
        )
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
            path: The file. None: a process in a pod uses the pod's cluster, unless `context` is given; otherwise the
                file that `$KUBECONFIG` names, or `~/.kube/config`.
            context: The name of a context in the file; None for the current context.
            longest_answer: The most bytes of one answer, except for streams: a longer answer raises `ConnectionLost`.
                None is 2 GiB, etcd's default quota for all objects together.
            **options: The other arguments of the class.

        Raises:
            UsageError: The configuration is missing or cannot be used.
        """
        host = SystemHost()
        return cls(host, kubeconfig_transport(host, path, context, longest_answer=longest_answer), **options)

    @overload
    def lister(self, resource: Kind[T], **selected: Unpack[Selected]) -> Lister[T]: ...

    @overload
    def lister(self, resource: Kind[Any], view: type[V], **selected: Unpack[Selected]) -> Lister[V]: ...

    def lister(
        self,
        resource: Kind[Any],
        view: type[Any] | None = None,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        any_version: bool = False,
    ) -> Lister[Any]:
        """Return a lister that reads the cache of one collection.

        Args:
            resource: The collection, or the declared class of its objects.
            view: The class to decode into; None for the default class of the resource.
            namespace: Only objects in this namespace. Empty: as set by `scope_caches` or the manager, or else all.
            label_selector: Only objects whose labels match. Empty: as set by `scope_caches`, or else all.
            field_selector: Only objects whose fields match. Empty: as for `label_selector`.
            any_version: Begin with any state that the server has in memory, which may be older than the state that this
                program saw before a restart. It saves servers before Kubernetes 1.31 a list from etcd. The first call
                for a collection decides for all users of its cache.

        Raises:
            ValueError: `view` has fields that objects of this kind cannot have.
            UsageError: `any_version` is True, but the collection is cached already without this option.
        """
        collection = Collection(resource, namespace, label_selector, field_selector)
        return self.caches.lister((collection,), view, any_version=any_version)

    @overload
    def union_lister(self, *collections: Collection) -> Lister[Any]: ...

    @overload
    def union_lister(self, *collections: Collection, view: type[V]) -> Lister[V]: ...

    def union_lister(self, *collections: Collection, view: type[Any] | None = None) -> Lister[Any]:
        """Return a lister of several collections of one kind: each object once, in its newest state.

        Each collection has a cache, which other readers share, unless another of the collections contains it. An object
        in two collections is in memory once. Each cache follows the server independently: an object that moves from one
        collection to another may for a moment be in both (the newer state is returned), or in neither.

        Args:
            collections: The collections, such as `Collection(PODS, "kube-system")` and `Collection(PODS, "default")`.
            view: The class to decode into; None for the default class of the resource.

        Raises:
            UsageError: There is no collection, or they are of several kinds.
            ValueError: A selector is malformed, or `view` has fields that objects of this kind cannot have.
        """
        return self.caches.lister(collections, view)

    def scope_caches(
        self, all_kinds: CacheScope | None = None, kinds: Mapping[Kind[Any], CacheScope] = MappingProxyType({})
    ) -> None:
        """Set what the caches of all kinds, and of single kinds, hold, and how; call it before their first use.

        For each field the first value that is set (not None) is used: the argument of the call that makes the lister or
        watch, the scope of the kind, the manager's namespace, the scope of all kinds. A kind with several namespaces
        has a cache for each; a lister or `Controller.watch` reads all of them.

        Args:
            all_kinds: The scope of all kinds; it must not set `bodies`.
            kinds: The scopes of single kinds.

        Raises:
            UsageError: A cache that this would change exists already, or `all_kinds` sets `bodies`.
        """
        self.informers.scope(all_kinds or CacheScope(), kinds)

    def informer(self, resource: Kind[Any], **selected: Unpack[Selected]) -> Informer:
        """Return the informer of one collection, for handlers and subscriptions; it runs while the manager runs.

        The arguments are those of `lister`.

        Raises:
            UsageError: The manager caches the kind in several namespaces, and the arguments do not name one.
        """
        return self.caches.informer(resource, **selected)

    def audit_caches(self, *, every: float = 60.0, most_objects: int | None = 50_000) -> None:
        """Compare the caches with the server slowly while the manager runs, and list again after a lost change.

        If a watch loses a change, by a fault of the server or of a proxy, the cache has a wrong object until the next
        list. Each step requests one page: the metadata of up to 500 objects at the resourceVersion of the cache. With
        the defaults, 10,000 objects take 20 minutes. Differences are logged, counted and repaired.

        Args:
            every: Seconds between two pages, counted over all caches.
            most_objects: Caches with more objects are not audited; None audits all.

        Raises:
            UsageError: The caches are audited already, or the manager is stopping or has stopped.
            ValueError: `every` is not positive.
        """
        self.add(self.caches.audit(every=every, most_objects=most_objects))

    def install(self, *classes: type[CustomResource], storage: type[CustomResource] | None = None) -> None:
        """Install the definition of a declared class when the manager starts, before its caches do.

        The definition is written by server-side apply, and the manager waits until its kind is served. A definition
        that another field manager owns is not taken over. In any case, each cached class is compared with the server's
        definition: the manager does not start if the class could not read the objects, and logs other differences.

        Args:
            *classes: The classes of the versions of one kind. Without any, the definitions of all cached classes are
                installed, unless a definition of their name exists.
            storage: The class of the version in which the server stores objects; by default the first one.

        Raises:
            TypeError: A class is not declared with `custom_resource`.
            ValueError: The classes are not versions of one kind.
        """
        self.definitions.add(classes, storage)

    def recorder(self, component: str, *, api: EventAPI = EventAPI.EVENTS) -> EventRecorder:
        """Return a new recorder of events, which runs with the manager, whether this replica leads or not.

        Args:
            component: The name of the reporting component; each component has one recorder.
            api: The events API, which decides whether a different message is a new event.

        Raises:
            UsageError: The component has a recorder already, or the manager is stopping or has stopped.
        """
        # Its client is not bound to the leadership's deadline: events of the time when we led may be written later.
        # It combines events in a memory of its own, so its times and names are no part of a recorded reconcile.
        recorder = EventRecorder(self._bare_host, Client(self._bare_host, self.transport), component=component, api=api)
        self.add(recorder)
        return recorder

    @property
    def async_client(self) -> AsyncClient:
        """A client for coroutines, with the limits of `client`. A pool of 16 threads sends all its requests."""
        from controller_runtime.client.async_client import AsyncClient

        return AsyncClient(self.client, self._request_threads)

    @property
    def controllers(self) -> list[Controller]:
        """The controllers that were added, started or not."""
        return [member for member in self._members.all() if isinstance(member, Controller)]

    @property
    def recorders(self) -> list[EventRecorder]:
        """The event recorders that `recorder` made, or that were added."""
        return [member for member in self._members.all() if isinstance(member, EventRecorder)]

    @property
    def runnables(self) -> list[Runnable]:
        """All runnables that were added, including event recorders; without controllers."""
        return [member for member in self._members.all() if not isinstance(member, Controller)]

    def add(self, thing: Controller | Runnable) -> None:
        """Add a controller or a runnable. It is started with the manager, or at once if the manager runs already.

        Raises:
            UsageError: The name is taken, the manager is stopping or has stopped, or a controller has no source.
        """
        if isinstance(thing, Controller):
            if not thing.has_sources:
                text = "call its `watch`, `follow`, `every` or `receive` before it is added"
                raise UsageError(f"controller {thing.name} would never reconcile anything: {text}")
            self.definitions.see(*(collection.resource for collection in thing.collections))
        self._members.add(thing)

    def ring(self, name: str, by: RingBy = RingBy.NAME, *, namespace: str = "", **options: Unpack[RingOptions]) -> Ring:
        """Return a new ring, by which replicas divide work while the manager runs; see `docs/ring.md`.

        Args:
            name: The ring's name, the same in all replicas.
            by: The property of requests by which they are assigned to slots; by default the name, as for `--ring-by`.
            namespace: The namespace of the ring's ConfigMap and of the members' leases. Empty: the manager's namespace,
                or else the pod's, or else `default`.
            **options: Further fields of the `RingConfig`.

        Raises:
            UsageError: The manager has a ring of this name already, or is stopping or has stopped.
            ValueError: An option is out of range.
        """
        ring = self._rings.make(name, by, namespace or self.namespace or pod_namespace(), options)
        self.add(ring)
        self.add(ring.requested)
        if ring.config.check_rights:
            self.add(ring.rights)
        self._rings.add(ring)
        return ring

    @property
    def rings(self) -> list[Ring]:
        """The rings of which this replica is a member."""
        return self._rings.all()

    @property
    def webhooks(self) -> Webhooks:
        """The webhooks that this program serves. Declare them by `add`, before the manager runs.

        They are served whether this replica leads or not, before any cache starts and until everything else has ended.
        """
        return self.declared_webhooks.made()

    def show_status(self, take: TakeTables) -> None:
        """Add tables to the status page.

        Args:
            take: Returns the tables. It is called about once per second for each open page, on the thread that serves
                the page. So it must be quick, and may read only thread-safe state. If it raises, the page shows the
                error instead of the tables.

        Raises:
            UsageError: `take` is an `async def`.
        """
        self.shown_tables.add(take)

    def declare(self, *rights: Right) -> None:
        """Declare which names and namespaces belong to the program, for a record of its rights.

        It has no other effect.
        """
        self.declared.extend(rights)

    def run(self, stop: Stop | None = None, *, signals: bool = True) -> None:
        """Run until `stop` is set, a signal arrives or something fails; then stop everything, in order.

        Without `stop`, SIGINT and SIGTERM stop the manager, and a second signal ends the process with status 1: only on
        the main thread outside of simulations, and only signals that still have Python's initial handler, not ignored
        ones. This is undone when `run` returns.

        `client` still works afterwards; then the caller must close `transport` to close the connections.

        Args:
            stop: Ends the run. If it is given, signals are left to the caller; see `stop_on_signals`.
            signals: False does not touch signals, for notebooks and for programs with their own main loop.

        Raises:
            UsageError: The manager has run before, a declared class cannot read its objects, or there are deletion
                budgets but no election or ring to store their record.
            CacheSyncTimeout: The caches did not fill in time.
            LeadershipLost: The lease was lost; all work was cancelled at once.
            Exception: The first failure of a thread.
            ControllerRuntimeError: A thread still runs although it was cancelled; the notes show its stack.
        """
        self.deletions.check()
        with listening(self.incident_recorder):
            self._work.run(stop, signals=signals)


Setup = Callable[[Manager], None]
"""Adds to a manager all that a program runs. It is called once for each manager, before the manager runs."""
