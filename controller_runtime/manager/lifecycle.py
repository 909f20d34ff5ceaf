# SPDX-License-Identifier: Apache-2.0
"""The order in which a manager starts and stops: caches, recorders, runnables, the election, controllers, and back.

Definitions, webhooks and connections are around it: see `work`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from apimachinery.errors import Cancelled, ConnectionLost, LeadershipLost
from apimachinery.host import Host, Thread
from apimachinery.log import get_logger
from apimachinery.plain_functions import called
from apimachinery.stop import Stage, Stop, spawn
from controller_runtime.cache.informers import Informers
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.observers import Observers
from controller_runtime.events.recorder import EventRecorder

if TYPE_CHECKING:  # a manager without leader election need not import it
    from controller_runtime.election.elector import LeaderElector

log = get_logger(__name__)

CANCEL_GRACE = 5.0
"""Seconds that cancelled threads have to end before they count as stuck."""
GIVE_UP_PERIOD = 0.5
"""Seconds between two calls that abort the requests of cancelled threads: on a busy machine a thread may send a request
just after it was cancelled.
"""


class Runnable(Protocol):
    """An object that runs next to the controllers, on its own thread, whether this replica leads or not."""

    @property
    def name(self) -> str:
        """The name in logs and of the thread; unique in its manager."""

    def run(self, stop: Stop) -> None:
        """Work until `stop` is set or the work is finished. An error that this raises stops the manager."""


class HandsOver(Protocol):
    """Work that other replicas can take over when this one stops, while its controllers still run."""

    @property
    def is_possible(self) -> bool:
        """Whether there is such work, and a replica to take it over."""

    def wait(self, until: float, stop: Stop) -> None:
        """Wait until the work is taken over, until `until` (monotonic seconds), or until `stop` is cancelled."""


class Lifecycle:
    """Starts the parts of a manager in this order, and stops them in the reverse order:

    1. Informers fill the caches, which all later parts read. 2. Recorders of events run, so that they can write the
    last events of all later parts. 3. Runnables run, including those by which this replica joins and leaves rings. 4.
    Controllers that warm up attach their sources. 5. The election begins. Its lease is given back only once the
    controllers have ended. 6. Controllers run; with an elector, once it leads.

    Each step has its own stop. When the manager's `stopping` is set, the steps are ended in the reverse order; each
    gets the rest of the grace to end (the election its own `stop_timeout`), then it is cancelled. The controllers stop
    immediately after a failure, or if no other replica can take over their work; otherwise they continue until that has
    happened, for at most half of the grace.

    Args:
        hand_overs: Returns the work that other replicas can take over.

    Threads: one, that of the manager.
    """

    def __init__(
        self,
        host: Host,
        informers: Informers,
        stopping: Stop,
        elector: LeaderElector | None,
        give_up_requests: Callable[[], None],
        observers: Observers,
        hand_overs: Callable[[], Sequence[HandsOver]],
    ) -> None:
        self._host = host
        self._hand_overs = hand_overs
        self._informers = informers
        self._stopping = stopping
        self._give_up_requests = give_up_requests
        self._elector = elector
        self._observers = observers
        self._controllers_stop = Stop(host, "controllers stop")
        self._informers_stop = Stop(host, "informers stop")
        self._recorders_stop = Stop(host, "recorders stop")
        self._runnables_stop = Stop(host, "runnables stop")
        self._election_stop = Stop(host, "election stop")
        self._recorders: list[Thread] = []
        self._runnables: list[Thread] = []
        self._elections: list[Thread] = []  # one thread, once the election has begun
        self._waiting: list[Controller] = []  # controllers that wait until we lead
        self._controllers: list[Controller] = []  # those that have threads
        stopping.on_set(self._stop_controllers)
        stopping.on_set(self._controllers_stop.cancel, Stage.CANCELLED)
        self._controllers_stop.on_set(self._pass_on_failure)
        self._informers_stop.on_set(self._pass_on_failure)
        # Cancelled work must not wait for a silent server. Informers need not be cancelled for that: when they are
        # stopped, all that read their caches have ended.
        self._informers_stop.on_set(give_up_requests)
        self._in_stop_order = (
            stopping,
            self._controllers_stop,
            self._election_stop,
            self._runnables_stop,
            self._recorders_stop,
            self._informers_stop,
        )
        for stop in self._in_stop_order:
            stop.on_set(give_up_requests, Stage.CANCELLED)

    def start_caches(self) -> None:
        """Start the existing informers. An informer that is made later starts when it is made."""
        self._informers.start(self._informers_stop)

    def start(self, things: Sequence[Controller | Runnable], cache_sync_timeout: float) -> None:
        """Wait until all caches are filled, then start `things`; if `stopping` is set first, start nothing.

        Event recorders alone do not wait for caches. While another replica leads, controllers that need a leader are
        remembered, and those that warm up only attach their sources. Call this again when this replica leads.

        Args:
            things: The controllers and runnables that were added since the last call, in that order.
            cache_sync_timeout: Seconds that the caches have to fill.

        Raises:
            CacheSyncTimeout: The caches did not fill in time.
            UsageError: A controller runs with another manager.
        """
        controllers = [thing for thing in things if isinstance(thing, Controller)]
        for controller in controllers:
            controller.prepare(self._informers)
        recorders = [thing for thing in things if isinstance(thing, EventRecorder)]
        # Recorders read no caches. One that is added while the manager runs need not wait for them, and must not fail
        # the run if a cache is out of order.
        needs_caches = len(recorders) < len(things) or not things or bool(self._waiting)
        if needs_caches and not self._informers.wait_for_sync(self._stopping, cache_sync_timeout):
            return
        for recorder in recorders:
            self._recorders.append(self._started(recorder, self._recorders_stop))
        for thing in things:
            if not isinstance(thing, Controller | EventRecorder):
                self._runnables.append(self._started(thing, self._runnables_stop))
        self._waiting += controllers
        deadline = self._host.monotonic() + cache_sync_timeout
        for controller in controllers:
            self._controllers.append(controller)
            if controller.warm_up:
                controller.attach(self._host, self._informers, self._controllers_stop, deadline, self._observers)
                log.info("controller warmed up", controller=controller.name, queued=controller.queued)
        if self._elector is not None and not self._elections:
            self._elections.append(spawn(self._host, self._stopping, "leader-election", self._elect))
        leads = self._elector is None or self._elector.is_leader()
        self._start_controllers(self._host.monotonic() + cache_sync_timeout, leads=leads)

    def fail(self, error: Exception) -> None:
        """Stop because the thread that calls `start` failed with `error`.

        If another thread failed before, log the error.
        """
        self._stopping.fail(error)
        if self._stopping.failure is not error:
            log.exception("start failed after another failure")

    def finish(self, grace: float) -> list[Thread]:
        """Stop all parts, after `stopping` has been set; return the threads that have not ended.

        Args:
            grace: Seconds that running work has to finish; then it is cancelled.
        """
        patience = 0.0 if self._stopping.is_cancelled() else grace
        deadline = self._host.monotonic() + patience
        for each in self._hand_overs():  # for half of the grace at most: work in hand needs the rest
            each.wait(deadline - patience / 2, self._stopping)
        self._controllers_stop.set()
        stuck = self._end(self._join_controllers, self._stopping, deadline)
        stuck += self._end_election(bool(stuck))
        self._runnables_stop.set()
        stuck += self._end(_joining(self._runnables), self._runnables_stop, deadline)
        self._recorders_stop.set()
        stuck += self._end(_joining(self._recorders), self._recorders_stop, deadline)
        self._informers_stop.set()
        stuck += self._end(self._informers.join_until, self._informers_stop, deadline)
        self._pass_on_failure()  # again, because a subscription may have failed after the stop was set
        return stuck

    def _started(self, runnable: Runnable, stop: Stop) -> Thread:
        """Start a runnable's thread."""

        def run() -> None:
            try:
                called(f"{runnable.name}: run", runnable.run, stop)
            except (Cancelled, ConnectionLost):  # expected if it was cancelled, or if its requests were given up
                if not any(each.is_cancelled() for each in self._in_stop_order):
                    raise

        # Its failure sets `stopping` and not `stop`, so that the other runnables end in their turn.
        thread = spawn(self._host, self._stopping, runnable.name, run)
        log.info("runnable started", runnable=runnable.name)
        return thread

    def _start_controllers(self, sync_deadline: float, *, leads: bool) -> None:
        """Start the controllers that wait: all if this replica leads, else those that need no leader."""
        controllers = [each for each in self._waiting if leads or not each.needs_leader]
        self._waiting = [each for each in self._waiting if each not in controllers]
        for controller in controllers:
            controller.start(self._host, self._informers, self._controllers_stop, sync_deadline, self._observers)
            log.info("controller started", controller=controller.name, workers=controller.workers)

    def _elect(self) -> None:
        assert self._elector is not None, "started only with one"
        try:
            self._elector.run(self._election_stop)
        except LeadershipLost as error:
            self._stopping.fail(error, Stage.CANCELLED)  # another replica may lead by now, so there is no grace

    def _end_election(self, work_goes_on: bool) -> list[Thread]:
        """End the election, and return its thread if that has not ended.

        The lease is given back, unless a controller still works under it: then it is left to expire.
        """
        if self._elector is None:
            return []
        if work_goes_on:
            self._election_stop.cancel()
        else:
            self._election_stop.set()
        deadline = self._host.monotonic() + self._elector.stop_timeout
        return self._end(_joining(self._elections), self._election_stop, deadline)

    def _end(self, join_until: Callable[[float], list[Thread]], stop: Stop, deadline: float) -> list[Thread]:
        """Wait until threads have ended, and return those that have not.

        Those that still run at `deadline` are cancelled with `stop`, and get another `CANCEL_GRACE` seconds.
        """
        if not join_until(deadline):
            return []
        stop.cancel()
        until = self._host.monotonic() + CANCEL_GRACE
        while (left := join_until(min(until, self._host.monotonic() + GIVE_UP_PERIOD))) and (
            self._host.monotonic() < until
        ):
            self._give_up_requests()
        return left

    def _join_controllers(self, deadline: float) -> list[Thread]:
        return [thread for controller in reversed(self._controllers) for thread in controller.join_until(deadline)]

    def _stop_controllers(self) -> None:
        """Stop the controllers, unless others can take over their work; after a failure they do no more of it."""
        if self._stopping.failure is not None or not any(each.is_possible for each in self._hand_overs()):
            self._controllers_stop.set()

    def _pass_on_failure(self) -> None:
        """Stop the manager with the error of the controllers or the informers, if they have failed."""
        for stop in (self._controllers_stop, self._informers_stop):
            if stop.failure is not None:
                self._stopping.fail(stop.failure)


def _joining(threads: Sequence[Thread]) -> Callable[[float], list[Thread]]:
    """Return a function that waits for `threads` until a deadline, and returns those that have not ended by then."""
    return lambda deadline: [thread for thread in threads if not thread.join_until(deadline)]
