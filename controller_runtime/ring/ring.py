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
    """Divides the work of controllers among the replicas of a program, by slots: each slot has one owner at a time.

    A hash of its key or object assigns a request to a slot. Make a ring by `Manager.ring`; it runs with the manager,
    whether this replica leads or not.

    Args:
        host: The manager's host.
        client: Sends the requests; it must not be limited by a leadership.
        informers: The manager's caches.
        config: The configuration of the ring.
        by: The property of a request that decides to which slot it belongs.
        problem: Returns in one line why this replica cannot work; see `RingMember`.

    Attributes:
        name: The name of its runnable: `ring/` and the ring's name.
        config: As given.
        problem: As given.
        member: The membership of this replica.
        ownership: The slots that this replica owns.
        requested: A runnable that requests the objects of newly owned slots.
        rights: A runnable that checks the rights of this replica.

    Threads: any; `run` on its own thread.
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
        """Keep only the objects of this replica's slots in the caches of a kind. Call it before their first use.

        Caches get the objects of a slot before this replica owns it, and keep them until its work for the slot has
        ended. So listers of these kinds are partial: a missing object may belong to another replica. In a ring by uid,
        a server with the feature `ShardedListAndWatch` sends each replica only its share of the kind; other servers
        send all objects, and the cache drops those of other replicas before it decodes their bodies.

        Args:
            kind: The kind whose keys are the requests of shared reconcilers.
            children: Kinds of objects that are controlled by objects of `kind`, and kept together with them. An object
                without such a controller is in no cache. Must be empty in a ring by owner.

        Raises:
            UsageError: One of the kinds is cached already, or `children` are given in a ring by owner.
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
        """Return the slot (0 to 255) of a request; in a ring by uid or owner, None if no object of its key is known.

        Args:
            request: The request.
            kind: The kind of the object; needed in a ring by uid or owner with several kinds.
        """
        if not self._by.needs_object:
            return slot_of_key(self._by, request.namespace, request.name)
        found = kind or self._kind(None)
        assert found is not None, "a ring that needs objects knows their kind"
        return found.slot_of(request)

    def as_member(self) -> contextlib.AbstractContextManager[None]:
        """Return a context manager: requests of the manager's client inside it are bound to this replica's membership.

        A shared reconcile is bound already, and so is all work of a program whose controllers are all shared. A
        membership does not replace a leadership: with leader election requests need both.

        Raises:
            LeadershipLost: This replica is not a member when the block begins. Requests raise it once the membership is
                over.
        """
        return self.ownership.as_member()

    def unbound(self) -> contextlib.AbstractContextManager[None]:
        """Return a context manager: requests inside it depend on no membership, except those of a shared reconcile.

        If all controllers of a program are shared, each request of the manager's client depends on this replica's
        lease, because a thread that a reconcile started may send it. Use this for others, such as those of a runnable
        on each replica. Events, certificates and definitions never depend on it.
        """
        return unbound()

    def token(self) -> RingToken:
        """Return the fencing token of the reconcile that calls this, for writes to a store outside of the cluster.

        The token belongs to the ownership under which the reconcile began, even if another replica owns the slot by
        now.

        Raises:
            UsageError: The caller is not a reconcile of a controller whose work this ring divides.
        """
        turn = turn_in_hand(self.ownership)
        if turn is None:
            raise UsageError(f"{self.name} has a token only in reconciles that it shares: call `token` in one")
        return turn.token

    @property
    def asked_by_name(self) -> list[Resource[Any]]:
        """The kinds whose objects this replica gets by name from the server, to see whether they are gone."""
        return [*self._kinds] if self._by.needs_object else []

    def owns(self, request: Request) -> bool:
        """Return whether this replica works for a request now, because it owns the slot of the request."""
        slot = self.slot_of(request)
        return slot is not None and self.ownership.owns(slot)

    def shared(self, reconciler: Reconciler, kind: Kind[Any] | None = None) -> Reconciler:
        """Return a reconciler that calls `reconciler` for requests of this replica's slots, and skips other requests.

        Requests that a reconcile sends by the manager's client are refused with `LeadershipLost` once this replica no
        longer owns the slot. A slot is given to another replica only after its reconciles have ended.

        If the caches of the kind are divided, or the ring is by uid or owner, a reconcile sees its object until its
        end, even if the object is deleted meanwhile. In a ring by uid or owner, the object is requested from the server
        before a reconcile sees that it is absent: if there is one, it is a new object, and the reconcile is skipped.

        Args:
            reconciler: Does the work.
            kind: The kind of its requests; None for the only kind of earlier calls of `divide` or `shared`. In a ring
                by uid or owner, all objects of a kind that is not divided are cached.

        Raises:
            UsageError: `kind` is None, but needed in a ring by uid or owner.
        """
        self._divided.add(f"reconciler {type(reconciler).__qualname__}")
        return SharedReconciler(self, reconciler, self._kind(kind), asks=self._by.needs_object)

    def share(self, controller: Controller) -> None:
        """Divide the work of a controller that is declared as `shareable`.

        Raises:
            UsageError: It is not declared so, was started, is shared already, or reconciles by coroutines.
        """
        objects = controller.shared_objects
        if objects is None:
            raise UsageError(f"controller {controller.name} does not say that it is shareable: call its `shareable`")
        controller.share(lambda reconciler: self.shared(reconciler, objects.resource), self.requests(objects))

    def requests(self, lister: Lister[Any]) -> Channel:
        """Return a channel for `Controller.receive` that requests each object of a slot when this replica gets it.

        Args:
            lister: Reads the objects whose keys are the controller's requests.

        Raises:
            UsageError: Another manager made the lister.
        """
        self._kind(lister.resource)
        self._divided.add(f"kind {lister.resource.plural}.{lister.resource.group}")
        return self.requested.channel(lister)

    def division(self) -> str:
        """Return the hash of the way in which this replica divides objects; see `RingConfig.division`."""
        divided = [*sorted(self._divided)] if self.config.division is None else [self.config.division]
        text = "\n".join((f"slots {SLOTS}", self._by.value, self._informers.namespace, *divided))
        return f"{fnv1a64(text):016x}"

    def run(self, stop: Stop) -> None:
        """Be a member of the ring until `stop` is set; see `RingMember.run`."""
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
