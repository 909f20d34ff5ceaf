# SPDX-License-Identifier: Apache-2.0
"""The rings of a manager: several replicas that work at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from apimachinery.host import Host
from apimachinery.stop import Stop
from controller_runtime.cache.informers import Informers
from controller_runtime.client.client import Client
from controller_runtime.client.counting import CountingTransport
from controller_runtime.client.transport import Transport
from controller_runtime.controller.controller import Controller
from controller_runtime.manager.lifecycle import Lifecycle, Runnable
from controller_runtime.manager.problems import overdue_reconciles, problem_of, stuck_workers
from controller_runtime.ring.by import RingBy
from controller_runtime.ring.ownership import Ownership, RingTransport

if TYPE_CHECKING:  # a program without a ring should not pay for it
    from controller_runtime.ring.config import RingOptions
    from controller_runtime.ring.ring import Ring


class ManagedRings:
    """The part of a manager that takes part in rings; the base of `Manager`, which makes the attributes.

    Threads: any.
    """

    host: Host
    informers: Informers
    transport: CountingTransport
    stopping: Stop
    _lifecycle: Lifecycle
    _rings: tuple[Ring, ...] = ()

    @property
    def controllers(self) -> list[Controller]:
        """See `Manager.controllers`."""
        raise NotImplementedError

    def add(self, thing: Controller | Runnable) -> None:
        """See `Manager.add`."""
        raise NotImplementedError

    def ring(
        self, name: str, by: RingBy = RingBy.NAMESPACE, *, namespace: str = "default", **options: Unpack[RingOptions]
    ) -> Ring:
        """Return a new ring, in which this replica takes part while the manager runs; see `docs/ring.md`.

        Args:
            name: The ring's name, the same in all replicas.
            by: The property of requests that decides which of them stay together.
            namespace: Where the ring's ConfigMap and its members' leases are.
            **options: As for `RingConfig`.

        Raises:
            UsageError: The manager has a ring of this name already, or is stopping or has stopped.
            ValueError: An option is out of range.
        """
        from controller_runtime.ring.config import RingConfig
        from controller_runtime.ring.ring import Ring

        config = RingConfig(name=name, namespace=namespace, **options)
        # Its client is not bound to a leadership: each replica is a member, whether it leads or not.
        ring = Ring(self.host, Client(self.host, self.transport), self.informers, config, by, self._problem_of_work)
        self.add(ring)
        self.add(ring.requested)
        if config.check_rights:
            self.add(ring.rights)
        self._rings = (*self._rings, ring)
        self._lifecycle.hand_overs = (*self._lifecycle.hand_overs, ring.member.hand_over)
        self.stopping.on_set(ring.member.wake)
        return ring

    @property
    def rings(self) -> list[Ring]:
        """The rings in which this replica takes part."""
        return [*self._rings]

    def _bound(self, transport: Transport) -> RingTransport:
        """Return a transport whose requests end with the memberships to which they are bound."""
        return RingTransport(transport, self._bound_ownerships)

    def _bound_ownerships(self) -> Sequence[Ownership]:
        """Return the memberships to which requests outside of shared reconciles are bound.

        Those of a program all of whose controllers are shared: each of its requests may be one of a thread that a
        reconcile made. The runtime's own requests, such as those of events and certificates, do not come this way.
        """
        if not self._rings or not (controllers := self.controllers) or any(each.needs_leader for each in controllers):
            return ()
        return [ring.ownership for ring in self._rings]

    def _problem_of_work(self) -> str:
        """Return in one line why this replica does not do its work, by which it is given no slots of a ring."""
        if self.stopping.is_set():
            return "the manager stops"
        for problems in (
            (problem_of(informer, self.host) for informer in self.informers),
            overdue_reconciles(self.controllers),
            stuck_workers(self.controllers),
        ):
            if problem := next((problem for problem in problems if problem), ""):
                return problem
        return ""
