# SPDX-License-Identifier: Apache-2.0
"""One run of a manager: webhooks and definitions first, then its members, until it stops."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from apimachinery.host import Host
from apimachinery.stop import Stage, Stop
from controller_runtime.client.request_threads import RequestThreads
from controller_runtime.manager.definitions import Definitions
from controller_runtime.manager.failure import failure_of
from controller_runtime.manager.lifecycle import CANCEL_GRACE, Lifecycle
from controller_runtime.manager.members import Members
from controller_runtime.manager.rights import Right
from controller_runtime.manager.unhandled_signals import stop_on_unhandled_signals
from controller_runtime.manager.webhooks import DeclaredWebhooks


def check_grace(grace: float) -> None:
    """Check the argument `grace` of a manager.

    Raises:
        ValueError: `grace` is negative.
    """
    if grace < 0:
        raise ValueError(f"grace ({grace}) must be zero or more")


class ManagerWork(NamedTuple):
    """Starts the parts of a manager, on the thread that calls `run`, and ends them in the reverse order.

    Attributes:
        host: The manager's host.
        stopping: Ends the run.
        members: The controllers and runnables.
        definitions: The definitions, which are installed before the caches start, since caches may wait for their
            kinds.
        webhooks: The webhooks. They are served first and closed last: caches and the last writes may need them.
        declare: Called with the rights that the webhooks need.
        lifecycle: Starts and stops caches and members.
        request_threads: The threads that send the requests of coroutines.
        close_connections: Closes the connections to the server.
        grace: Seconds that running work has to finish.
        cache_sync_timeout: Seconds that caches have to fill, each time that controllers or runnables are started.

    Threads: one.
    """

    host: Host
    stopping: Stop
    members: Members
    definitions: Definitions
    webhooks: DeclaredWebhooks
    declare: Callable[[Right], None]
    lifecycle: Lifecycle
    request_threads: RequestThreads
    close_connections: Callable[[], None]
    grace: float
    cache_sync_timeout: float

    def run(self, stop: Stop | None, *, signals: bool) -> None:
        """Work until the manager stops, and raise the failure that ended it; see `Manager.run`.

        Raises:
            UsageError: The manager has run before.
        """
        self.members.begin()
        self.stopping.on_set(self.members.wake)
        if stop is not None:
            stop.on_set(self.stopping.set)
            stop.on_set(self.stopping.cancel, Stage.CANCELLED)
        with stop_on_unhandled_signals(self.host, self.stopping, wanted=signals and stop is None):
            self._run()

    def _run(self) -> None:
        try:
            self._start_members()
        except Exception as error:  # noqa: BLE001  the work of this thread ends here, as that of others does in `spawn`
            self.lifecycle.fail(error)
        finally:
            self.stopping.set()
            stuck = self.lifecycle.finish(self.grace)
            self.webhooks.close()
            self.close_connections()
            # Work that has ended sends nothing any more, so these are about to end; abandoned reads have just been.
            stuck += self.request_threads.join_until(self.host.monotonic() + CANCEL_GRACE)
        failure = failure_of(self.stopping.failure, stuck, self.grace)
        if failure is not None:
            raise failure

    def _start_members(self) -> None:
        """Start the members that were added, and those that are added or may start later, until the manager stops."""
        self.webhooks.start(self.stopping, self.declare)
        self.definitions.install(self.stopping, self.host.monotonic() + self.cache_sync_timeout)
        self.webhooks.trust_new()
        self.definitions.check()
        self.lifecycle.start_caches()
        added = self.members.take_added()
        while not self.stopping.is_set():  # looked at after the news were taken, since a stop is news as well
            self.definitions.check()
            self.lifecycle.start(added, self.cache_sync_timeout)
            self.members.wait_for_news()
            added = self.members.take_added()
