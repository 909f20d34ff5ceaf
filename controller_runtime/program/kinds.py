# SPDX-License-Identifier: Apache-2.0
"""Counts the objects of a collection by the status of their conditions, with each change."""

from __future__ import annotations

from collections import Counter

import attrs
import msgspec

from apimachinery.errors import UNREADABLE
from apimachinery.host import Host
from apimachinery.objects import Cached
from controller_runtime.cache.store import Delta

FIRST = ("Ready", "Available", "Complete")
"""The conditions that are shown before the others, which follow in the order of their names."""


class _Condition(msgspec.Struct, gc=False):
    type: str
    status: str


class _KindStatus(msgspec.Struct, gc=False):
    conditions: list[_Condition] | None = None


class _KindObject(msgspec.Struct, gc=False):
    status: _KindStatus | None = None


_decoder = msgspec.json.Decoder(_KindObject)

Conditions = frozenset[tuple[str, str]]
"""The type and the status of each condition of one object."""


@attrs.frozen
class KindCounts:
    """The numbers of objects of one collection at one moment.

    Attributes:
        name: The kind, with the selectors of the collection if it has any.
        objects: The number of objects.
        conditions: For each type of condition, the numbers of objects with status True, with False, and with another or
            no status; the most important type comes first.
    """

    name: str
    objects: int
    conditions: dict[str, tuple[int, int, int]] = attrs.field(factory=dict)

    def text(self) -> str:
        """Return the conditions as text, such as `Ready 10, not 2`.

        A type that is True for no object is left out, unless it is the first.
        """
        parts = []
        for number, (kind, (true, false, unknown)) in enumerate(self.conditions.items()):
            if true or not number:
                others = f", not {false}" * bool(false) + f", unknown {unknown}" * bool(unknown)
                parts.append(f"{kind} {true}{others}")
        return "; ".join(parts)


class KindCounter:
    """Counts the objects of one collection, with each change.

    Args:
        host: Creates the lock.
        name: The kind, with the selectors of the collection if it has any.

    Threads: `observe` from one at a time; `count` from any.
    """

    def __init__(self, host: Host, name: str) -> None:
        self._name = name
        # Guards the two fields below, because `count` runs on other threads than `observe`.
        self._lock = host.lock("kind counter")
        self._objects = 0
        self._conditions: Counter[tuple[str, str]] = Counter()

    def observe(self, delta: Delta) -> None:
        """Count one change. An object that cannot be decoded counts as one without conditions."""
        old = None if delta.old is None else _read_conditions(delta.old)
        new = None if delta.new is None else _read_conditions(delta.new)
        if old == new:
            return
        with self._lock:
            for conditions, sign in ((old, -1), (new, 1)):
                if conditions is not None:
                    self._objects += sign
                    for condition in conditions:
                        self._conditions[condition] += sign

    def count(self) -> KindCounts:
        """Return the current counts."""
        with self._lock:
            self._conditions = +self._conditions  # without those that no object has any more
            objects, conditions = self._objects, dict(self._conditions)
        types = sorted({kind for kind, _ in conditions}, key=_place)
        return KindCounts(self._name, objects, {kind: _shares(kind, objects, conditions) for kind in types})


def _read_conditions(cached: Cached) -> Conditions:
    """Return the conditions in the status of an object; none if it has no readable status."""
    try:
        status = _decoder.decode(cached.raw).status
    except UNREADABLE:
        return frozenset()
    return frozenset((each.type, each.status) for each in (status.conditions if status else None) or ())


def _place(kind: str) -> tuple[int, str]:
    return (FIRST.index(kind) if kind in FIRST else len(FIRST), kind)


def _shares(kind: str, objects: int, conditions: dict[tuple[str, str], int]) -> tuple[int, int, int]:
    true, false = conditions.get((kind, "True"), 0), conditions.get((kind, "False"), 0)
    return true, false, objects - true - false
