# SPDX-License-Identifier: Apache-2.0
"""The rings of a manager: several replicas that work at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from apimachinery.host import Host
from apimachinery.stop import Stop
from controller_runtime.cache.informers import Informers
from controller_runtime.client.client import Client
from controller_runtime.client.transport import Transport
from controller_runtime.controller.controller import Controller
from controller_runtime.manager.lifecycle import HandsOver
from controller_runtime.manager.problems import overdue_reconciles, problem_of, stuck_workers
from controller_runtime.ring.by import RingBy
from controller_runtime.ring.ownership import Ownership, RingTransport

if TYPE_CHECKING:  # a program without a ring should not pay for it
    from controller_runtime.ring.config import RingOptions
    from controller_runtime.ring.ring import Ring


class ManagerRings:
    """The rings of a manager, by which several replicas divide the work.

    Args:
        host: The manager's host.
        transport: Carries the requests of the members; it is not bound to a leadership, since each replica is a member,
            whether it leads or not.
        informers: The manager's caches.
        stopping: The manager's stop; when it is set, the members react at once.
        controllers: Returns the controllers of the manager.

    Threads: any.
    """

    def __init__(
        self,
        host: Host,
        transport: Transport,
        informers: Informers,
        stopping: Stop,
        controllers: Callable[[], Sequence[Controller]],
    ) -> None:
        self._host, self._transport, self._informers = host, transport, informers
        self._stopping, self._controllers = stopping, controllers
        self._rings: tuple[Ring, ...] = ()  # replaced as a whole

    def make(self, name: str, by: RingBy, namespace: str, options: RingOptions) -> Ring:
        """Return a new ring, of which this replica becomes a member by `add`; arguments as for `Manager.ring`."""
        from controller_runtime.ring.config import RingConfig
        from controller_runtime.ring.ring import Ring

        config = RingConfig(name=name, namespace=namespace, **options)
        return Ring(self._host, Client(self._host, self._transport), self._informers, config, by, self.problem_of_work)

    def add(self, ring: Ring) -> None:
        """Add a ring, which this replica joins, and leaves when the manager stops."""
        self._rings = (*self._rings, ring)
        self._stopping.on_set(ring.member.wake)

    def all(self) -> list[Ring]:
        """Return the rings of which this replica is a member."""
        return [*self._rings]

    def hand_overs(self) -> list[HandsOver]:
        """Return, for each ring, the work that other replicas can take over when this one stops."""
        return [ring.member.hand_over for ring in self._rings]

    def bound(self, transport: Transport) -> RingTransport:
        """Return a transport that refuses requests once the ring membership has ended under which their work began."""
        return RingTransport(transport, self._bound_ownerships)

    def _bound_ownerships(self) -> Sequence[Ownership]:
        """Return the memberships to which requests outside of shared reconciles are bound.

        Those of a program all of whose controllers are shared: each of its requests may be one of a thread that a
        reconcile made. The runtime's own requests, such as those of events and certificates, do not come this way.
        """
        if (
            not self._rings
            or not (controllers := self._controllers())
            or any(each.needs_leader for each in controllers)
        ):
            return ()
        return [ring.ownership for ring in self._rings]

    def problem_of_work(self) -> str:
        """Return in one line why this replica cannot work now, so that it gets no slots of a ring; empty if it can."""
        if self._stopping.is_set():
            return "the manager stops"
        controllers = self._controllers()
        for problems in (
            (problem_of(informer, self._host) for informer in self._informers),
            overdue_reconciles(controllers),
            stuck_workers(controllers),
        ):
            if problem := next((problem for problem in problems if problem), ""):
                return problem
        return ""
