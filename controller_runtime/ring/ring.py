# SPDX-License-Identifier: Apache-2.0
"""A ring as its users see it: reconcilers that work for the owned slots only, and their requests when slots come."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from typing import Any

import msgspec

from apimachinery.errors import UsageError
from apimachinery.host import Host
from apimachinery.objects import ObjectKey
from apimachinery.plain_functions import synchronous
from apimachinery.shards import fnv1a64
from apimachinery.stop import Stop
from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import LEASES, Kind, Resource, resource_of
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.share import Division, Share
from controller_runtime.cache.store import Delta
from controller_runtime.client.client import Client
from controller_runtime.controller.channel import Channel
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request
from controller_runtime.ring.by import RingBy
from controller_runtime.ring.catching_up import CatchingUp
from controller_runtime.ring.config import RingConfig
from controller_runtime.ring.division import OwnersSlots, OwnSlots, slot_of_key
from controller_runtime.ring.kind import RingKind
from controller_runtime.ring.member import RingMember
from controller_runtime.ring.ownership import Ownership, turn_in_hand, unbound
from controller_runtime.ring.records import CLAIM, RING_LABEL, annotations_of
from controller_runtime.ring.requests import SlotRequests
from controller_runtime.ring.review import RightsReview
from controller_runtime.ring.rights import advice, advice_on_objects
from controller_runtime.ring.shared import SharedReconciler
from controller_runtime.ring.slots import ALL, SLOTS
from controller_runtime.ring.token import RingToken


class Ring:
    """Shares the work of controllers among the replicas of a program: each slot is owned by one of them at a time.

    Make it by `Manager.ring`. It runs with the manager, whether this replica leads or not.

    Args:
        host: The manager's.
        client: Reaches the API server; not limited by any leadership.
        informers: The manager's caches.
        config: The ring.
        by: The property of a request that decides to which slot it belongs.
        problem: Returns in one line why this replica does not do its work; see `RingMember`.

    Attributes:
        name: The name of its runnable, `ring/` and the ring's name.
        config: As given.
        problem: As given.
        member: Takes part in the ring for this replica.
        ownership: The slots that this replica owns.
        requested: Requests the objects of slots that come, as a runnable of its own.
        rights: Looks at the rights of this replica, as a runnable of its own.

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
        self._host, self._client, self._informers, self._by = host, client, informers, by
        self.config, self.problem = config, synchronous("the problem of a ring", problem)
        self._kinds: dict[Resource[Any], RingKind] = {}
        self._divided: set[str] = set()  # the kinds of the requests that are shared, and the classes of reconcilers
        self._shares: list[Share] = []
        self.ownership = Ownership(host)
        self.requested = SlotRequests(host, config.name, informers, OwnSlots(by), self.ownership.owns)
        catching_up = CatchingUp(
            *(host, client.transport, self.requested.informers, config.retry_period),
            on_behind=lambda slots: self.member.status.behind(slots),
        )
        self.member = RingMember(
            *(host, client, config, self.ownership),
            on_take=self.requested.take,
            prepare=self._prepare,
            problem=lambda: self.problem(),
            ready=catching_up.ready if config.prepare == "consistent" else lambda slots: slots,
            division=self.division,
        )
        self.name, self.rights = self.member.name, RightsReview(host, client.transport, config, self._asked_by_name)
        leases = Collection(LEASES, config.namespace, label_selector=f"{RING_LABEL}={config.name}")
        maps = Collection(CONFIG_MAPS, config.namespace, field_selector=f"metadata.name={config.map_key.name}")
        self._protocol = [informers.of(collection, whole=True) for collection in (leases, maps)]
        for informer in self._protocol:
            informer.advise(advice(config.name, config.namespace))
            informer.add_handler(self._wake)

    def divide(self, kind: Kind[Any], *, children: Iterable[Kind[Any]] = ()) -> None:
        """Keep in the caches of a kind the objects of this replica's slots only; call it before their first use.

        Caches have the objects of a slot before this replica owns it, and until its work for it has ended. So listers
        of these kinds are partial: an object that is not there may be another replica's. In a ring by uid, a server
        with the feature `ShardedListAndWatch` sends each replica its share of the kind; others send all objects, and
        the cache drops those of others before it decodes their bodies.

        Args:
            kind: The kind whose keys are the requests of shared reconcilers.
            children: Kinds whose objects such an object controls: kept with their controller. An object that none
                controls is in no cache. None in a ring by owner, where a child is divided as any kind.

        Raises:
            UsageError: One of the kinds is cached already, or children are named in a ring by owner.
        """
        resource, children = resource_of(kind), [*children]
        if children and self._by is RingBy.OWNER:
            raise UsageError(f"{self.name} keeps objects with their controllers: call its `divide` with each child")
        own = self._share(OwnSlots(self._by))
        self._informers.divide(resource, own)
        self._know(resource, self._informers.each(Collection(resource)))
        for child in children:
            self._informers.divide(child, self._share(OwnersSlots(self._by, resource)))
        self.requested.kinds |= {resource, *map(resource_of, children)}

    def slot_of(self, request: Request, kind: RingKind | None = None) -> int | None:
        """Return the slot of a request; None if no object of its key is known, in a ring by uid or owner.

        Args:
            request: The request.
            kind: The kind of its object; needed in a ring by uid or owner that shares several.
        """
        if not self._by.needs_object:
            return slot_of_key(self._by, request.namespace, request.name)
        found = kind or self._kind(None)
        assert found is not None, "a ring that needs objects knows their kind"
        return found.slot_of(request)

    def as_member(self) -> contextlib.AbstractContextManager[None]:
        """Bind the requests of the manager's client in a `with` block to this replica's membership.

        Do not use it in a shared reconcile, which is bound already, as is all work of a program whose controllers are
        all shared. It does not replace a leadership: with leader election requests need that, too.

        Raises:
            LeadershipLost: This replica is not a member when the block begins; or, from a request, no longer.
        """
        return self.ownership.as_member()

    def unbound(self) -> contextlib.AbstractContextManager[None]:
        """Leave the requests of a `with` block bound to no membership, unless they are those of a shared reconcile.

        Where all controllers of a program are shared, each request of the manager's client is bound to this replica's
        lease, because it may be one of a thread that a reconcile made. Use this for others, such as a runnable that
        works in each replica. Events, certificates and definitions are never bound.
        """
        return unbound()

    def token(self) -> RingToken:
        """Return the fencing token of the reconcile that calls this, for a store outside of the cluster.

        It is that of the ownership under which the reconcile began, whoever owns the slot by now.

        Raises:
            UsageError: The caller is not a reconcile that this ring shares.
        """
        turn = turn_in_hand(self.ownership)
        if turn is None:
            raise UsageError(f"{self.name} has a token only in reconciles that it shares: call `token` in one")
        return turn.token

    @property
    def asked_by_name(self) -> list[Resource[Any]]:
        """The kinds of which this replica asks the server by name whether an object is gone."""
        return [*self._kinds] if self._by.needs_object else []

    def owns(self, request: Request) -> bool:
        """Return whether this replica owns the slot of a request now."""
        slot = self.slot_of(request)
        return slot is not None and self.ownership.owns(slot)

    def shared(self, reconciler: Reconciler, kind: Kind[Any] | None = None) -> Reconciler:
        """Return a reconciler that does what the given one does, for requests of owned slots; it passes over others.

        The requests of the manager's client that a reconcile sends are refused with `LeadershipLost` once the slot is
        not this replica's any more, and a slot is given to another replica only when its reconciles have ended.

        If the caches of the kind are divided, or the ring is by uid or owner, a reconcile reads the object that it has
        seen to its end, even if it is deleted. By uid or owner, the server is asked once by name before a reconcile
        sees that its object is absent: if it exists, it is another object, and the reconcile is left out.

        Args:
            reconciler: Does the work.
            kind: The kind of its requests; None is the only one that the ring knows by `divide` or an earlier call. In
                a ring by uid or owner, a kind that is not divided is cached whole.

        Raises:
            UsageError: The ring is by uid or owner, and the kind is needed.
        """
        self._divided.add(f"reconciler {type(reconciler).__qualname__}")
        return SharedReconciler(self, reconciler, self._kind(kind), asks=self._by.needs_object)

    def share(self, controller: Controller) -> None:
        """Share the work of a controller that says that it is `shareable`.

        Raises:
            UsageError: It does not say so, was started, is shared already, or reconciles by coroutines.
        """
        objects = controller.shared_objects
        if objects is None:
            raise UsageError(f"controller {controller.name} does not say that it is shareable: call its `shareable`")
        controller.share(lambda reconciler: self.shared(reconciler, objects.resource), self.requests(objects))

    def requests(self, lister: Lister[Any]) -> Channel:
        """Return a channel for `Controller.receive`, with a request for each object of each slot that comes.

        Args:
            lister: Reads the objects whose keys are the controller's requests.

        Raises:
            UsageError: The lister is not one of this manager's.
        """
        self._kind(lister.resource)
        self._divided.add(f"kind {lister.resource.plural}.{lister.resource.group}")
        return self.requested.channel(lister)

    def division(self) -> str:
        """Return the hash of what this replica divides, and how: see `RingConfig.division`."""
        divided = [*sorted(self._divided)] if self.config.division is None else [self.config.division]
        text = "\n".join((f"slots {SLOTS}", self._by.value, self._informers.namespace, *divided))
        return f"{fnv1a64(text):016x}"

    def run(self, stop: Stop) -> None:
        """Take part until `stop` is set; see `RingMember.run`."""
        self.member.run(stop)

    def _request_moved(self, resource: Resource[Any], key: ObjectKey) -> None:
        """Request an object that comes to one of our slots: a predicate may pass over the change that brings it."""
        slot = self._kinds[resource].slot_of(key)
        if slot is not None and self.ownership.owns(slot):
            for channel in self.requested.channels(resource):
                channel.push(key, cause="slot changed")

    def _asked_by_name(self) -> list[tuple[Resource[Any], str]]:
        kinds = [*self._kinds.values()] if self._by.needs_object else []
        return [place for kind in kinds for place in kind.places]

    def _prepare(self, slots: int) -> int:
        return reduce(lambda prepared, share: prepared & share.want(slots), self._shares, ALL)

    def _share(self, division: Division) -> Share:
        share = Share(
            self._host, division, on_filled=lambda: self.member.wake(), on_narrowed=lambda: self.requested.narrow(share)
        )
        self._shares.append(share)
        return share

    def _kind(self, kind: Kind[Any] | None) -> RingKind | None:
        """Return what is known of a kind; None if its keys tell their slots, and it is not divided."""
        if kind is None and len(self._kinds) == 1:
            return next(iter(self._kinds.values()))
        resource = None if kind is None else resource_of(kind)
        if resource in self._kinds or not self._by.needs_object:
            return None if resource is None else self._kinds.get(resource)
        if resource is None:
            raise UsageError(
                f"{self.name} cannot tell whose {self._by.value} a request means: give the kind of the requests, or "
                "call its `divide` with it first"
            )
        cached = [informer for informer in self._informers if informer.collection.resource == resource]
        cached = [informer for informer in cached if informer not in self._protocol]
        return self._know(resource, cached or self._informers.each(Collection(resource)))

    def _know(self, resource: Resource[Any], informers: Sequence[Informer]) -> RingKind:
        division = OwnSlots(self._by)
        moved, text = partial(self._request_moved, resource), advice_on_objects(self.config.name)
        known = RingKind(self._host, self._client, resource, informers, division, moved, text)
        self._kinds[resource] = known
        return known

    def _wake(self, delta: Delta) -> None:
        """Have the member look at once if a claim or the assignment has changed, and not at each renewal."""
        if delta.old is None or delta.new is None or _content(delta.old.raw) != _content(delta.new.raw):
            self.member.wake()


def _content(raw: bytes) -> object:
    found: dict[str, Any] = msgspec.json.decode(raw)
    return annotations_of(found).get(CLAIM), found.get("data")
