# SPDX-License-Identifier: Apache-2.0
"""The metrics of one manager, read from its counters when they are scraped.

Names, labels and buckets are those of Go's controller-runtime, so that its dashboards and alerts work. Metrics that
Go does not have are called `controller_runtime_informer_*`, `_channel_*`, `_ring_*`, `_deletions_*` or `_events_*`.
`docs/metrics.md` lists all of them, from the texts that are here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import attrs
from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from apimachinery.plain_functions import called
from controller_runtime.cache.informer import Informer
from controller_runtime.client.counting import CountingTransport
from controller_runtime.controller.channel import Channel
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.counters import ReconcileCounters
from controller_runtime.controller.self_wakes import SelfWakes
from controller_runtime.controller.unreadable import Trouble
from controller_runtime.election.elector import LeaderElector
from controller_runtime.events.recorder import EventRecorder
from controller_runtime.manager.deletion_metrics import of_deletions
from controller_runtime.manager.exposition import Labels, Row, counter, gauge, histogram, metrics_of
from controller_runtime.manager.manager import Manager
from controller_runtime.manager.registries import Merged
from controller_runtime.manager.ring_metrics import of_rings
from controller_runtime.manager.webhook_metrics import of_webhooks
from controller_runtime.queue.counters import QueueCounters

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""The content type of `Metrics.text`."""


class Metrics:
    """The metrics of one manager, of its process, and of other registries.

    Args:
        manager: The manager.
        registries: The other registries; None is `prometheus_client.REGISTRY`, the default of that library.

    Attributes:
        registry: The registry of the manager and the process, to which other collectors can be added.

    Threads: any.
    """

    def __init__(self, manager: Manager, registries: Sequence[CollectorRegistry] | None = None) -> None:
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(_ManagerCollector(manager))
        self._all = CollectorRegistry(auto_describe=False)
        self._merged = Merged(self.registry, (REGISTRY,) if registries is None else registries)
        self._all.register(self._merged)

    def text(self) -> bytes:
        """Return all current metrics in Prometheus' text format. A second metric of the same name is left out."""
        return generate_latest(self._all)

    def refuse_double_names(self) -> None:
        """Check that no two current metrics have the same name.

        Raises:
            UsageError: Two metrics have the same name.
        """
        self._merged.refuse_double_names()


class _ManagerCollector(Collector):
    def __init__(self, manager: Manager) -> None:
        self._manager = manager

    def collect(self) -> Iterator[Metric]:
        yield from _of_controllers(self._manager.controllers, self._manager.self_wakes)
        for controller in self._manager.controllers:
            yield from called(f"{controller.name}: metrics", controller.reconciler.metrics)
        yield from _of_recorders(self._manager.recorders)
        yield from _of_requests(self._manager.transport)
        yield from _of_election(self._manager.elector)
        yield from of_webhooks(self._manager)
        yield from of_rings(self._manager.rings)
        yield from of_deletions(self._manager.deletions)
        yield from _of_informers([*self._manager.informers], self._manager.host.monotonic())


@attrs.frozen
class _Reconciles:
    """The metrics of one controller's reconciles, with the numbers of its workers and of what `SelfWakes` counts."""

    counters: ReconcileCounters
    workers: int
    self_wakes: int
    timed_writes: int


# fmt: off
_OF_RECONCILES: tuple[Row[_Reconciles], ...] = (
    Row(counter, "controller_runtime_reconcile_errors_total",
        "Reconciles that failed, for good or not.", lambda r: r.counters.errors),
    Row(counter, "controller_runtime_terminal_reconcile_errors_total",
        "Reconciles that failed and are not retried.", lambda r: r.counters.terminal_errors),
    Row(counter, "controller_runtime_reconcile_panics_total",
        "Reconciles that raised an unexpected error, so most likely bugs.", lambda r: r.counters.panics),
    Row(counter, "controller_runtime_reconcile_self_wakes_total",
        "Writes by reconciles that end a chain of 20 or more, each caused by nothing but writes of the one before.",
        lambda r: r.self_wakes),
    Row(counter, "controller_runtime_reconcile_time_only_writes_total",
        "Writes that change nothing but times, by reconciles that time alone caused, Leases excepted.",
        lambda r: r.timed_writes),
    Row(counter, "controller_runtime_reconcile_timeouts_total",
        "Reconciles that took longer than the `reconcile_timeout` of their controller.", lambda r: r.counters.timeouts),
    Row(counter, "controller_runtime_reconcile_cancellations_ignored_total",
        "Coroutines that still ran 2 s after they were cancelled.", lambda r: r.counters.cancellations_ignored),
    Row(histogram, "controller_runtime_reconcile_time_seconds",
        "How long reconciles took.", lambda r: r.counters.durations),
    Row(gauge, "controller_runtime_max_concurrent_reconciles",
        "How many workers there are.", lambda r: r.workers),
    Row(gauge, "controller_runtime_active_workers",
        "How many of them are in a reconcile now.", lambda r: r.counters.active_workers),
)
_OF_QUEUES: tuple[Row[QueueCounters], ...] = (
    Row(counter, "workqueue_adds_total",
        "Requests that were added; one that waits already does not count.", lambda q: q.adds),
    Row(histogram, "workqueue_queue_duration_seconds",
        "How long requests waited, from due to handed out.", lambda q: q.queue_duration),
    Row(histogram, "workqueue_work_duration_seconds",
        "How long requests were worked on, from handed out to done.", lambda q: q.work_duration),
    Row(gauge, "workqueue_unfinished_work_seconds",
        "How long all requests in work have been so, together; each stuck worker adds a second each second.",
        lambda q: q.unfinished_work),
    Row(gauge, "workqueue_longest_running_processor_seconds",
        "How long the request that is in work the longest has been so.", lambda q: q.longest_running),
    Row(counter, "workqueue_retries_total",
        "Requests that were added with a delay.", lambda q: q.retries),
)
_OF_CHANNELS: tuple[Row[Sequence[Channel]], ...] = (
    Row(counter, "controller_runtime_channel_pushed_total",
        "Requests that were pushed into the controller's channels.", lambda c: sum(one.pushed for one in c)),
    Row(counter, "controller_runtime_channel_refused_total",
        "Requests that were refused, because the controller had not been started and too many waited.",
        lambda c: sum(one.refused for one in c)),
)
_OF_ELECTION: tuple[Row[LeaderElector], ...] = (
    Row(gauge, "leader_election_master_status",
        "1 while this replica leads.", lambda e: e.is_leader()),
    Row(counter, "leader_election_slowpath_total",
        "Renewals for which the lease had to be read again.", lambda e: e.slow_paths),
)
_OF_INFORMERS: tuple[Row[Informer], ...] = (
    Row(gauge, "informer_store_resource_version",
        "The version that the cache has reached: its last 15 digits.", lambda i: _number(i.store.version)),
    Row(gauge, "controller_runtime_informer_synced",
        "1 once the cache has its initial list.", lambda i: i.has_synced()),
    Row(gauge, "controller_runtime_informer_objects",
        "Objects in the cache.", lambda i: len(i.store)),
    Row(gauge, "controller_runtime_informer_held_bytes",
        "Memory that the objects in the cache take, compressed if they are; an estimate.",
        lambda i: i.store.sizes.held),
    Row(gauge, "controller_runtime_informer_json_bytes",
        "The JSON of the objects in the cache.", lambda i: i.store.sizes.json),
    Row(gauge, "controller_runtime_informer_body_bytes",
        "Memory of the bodies that are kept, where a cache has the metadata of all objects.",
        lambda i: None if i.bodies is None else i.bodies.kept.held),
    Row(counter, "controller_runtime_informer_body_hits_total",
        "Bodies that were read and were at hand.", lambda i: None if i.bodies is None else i.bodies.kept.hits),
    Row(counter, "controller_runtime_informer_body_misses_total",
        "Bodies that were read and had to be fetched.", lambda i: None if i.bodies is None else i.bodies.kept.misses),
    Row(counter, "controller_runtime_informer_lists_total",
        "Lists that were begun, by pages or streamed.", lambda i: i.reflector.liveness.lists),
    Row(counter, "controller_runtime_informer_watches_total",
        "Watches that were begun, streamed lists among them.", lambda i: i.reflector.liveness.watches),
    Row(counter, "controller_runtime_informer_idle_streams_total",
        "Watches that were given up because they were silent.", lambda i: i.reflector.liveness.idle),
    Row(counter, "controller_runtime_informer_unreadable_total",
        "Objects that were left out because they could not be read.", lambda i: i.reflector.liveness.skipped),
    Row(gauge, "controller_runtime_informer_lag_seconds",
        "How long ago the server last reported a change, or that there was none: up to two minutes in a quiet kind.",
        lambda i: i.store.staleness() if i.store.filled else None),
    Row(counter, "controller_runtime_informer_audited_objects_total",
        "Objects that were compared with the server.", lambda i: i.audit.objects),
    Row(counter, "controller_runtime_informer_lost_changes_total",
        "Objects that the cache did not hold as the server did: changes that no watch reported.",
        lambda i: i.audit.lost),
)
# fmt: on


def _number(version: str) -> int | None:
    """Return the last 15 digits of a resourceVersion: a metric is a float, which holds no more of them exactly."""
    return int(version[-15:]) if version.isdecimal() else None


def _of_controllers(controllers: Sequence[Controller], wakes: SelfWakes) -> Iterator[Metric]:
    started = [(c, counters) for c in controllers if (counters := c.counters()) is not None]
    reconciles = [
        ((c.name,), _Reconciles(counters[0], c.workers, wakes.count(c.name), wakes.count_of_times(c.name)))
        for c, counters in started
    ]
    queues = [((c.name, c.name), counters[1]) for c, counters in started]
    results = [((name, result), n) for (name,), r in reconciles for result, n in _results(r.counters)]
    text = "Reconciles by how they ended; `requeue` is always 0."
    yield counter("controller_runtime_reconcile_total", text, ("controller", "result"), results)
    yield from metrics_of(_OF_RECONCILES, ("controller",), reconciles)
    # The priorities of Go's controller-runtime: the usual one, and that of objects of an initial list.
    depths = [((*name, band), n) for name, q in queues for band, n in (("0", q.depth), ("-100", q.low_depth))]
    text = "Requests that are due and wait; those of initial lists and periods have the priority -100."
    yield gauge("workqueue_depth", text, ("name", "controller", "priority"), depths)
    yield from metrics_of(_OF_QUEUES, ("name", "controller"), queues)

    yield from _of_trouble([(c.name, trouble) for c in controllers if (trouble := c.trouble()) is not None])

    channels = [((c.name,), c.channels) for c in controllers if c.channels]
    yield from metrics_of(_OF_CHANNELS, ("controller",), channels)


def _of_trouble(controllers: Iterable[tuple[str, Trouble]]) -> Iterator[Metric]:
    labels = ("controller", "kind")
    errors, failing, unreadable = Counter[Labels](), Counter[Labels](), Counter[Labels]()
    for name, trouble in controllers:
        for source in trouble.sources:  # two sources of one kind are one series
            errors[name, source.kind] += source.errors
            failing[name, source.kind] += source.failing(0)[0]
            unreadable[name, source.kind] += 0  # an alert on its rate needs the zero before the first one
        unreadable.update({(name, kind): count for kind, count in trouble.unreadable.counts().items()})
    text = "Calls of mappers, predicates and periodic functions that raised; `kind` is empty for the last."
    yield counter("controller_runtime_mapper_errors_total", text, labels, errors.items())
    text = "Objects whose last change could not be mapped and is tried again."
    yield gauge("controller_runtime_mapper_failing_objects", text, labels, failing.items())
    text = "Reconciles that ended, until the object changes, because it cannot be read."
    yield counter("controller_runtime_unreadable_objects_total", text, labels, unreadable.items())


def _of_recorders(recorders: Iterable[EventRecorder]) -> Iterator[Metric]:
    fates = [((r.component, fate.name.lower()), n) for r in recorders for fate, n in r.counts().items()]
    text = (
        "Events by fate: `written`, `held` for a later write of the same series, or lost: `spam` (too many of one "
        "object), `dropped` (too many waited), `failed` (refused, or the server could not be reached)."
    )
    yield counter("controller_runtime_events_total", text, ("component", "fate"), fates)


def _results(counters: ReconcileCounters) -> Iterator[tuple[str, int]]:
    yield "success", counters.success
    yield "error", counters.errors
    yield "requeue", 0  # Go's older kind of requeue, which does not exist here; dashboards add it up
    yield "requeue_after", counters.requeue_after


def _of_requests(transport: CountingTransport) -> Iterator[Metric]:
    server, counters = str(transport), transport.counters()
    yield counter(
        "rest_client_requests_total",
        "Requests to the API server; code `<error>` where no answer came.",
        ("code", "method", "host"),
        [((code, method, server), count) for (code, method), count in counters.answers.items()],
    )
    yield histogram(
        "rest_client_request_duration_seconds",
        "How long answers took; those of watches, until they began.",
        ("verb", "host"),
        [((method, server), durations) for method, durations in counters.durations.items()],
    )


def _of_election(elector: LeaderElector | None) -> Iterator[Metric]:
    if elector is not None:
        yield from metrics_of(_OF_ELECTION, ("name",), [((elector.name,), elector)])


def _of_informers(informers: Iterable[Informer], now: float) -> Iterator[Metric]:
    labels = ("name", "group", "version", "resource")
    named = [((str(i), i.resource.group, i.resource.version, i.resource.plural), i) for i in informers]
    yield from metrics_of(_OF_INFORMERS, labels, named)
    ages: tuple[Row[Informer], ...] = (
        Row(
            gauge,
            "controller_runtime_informer_silence_seconds",
            "How long ago the server was last heard from.",
            lambda i: now - i.reflector.liveness.heard_at,
        ),
        Row(
            gauge,
            "controller_runtime_informer_last_error_age_seconds",
            "How long ago listing or watching failed last; absent if it never did.",
            lambda i: None if i.reflector.liveness.failed_at is None else now - i.reflector.liveness.failed_at,
        ),
    )
    yield from metrics_of(ages, labels, named)
    backlogs = Counter[tuple[str, ...]]()  # subscribers of one name are one series
    for name, informer in named:
        for subscription in informer.subscriptions:
            backlogs[(*name, subscription.name)] += subscription.backlog
    yield gauge(
        "controller_runtime_informer_backlog",
        "Changes that wait for a subscriber.",
        (*labels, "subscriber"),
        backlogs.items(),
    )
