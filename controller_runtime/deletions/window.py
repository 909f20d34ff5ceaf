# SPDX-License-Identifier: Apache-2.0
"""Decides whether deletions are within a budget, from those that were reserved before. Pure functions.

A reservation is written to the server before the deletion is sent, so a program that ends between the two has counted
an object that still exists, and never the other way round. An object is known by its uid: its deletion, the removal of
its last finalizer and each new try are one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

import attrs

from controller_runtime.deletions.budget import DeletionBudget

MOST_UIDS = 100
"""The most objects of a budget whose uids are recorded, the last ones. Of older ones only the number is kept, so that
the record stays below 10 KB; the removal of the last finalizer of such an object counts as another deletion.
"""

BUCKETS = 60
"""The number of parts into which the time of a budget is divided. Deletions within one part are added up, and count
from the last of them on. A count of all objects is used for the share for as long as one part.
"""

_MALFORMED = (ValueError, TypeError, KeyError, AttributeError)


class Reserved(NamedTuple):
    """Deletions that were reserved at one time.

    Attributes:
        until: The end of the last request for them, in seconds since 1970.
        number: The number of deletions.
        of: The number of objects of the kind at that time; None if the budget has no share.
        uid: The uid of the object; empty for several objects, or if it is unknown.
    """

    until: float
    number: int
    of: int | None
    uid: str


class Opened(NamedTuple):
    """Further deletions that a person allowed.

    Attributes:
        at: When the permission was first seen, in seconds since 1970; it lasts for the budget's time.
        number: The number of further deletions; None for any number.
    """

    at: float
    number: int | None


@attrs.frozen
class Window:
    """The deletions that count for one budget at a time: reserved ones, and those allowed beyond it.

    Attributes:
        reserved: The reservations, in the order of time.
        opened: The permissions for further deletions.
    """

    reserved: tuple[Reserved, ...] = ()
    opened: tuple[Opened, ...] = ()

    @classmethod
    def decoded(cls, document: Any) -> Window:
        """Return the window in a decoded JSON document.

        Raises:
            ValueError: The document is not a window.
        """
        try:
            reserved = [
                Reserved(float(until), int(number), of if of is None else int(of), str(uid))
                for until, number, of, uid in document["reserved"]
            ]
            opened = [Opened(float(at), most if most is None else int(most)) for at, most in document["opened"]]
            return cls(tuple(reserved), tuple(opened))
        except _MALFORMED as error:
            raise ValueError(f"no record of deletions: {error}") from None

    def encoded(self) -> dict[str, Any]:
        """Return the window as a JSON-compatible dict."""
        return {"reserved": [[*each] for each in self.reserved], "opened": [[*each] for each in self.opened]}

    def at(self, now: float, seconds: float) -> Window:
        """Return the part that counts at `now`: requests that ended less than `seconds` ago, or have not ended yet.

        The times are from the replicas' wall clocks. A replica whose clock is ahead forgets requests earlier, by the
        difference less about 30 s, the time that a request has left after it was sent.
        """
        since = now - seconds
        reserved = tuple(each for each in self.reserved if each.until > since)
        return Window(reserved, tuple(each for each in self.opened if each.at > since))

    @property
    def used(self) -> int:
        """The number of reserved deletions."""
        return sum(each.number for each in self.reserved)

    @property
    def extra(self) -> float:
        """The number of further deletions that people allowed; infinite for any number."""
        return sum(math.inf if each.number is None else each.number for each in self.opened)


@attrs.frozen
class WantedDeletions:
    """The objects of one kind that a request would delete, as far as they are known before it is sent.

    Attributes:
        uid: The uid of the object, if it is a single known object.
        count: The number of objects otherwise; None if unknown.
    """

    uid: str = ""
    count: int | None = 0

    @property
    def number(self) -> float:
        """The number of objects; infinite if unknown."""
        return 1 if self.uid else math.inf if self.count is None else self.count


def needs_total(window: Window, budget: DeletionBudget, now: float) -> bool:
    """Return whether all objects of the kind must be counted before `decide`: the last count is missing or too old.

    Args:
        window: The deletions that count now.
        budget: The budget.
        now: The time in seconds since 1970.
    """
    if budget.share is None:
        return False
    last = window.reserved[-1] if window.reserved else None
    return last is None or last.of is None or now - last.until > budget.seconds / BUCKETS


def limit_of(window: Window, budget: DeletionBudget, total: int | None) -> int:
    """Return the most deletions that a budget allows, without further ones that people allowed.

    Args:
        window: The deletions that count now.
        budget: The budget.
        total: The number of objects of the kind now; None if they were not counted.
    """
    bounds = [] if budget.most is None else [budget.most]
    if budget.share is not None:
        of = next((each.of for each in window.reserved if each.of is not None), total)
        # Floats: 0.29 of 100 is 28.999999999999996, and 29 is meant.
        bounds.append(0 if of is None else max(1, math.floor(budget.share * of + 1e-9)))
    return min(bounds)


def decide(
    window: Window, budget: DeletionBudget, wanted: WantedDeletions, until: float, total: int | None
) -> Window | None:
    """Return the window with a reservation for `wanted`; None if the budget does not allow it.

    Args:
        window: The deletions that count now.
        budget: The budget.
        wanted: The objects that would be deleted.
        until: The deadline of the request, in seconds since 1970.
        total: The number of objects of the kind; None if they were not counted.
    """
    others = [each for each in window.reserved if not wanted.uid or each.uid != wanted.uid]
    used = sum(each.number for each in others)
    if used + wanted.number > limit_of(window, budget, total) + window.extra:
        return None
    if total is None and window.reserved:
        total = window.reserved[-1].of
    # An unlimited opening lets a request through whose number is not known, and which therefore adds nothing.
    count = 0 if math.isinf(wanted.number) else int(wanted.number)
    added = Reserved(until, count, total, wanted.uid)
    return attrs.evolve(window, reserved=condensed([*others, added], budget.seconds / BUCKETS))


def condensed(reserved: Iterable[Reserved], seconds: float) -> tuple[Reserved, ...]:
    """Return the reservations in the order of time, with older ones merged so that there are not too many.

    Args:
        reserved: The reservations.
        seconds: Reservations without a uid within this time are merged; the result has the time of the last one.
    """
    known = 0
    kept: list[Reserved] = []
    for each in sorted(reserved, key=lambda one: one.until, reverse=True):
        known += bool(each.uid)
        one = each if known <= MOST_UIDS else each._replace(uid="")
        last = kept[-1] if kept else None
        if last is None or one.uid or last.uid or last.until // seconds != one.until // seconds:
            kept.append(one)
        else:
            of = one.of if one.of is not None else last.of
            kept[-1] = Reserved(last.until, last.number + one.number, of, "")
    return (*reversed(kept),)
