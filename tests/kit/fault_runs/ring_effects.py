# SPDX-License-Identifier: Apache-2.0
"""The invariants of what a ring's members do to objects: on the server, and outside of it under the objects' names."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import ObjectKey, annotations_of, meta
from controller_runtime.core.resource_paths import resource_path
from controller_runtime.ring.by import RingBy
from controller_runtime.ring.slots import slot_of_name, slot_of_uid
from controller_runtime.ring.token import RingToken
from controller_runtime.testing.simulation import SimulatedHost, Simulation
from kit.fault_runs.disk import Write
from kit.fault_runs.invariants import Violated
from kit.fault_runs.restorable import RestorableDisk
from kit.fault_runs.ring_program import Caches
from kit.fault_runs.ring_user import WISHES
from kit.fault_runs.work import DONE, WANTED

_MARGIN = 0.5
"""Seconds by which a deadline is earlier: that of the sender may be of a renewal whose answer is still coming."""

Interval = Callable[[str], tuple[int, float]]
"""Returns the slots that a replica claims, as the server has stored it, and until when, in virtual seconds."""
_Content = tuple[str, ...]


class RingEffects:
    """Checks what reconciles send, what lands, and what they see.

    Objects have an effect outside of the server as well, a record under their name: a reconcile that sees an object
    writes its uid there, and one that sees none removes the record; as a request, that counts inside the interval only.
    It is judged where the slot follows from the name, and by owner for objects that never had another controller.

    Args:
        sim: The simulation.
        disk: The server's disk.
        by: The part of a request that decides about its slot, in the program's first version.
        by_of: Tells the same of a replica. Where they differ, neither needs the object.
        divided: Whether the caches have the objects of a replica's slots only.
        interval: Tells what a replica may do, as the server has stored it.
        known_until: Tells when the membership of a replica ends, as far as that replica has heard.

    Attributes:
        are_tokens_lost: Whether a restored backup or the deletion of the assignment may have taken tokens back.
        violated: The first fault of a thread of a replica: raised there, it would reach the reconcile.
    """

    def __init__(
        self,
        sim: Simulation,
        disk: RestorableDisk,
        by: RingBy,
        *,
        by_of: Callable[[SimulatedHost], RingBy],
        divided: bool,
        interval: Interval,
        known_until: Callable[[str], float],
    ) -> None:
        self.violated: Violated | None = None
        self.are_tokens_lost = False
        self._by_of = by_of
        self._sim, self._disk, self._by, self._divided, self._interval = sim, disk, by, divided, interval
        self._known_until = known_until
        self._kinds = {kind.plural: kind for kind in WISHES[by]}
        self._numbers: dict[str, tuple[str, int, int]] = {}  # (uid, wanted, done) by key
        self._contents: dict[str, _Content] = {}  # by key, as stored last
        self._unseen: set[str] = set()  # keys of objects that no owner has seen since their last change
        # By slot: the greatest order of a token with which a reconcile began, and the replica that had it.
        self._newest: dict[int, tuple[tuple[int, int], str]] = {}
        # Requests that were not answered, by replica, key and body, with the slots and the sender's deadline.
        self._open: dict[tuple[str, str, bytes], tuple[int, float]] = {}
        # The slots of an object of this key in this version: more than one only after a backup was restored.
        self._slots: defaultdict[tuple[str, str], int] = defaultdict(int)
        self._ever: defaultdict[str, int] = defaultdict(int)  # those that it had in any version
        self._absences: set[tuple[str, str]] = set()  # replicas and keys: the server said that there is no object
        self._records: dict[str, str] = {}  # uids by key: the effect outside

    def begins(self, host: SimulatedHost, request: HTTPRequest) -> None:
        """Check a write of a reconcile at the instant at which it is sent."""
        key = self._key_of(request) if request.method == "PATCH" else ""
        if not key:
            return
        version = json.loads(request.body)["metadata"]["resourceVersion"]
        slots, until = self._interval(host.name)
        needed = self._slots_of(host, key, version)
        self._open[host.name, key, request.body] = needed, min(until, self._known_until(host.name))
        if not (slots & needed and self._sim.time <= until):
            what = f"{host.name} sends a write for {key}, whose slot it does not own"
            self._wrong(Violated("no request outside the interval", what))

    def answered(self, host: SimulatedHost, request: HTTPRequest, response: HTTPResponse) -> None:
        """Note the answer to a request. After a 5xx its outcome is as unknown as before."""
        key = self._key_of(request)
        if key and request.method == "PATCH" and response.status < 500:
            self._open.pop((host.name, key, request.body), None)
        elif key and request.method == "GET" and response.status == 404:
            self._absences.add((host.name, key))

    def gives_back(self, replica: str, slots: int) -> None:
        """Raise `Violated` if a member gives slots back while a request for one of them may land."""
        for (sender, key, _), (needed, until) in self._open.items():
            if sender == replica and not needed & ~slots and self._sim.time < until - _MARGIN:
                what = f"{replica} gives the slot of {key} back {until - self._sim.time:.1f} s before its deadline"
                raise Violated("no slot is given back while a request may land", what)

    def stored(self, write: Write) -> None:
        """Raise `Violated` if a write of the server undoes an earlier one."""
        if write.collection not in self._kinds or write.raw is None:
            return
        found = json.loads(write.raw)
        numbers, metadata = annotations_of(found), meta(found)
        slot = 1 << self._slot_of(self._by, write.key, found)
        if self._contents.get(write.key) != _content(found):
            self._contents[write.key] = _content(found)
            self._unseen.add(write.key)
        self._slots[write.key, metadata.resource_version] |= slot
        self._ever[write.key] |= slot
        new = metadata.uid, int(numbers.get(WANTED, -1)), int(numbers.get(DONE, -1))
        old = self._numbers.get(write.key, new)
        is_back = old[0] == new[0] and (new[1] < old[1] or new[2] < old[2])
        if (is_back and not self._disk.lost) or new[2] > new[1]:
            raise Violated("no write is undone", f"{write.key}: (uid, wanted, done) were {old} and are {new}")
        self._numbers[write.key] = new

    def restored(self) -> None:
        """Note that the disk shows an older state: an object that is as it was once needs no reconcile for that."""
        self.are_tokens_lost = True
        for collection, stored in self._disk.load()[1]:
            if collection in self._kinds and self._contents.get(stored.key) != (
                now := _content(json.loads(stored.raw))
            ):
                self._contents[stored.key] = now
                self._unseen.discard(stored.key)

    def takes(self, host: SimulatedHost, caches: Caches, slots: int) -> None:
        """Raise `Violated` if a member owns slots whose objects are not in its cache.

        A cache may be behind the server, but what it has must be whole up to its own version.

        Args:
            host: The member's host.
            caches: Its caches.
            slots: The slots.
        """
        if not self._divided or self._disk.lost:
            return
        for collection, stored in self._disk.load()[1]:
            if collection in self._kinds and slots >> self._slot_of(self._by, stored.key, json.loads(stored.raw)) & 1:
                key, cache = ObjectKey(*reversed(stored.key.rpartition("/")[::2])), caches[collection]
                if cache.source.get(key) is None and not cache.behind(str(stored.version)):
                    what = f"{host.name} owns the slot of {stored.key}, which is not in its cache"
                    raise Violated("the cache is filled first", what)

    def saw(self, host: SimulatedHost, key: ObjectKey, found: Mapping[str, Any] | None, token: RingToken) -> None:
        """Note what a reconcile sees when it begins, and write or remove the record outside.

        In a ring by uid or owner the server was asked before an absence is seen.
        """
        slots, until = self._interval(host.name)
        if self._has_record(str(key)) and slots & self._slots_of(host, str(key), "") and self._sim.time <= until:
            self._records[str(key)] = meta(found).uid if found is not None else ""
        if found is not None:
            slot = self._slot_of(self._by_of(host), str(key), found)
            if slots >> slot & 1 and self._sim.time <= until and _content(found) == self._contents.get(str(key)):
                self._unseen.discard(str(key))
            self._check_token(host, slot, token)
            return
        asked = (host.name, str(key))
        if self._by.needs_object and asked not in self._absences:
            self._wrong(Violated("absence is asked of the server", f"{host.name} sees no {key}, and did not ask"))
        self._absences.discard(asked)

    def _check_token(self, host: SimulatedHost, slot: int, token: RingToken) -> None:
        """Compare the token of a reconcile that begins with those of the slot before."""
        order, owner = self._newest.get(slot, ((0, 0), host.name))
        if owner != host.name and token.order <= order and not self.are_tokens_lost:
            what = f"{host.name} begins work for slot {slot} by {token.order}, after {owner} had {order}"
            self._wrong(Violated("a later owner has a greater token", what))
        self._newest[slot] = max((order, owner), (token.order, host.name))

    def saw_again(
        self, host: SimulatedHost, key: ObjectKey, found: Mapping[str, Any] | None, tokens: tuple[RingToken, RingToken]
    ) -> None:
        """Check what a reconcile sees later of an object that it saw when it began."""
        if tokens[0] != tokens[1]:
            what = f"that of {host.name} for {key} was {tokens[0].order} and is {tokens[1].order}"
            self._wrong(Violated("a reconcile has one token", what))
        if found is None and (self._divided or self._by.needs_object):
            self._wrong(Violated("an object in hand is there to the end", f"{host.name} has lost {key}"))

    def unsettled(self) -> Violated | None:
        """Return what is not done yet; None if all is."""
        for collection, stored in self._disk.load()[1]:
            if collection not in self._kinds:
                continue
            found = json.loads(stored.raw)
            numbers, uid = annotations_of(found), meta(found).uid
            if numbers.get(WANTED) != numbers.get(DONE):
                return Violated("no key is lost", f"{stored.key}: the numbers are {numbers}")
            if stored.key in self._unseen:
                return Violated("each change is reconciled", f"no owner has seen {stored.key} as {_content(found)}")
            record = self._records.get(stored.key)
            if WANTED in numbers and self._has_record(stored.key) and record != uid:
                what = f"{stored.key} has the uid {uid}, and the record outside says {record}"
                return Violated("one owner for each name", what)
        return None

    def _key_of(self, request: HTTPRequest) -> str:
        """Return the key of the object that a request is about; empty if it is about none of the wishes."""
        path = resource_path(request.path)
        if path is None or path.plural not in self._kinds or not path.name:
            return ""
        return "/".join(filter(None, (path.namespace, path.name)))

    def _has_record(self, key: str) -> bool:
        """Return whether a ring keeps an effect under the name of an object right."""
        return self._by is not RingBy.UID and (self._by is not RingBy.OWNER or self._ever[key].bit_count() == 1)

    def _slots_of(self, host: SimulatedHost, key: str, version: str) -> int:
        """Return an object's slots for a replica: of its key, or of all objects ever stored in this version."""
        if self._by.needs_object:
            return self._slots[key, version] if version else self._ever[key]
        return 1 << self._slot_of(self._by_of(host), key, {})

    def _slot_of(self, by: RingBy, key: str, found: Mapping[str, Any]) -> int:
        """Return the slot of an object as `docs/ring.md` has it, and not by the function under test."""
        namespace, _, name = key.rpartition("/")
        match by:
            case RingBy.UID:
                return slot_of_uid(found["metadata"]["uid"])
            case RingBy.OWNER:
                owners = found["metadata"].get("ownerReferences", [])
                controllers = [owner["uid"] for owner in owners if owner.get("controller")]
                return slot_of_name(*(controllers or [found["metadata"]["uid"]]))
            case RingBy.NAMESPACE:
                return slot_of_name(namespace or name)
            case RingBy.NAME:
                return slot_of_name(f"{namespace}/{name}")

    def _wrong(self, violated: Violated) -> None:
        self.violated = self.violated or violated


def _content(found: Mapping[str, Any]) -> _Content:
    """Return what a user has changed of an object: its uid, its wish, and the uid of its controller."""
    controllers = [owner["uid"] for owner in found["metadata"].get("ownerReferences", []) if owner.get("controller")]
    return meta(found).uid, annotations_of(found).get(WANTED, ""), *controllers
