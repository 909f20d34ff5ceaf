# SPDX-License-Identifier: Apache-2.0
"""Finds the point of another run at which a plan happens: by kinds of writes, because writes have no fixed numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import attrs

from controller_runtime.testing.perturbation.plans import Crash, Lag, Missed, OutsideFault, Plan, Restart, Stale
from controller_runtime.testing.perturbation.record import Run, Sent
from embedded_apiserver.perturbation import AtChange, AtRest, AtWrite, Trigger, to_fields, write_of


@attrs.frozen
class AtCall:
    """The point at which a call to an outside service gets a fault.

    Attributes:
        what: The kind of the call, as returned by `kind_of`.
        occurrence: The number among calls of that kind, from 1.
        fault: The fault, a value of `Fault`.
    """

    what: str
    occurrence: int
    fault: str


Point = Trigger | AtCall
"""The point of a run at which the fault of a plan happens."""


def fields_of(point: Point) -> dict[str, dict[str, Any]]:
    """Return the point at which a fault happens as the fields of the file that replays it."""
    return {"outside": attrs.asdict(point)} if isinstance(point, AtCall) else to_fields(point)


def trigger_of(plan: Plan, calm: Run) -> Point | None:
    """Return the point at which a planned fault happens, by the unperturbed run `calm`; None if `calm` lacks it."""
    match plan:
        case Crash(write, landed) if write <= len(calm.sent):
            kinds = [kind_of(each, calm) for each in calm.sent[:write]]
            return AtWrite(kinds[-1], kinds.count(kinds[-1]), landed)
        case OutsideFault(call, fault) if call <= len(calm.sent):
            kinds = [kind_of(each, calm) for each in calm.sent[:call]]
            return AtCall(kinds[-1], kinds.count(kinds[-1]), fault)
        case Restart(rest):
            return AtRest(rest, "", 0, *_last_before(calm, rest))
        case Lag(resource, version):
            return AtChange(resource, "", _count(calm, resource, version), is_missed=False)
        case Missed(name, version, by_story):
            of_it = [each for each in calm.landed if each.name == name and each.version <= version]
            return AtChange(name.resource, str(name), len(of_it), is_missed=True, is_far=by_story)
        case Stale(resource, version, rest):
            return AtRest(rest, resource, _count(calm, resource, version), *_last_before(calm, rest))
    return None


def _count(run: Run, resource: str, version: int) -> int:
    return sum(each.name.resource == resource and each.version <= version for each in run.landed)


def _last_before(run: Run, rest: int) -> tuple[str, int]:
    """Return the object whose change was the last one before a rest, and the number of that change."""
    reached = run.rests[rest].reached if rest < len(run.rests) else 0
    before = [each for each in run.landed if each.version <= reached]
    return (str(before[-1].name), sum(each.name == before[-1].name for each in before)) if before else ("", 0)


def kind_of(sent: Sent, run: Run) -> str:
    """Return a text for a write or a call that is the same in every run, without generated names."""
    generated = {each.name.key.rpartition("/")[2][:-1] for each in run.landed if each.name.key.endswith("*")}
    return write_of(sent.method, sent.target, generated)


def in_turn(plans: Sequence[Plan]) -> list[Plan]:
    """Return the planned faults in the order to try them: patterns alternate, for a small budget."""
    counts: Counter[str] = Counter()
    places: list[tuple[int, int, Plan]] = []
    for number, plan in enumerate(plans):
        places.append((counts[plan.pattern], number, plan))
        counts[plan.pattern] += 1
    return [plan for _, _, plan in sorted(places, key=lambda place: place[:2])]
