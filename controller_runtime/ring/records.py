# SPDX-License-Identifier: Apache-2.0
"""The records that members of a ring exchange: the claim in each member's lease, and the published assignment."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Self

import attrs

from controller_runtime.ring.assignment import NOBODY
from controller_runtime.ring.slots import SLOTS, ranges_of, set_of

RING_LABEL = "controller-runtime/ring"
"""The label of each member's lease; its value is the ring's name."""
CLAIM = "controller-runtime/ring-claim"
"""The annotation of a member's lease that contains its claim: the slots that it owns, and its state."""
MAP_KEYS = frozenset({"epoch", "incarnation", "owners", "division"})
"""The keys of the data in the ConfigMap of the assignment."""


def map_name(ring: str) -> str:
    """Return the name of the ConfigMap with the assignment of a ring."""
    return f"{ring}-ring"


@attrs.frozen
class Claim:
    """The claim of a member: the annotation in its lease by which other members know its state.

    Attributes:
        epoch: The epoch of the newest assignment that it follows; it takes no slots by an older assignment.
        slots: The slots that it owns, or still has running work for, as a bit set.
        weight: Its share of the slots, relative to the weights of the others.
        is_ready: Whether it may get slots: it has been a member for one lease duration, works, is not leaving, and
            waits for no other division.
        is_leaving: Whether it is stopping, and should get no slots.
        division: A hash of the objects that it divides into slots, and how; only members with the same hash can divide
            work.
    """

    epoch: int = 0
    slots: int = 0
    weight: int = 1
    is_ready: bool = False
    is_leaving: bool = False
    division: str = ""

    @property
    def has_left(self) -> bool:
        """Whether the member is leaving and has no slots any more; it never takes a slot again."""
        return self.is_leaving and not self.slots

    def to_text(self) -> str:
        """Return the claim (the slots and the state of a member) as the value of its lease annotation."""
        return json.dumps(
            {
                "epoch": self.epoch,
                "slots": f"{self.slots:x}",
                "weight": self.weight,
                "state": "leaving" if self.is_leaving else "ready" if self.is_ready else "joining",
                "division": self.division,
            }
        )

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return the claim in the value of an annotation.

        Raises:
            ValueError: The text is not a claim.
        """
        try:
            value = json.loads(text)
            slots, state = int(value["slots"], 16), value["state"]
            division = str(value.get("division", ""))
            claim = cls(
                int(value["epoch"]), slots, int(value["weight"]), state == "ready", state == "leaving", division
            )
        except (AttributeError, TypeError, KeyError, ValueError) as error:
            raise ValueError(f"{text!r} is not a claim of a ring's member") from error
        if claim.epoch < 0 or not 0 <= slots < 1 << SLOTS or claim.weight < 1:
            raise ValueError(f"{text!r} is not a claim of a ring's member: a number is out of range")
        return claim


@attrs.frozen
class Assignment:
    """The published owners of all slots.

    Attributes:
        epoch: The number of the assignment, which grows with each assignment of a ring.
        owners: The owner of each slot; `NOBODY` for none.
        since: For each slot, the epoch at which its owner got it.
        uid: The uid of the ConfigMap from which it was read. With another uid, epochs begin again.
        incarnation: A number that grows whenever epochs begin again, or may have gone back with the server's data; 0 if
            unknown.
        division: The hash of the owners' division; see `Claim.division`.
    """

    epoch: int
    owners: tuple[str, ...]
    since: tuple[int, ...]
    uid: str = ""
    incarnation: int = 0
    division: str = ""

    def slots_of(self, member: str) -> int:
        """Return the slots of a member, as a bit set."""
        return _slots_of(self.owners, member)

    def followed_by(self, owners: Sequence[str], division: str | None = None) -> Self:
        """Return the next assignment, with these owners. If the division changes, every slot counts as newly given."""
        epoch, division = self.epoch + 1, self.division if division is None else division
        pairs = zip(self.owners, owners, self.since, strict=True)
        is_same = division == self.division
        since = tuple(old_since if is_same and old == new else epoch for old, new, old_since in pairs)
        return attrs.evolve(self, epoch=epoch, owners=tuple(owners), since=since, division=division)

    def data(self) -> dict[str, str]:
        """Return the data of the ConfigMap that publishes the assignment: for each owner, ranges of slots by epoch."""
        owned: dict[str, dict[str, list[str]]] = {}
        for owner in sorted({*self.owners} - {NOBODY}):
            by_epoch = owned[owner] = {}
            mine = [slot for slot, name in enumerate(self.owners) if name == owner]
            for epoch in sorted({self.since[slot] for slot in mine}):
                ranges = ranges_of(set_of(slot for slot in mine if self.since[slot] == epoch))
                by_epoch[str(epoch)] = [str(low) if low == high else f"{low}-{high}" for low, high in ranges]
        found = {"epoch": str(self.epoch), "owners": json.dumps(owned, indent=1), "division": self.division}
        return {**found, "incarnation": str(self.incarnation)} if self.incarnation else found

    @classmethod
    def of(cls, data: Mapping[str, str], uid: str = "") -> Self:
        """Return the assignment in the data of a ConfigMap.

        Args:
            data: The data.
            uid: The uid of the ConfigMap.

        Raises:
            ValueError: The data is not an assignment.
        """
        owners, since = [NOBODY] * SLOTS, [0] * SLOTS
        try:
            epoch, incarnation = int(data["epoch"]), int(data.get("incarnation", "0"))
            for owner, by_epoch in json.loads(data["owners"]).items():
                for begun, ranges in by_epoch.items():
                    for low, high in map(_range, ranges):
                        for slot in range(low, high + 1):
                            owners[slot], since[slot] = owner, int(begun)
        except (AttributeError, TypeError, KeyError, ValueError, IndexError) as error:
            raise ValueError(f"the published assignment cannot be read: {error!r}") from error
        if epoch < max(since):
            raise ValueError(f"the published assignment cannot be read: epoch {epoch} is older than some of its slots")
        return cls(epoch, tuple(owners), tuple(since), uid, incarnation, data.get("division", ""))


@lru_cache(maxsize=64)
def _slots_of(owners: tuple[str, ...], member: str) -> int:
    return set_of(slot for slot, owner in enumerate(owners) if owner == member)


def _range(text: str) -> tuple[int, int]:
    low, _, high = text.partition("-")
    found = int(low), int(high or low)
    if not 0 <= found[0] <= found[1] < SLOTS:
        raise ValueError(f"{text!r} is not a valid range of slots, such as 0-84")
    return found


def annotations_of(lease: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the annotations of a lease."""
    found: Mapping[str, str] = (lease.get("metadata") or {}).get("annotations") or {}
    return found
