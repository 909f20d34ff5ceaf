# SPDX-License-Identifier: Apache-2.0
"""A ring as its users see it: reconcilers that work for the owned slots alone, and their requests when slots come."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import msgspec

from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import LEASES
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.store import Delta
from controller_runtime.client.client import Client
from controller_runtime.controller.channel import Channel
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.core.errors import UsageError
from controller_runtime.core.host import Host
from controller_runtime.core.stop import Stop
from controller_runtime.ring.by import RingBy
from controller_runtime.ring.config import RingConfig
from controller_runtime.ring.member import RingMember
from controller_runtime.ring.ownership import Ownership
from controller_runtime.ring.records import CLAIM, RING_LABEL, annotations_of
from controller_runtime.ring.slots import slot_of_name

if TYPE_CHECKING:  # a program that serves no metrics need not import it
    from prometheus_client.metrics_core import Metric

_HELD_BACK = 1_000_000
"""Requests of slots that come before their controller has started, at most."""


class Ring:
    """Shares the work of controllers among the replicas of a program: each slot is owned by one of them at a time.

    Make it by `Manager.ring`. It runs with the manager, whether this replica leads or not.

    Args:
        host: The manager's.
        client: Reaches the API server; not limited by any leadership.
        informers: The manager's caches.
        config: The ring.
        by: What decides to which slot a request belongs.
        problem: Returns in one line why this replica does not do its work; see `RingMember`.

    Attributes:
        name: The name of its runnable, `ring/` and the ring's name.
        config: As given.
        problem: As given.
        member: Takes part in the ring for this replica.
        ownership: What this replica owns.

    Threads: any; `run` one of its own.
    """

    def __init__(
        self,
        host: Host,
        client: Client,
        informers: Informers,
        config: RingConfig,
        by: RingBy,
        problem: Callable[[], str],
    ) -> None:
        self._host, self._by = host, by
        self.config, self.problem = config, problem
        self._channels: list[tuple[Lister[Any], Channel]] = []
        self.ownership = Ownership(host)
        self.member = RingMember(host, client, config, self.ownership, on_take=self._request, problem=problem)
        self.name = self.member.name
        label, name = f"{RING_LABEL}={config.name}", f"metadata.name={config.name}"
        for collection in (
            Collection(LEASES, config.namespace, label_selector=label),
            Collection(CONFIG_MAPS, config.namespace, field_selector=name),
        ):
            informers.of(collection).add_handler(self._wake)

    def slot_of(self, request: Request) -> int:
        """Return the slot of a request."""
        if self._by is RingBy.NAMESPACE:
            return slot_of_name(request.namespace or request.name)
        return slot_of_name(f"{request.namespace}/{request.name}")

    def owns(self, request: Request) -> bool:
        """Return whether this replica owns the slot of a request now."""
        return self.ownership.owns(self.slot_of(request))

    def shared(self, reconciler: Reconciler) -> Reconciler:
        """Return a reconciler that does what the given one does, for requests of owned slots; it passes over others.

        The requests of the manager's client that a reconcile sends are refused with `LeadershipLost` once the slot is
        not this replica's any more, and a slot is given to another replica only when its reconciles have ended.
        """
        return _Shared(self, reconciler)

    def share(self, controller: Controller) -> None:
        """Share the work of a controller that says that it is `shareable`.

        Raises:
            UsageError: It does not say so, was started, is shared already, or reconciles by coroutines.
        """
        if controller.shared_objects is None:
            raise UsageError(f"controller {controller.name} does not say that it is shareable: call its `shareable`")
        controller.share(self.shared, self.requests(controller.shared_objects))

    def requests(self, lister: Lister[Any]) -> Channel:
        """Return a channel for `Controller.receive`, with a request for each object of each slot that comes.

        Args:
            lister: Reads the objects whose keys are the controller's requests.
        """
        channel = Channel(self._host, capacity=_HELD_BACK)
        self._channels.append((lister, channel))
        return channel

    def run(self, stop: Stop) -> None:
        """Take part until `stop` is set; see `RingMember.run`."""
        self.member.run(stop)

    def _request(self, slots: int) -> None:
        for lister, channel in self._channels:
            for key in lister.keys():  # noqa: SIM118  a lister is no dict
                if slots >> self.slot_of(key) & 1:
                    channel.push(key, cause="slot owned")

    def _wake(self, delta: Delta) -> None:
        """Have the member look at once if a claim or the assignment has changed, and not at each renewal."""
        if delta.old is None or delta.new is None or _content(delta.old.raw) != _content(delta.new.raw):
            self.member.wake()


def _content(raw: bytes) -> object:
    found: dict[str, Any] = msgspec.json.decode(raw)
    return annotations_of(found).get(CLAIM), found.get("data")


class _Shared(Reconciler):
    """Reconciles the requests of owned slots."""

    def __init__(self, ring: Ring, inner: Reconciler) -> None:
        self._ring, self._inner = ring, inner

    @property
    def is_shared(self) -> bool:
        return True

    def metrics(self) -> Iterable[Metric]:
        return self._inner.metrics()

    def reconcile(self, request: Request) -> Result:
        turn = self._ring.ownership.turn(self._ring.slot_of(request))
        if turn is None:  # its owner has the same change in its own cache
            return Result()
        with turn:
            return self._inner.reconcile(request)
