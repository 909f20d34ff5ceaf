# SPDX-License-Identifier: Apache-2.0
"""When a plan happens in another run: by what the operator did, as its writes have no fixed numbers in real time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import attrs

from controller_runtime.testing.perturbation.plans import Crash, Lag, Missed, Plan, Restart, Stale
from controller_runtime.testing.perturbation.record import Landed, Run, Sent


@attrs.frozen
class AtWrite:
    """The operator ends at its write number `occurrence` of one kind.

    Attributes:
        what: Method and collection of the write, and the object if its name is not a generated one.
        occurrence: The number among writes of that kind, from 1.
        landed: Whether the server carries it out.
    """

    what: str
    occurrence: int
    landed: bool


@attrs.frozen
class AtChange:
    """The watches of a resource stand still from one change on.

    Attributes:
        resource: The resource.
        name: The object, as text; empty for any.
        occurrence: The number of the change among those of the object, or of the resource, from 1.
        is_missed: Whether the watches end with 410 in the end, so that the change is never seen.
    """

    resource: str
    name: str
    occurrence: int
    is_missed: bool


@attrs.frozen
class AtRest:
    """The operator ends after a rest; with a resource, its successor first sees that as it was.

    Attributes:
        rest: The number of the rest, from 0.
        resource: The resource that is shown as it was; empty for none.
        changes: The number of its changes that are shown.
    """

    rest: int
    resource: str = ""
    changes: int = 0


Trigger = AtWrite | AtChange | AtRest


def trigger_of(plan: Plan, calm: Run) -> Trigger | None:
    """Return when a plan happens, told by the record of the run in which it was found; None if it cannot be told."""
    match plan:
        case Crash(write, landed) if write <= len(calm.sent):
            kinds = [kind_of(each, calm) for each in calm.sent[:write]]
            return AtWrite(kinds[-1], kinds.count(kinds[-1]), landed)
        case Restart(rest):
            return AtRest(rest)
        case Lag(resource, version):
            return AtChange(resource, "", _count(calm, resource, version), is_missed=False)
        case Missed(name, version, _):
            of_it = [each for each in calm.landed if each.name == name and each.version <= version]
            return AtChange(name.resource, str(name), len(of_it), is_missed=True)
        case Stale(resource, version, rest):
            return AtRest(rest, resource, _count(calm, resource, version))
    return None


def _count(run: Run, resource: str, version: int) -> int:
    return sum(each.name.resource == resource and each.version <= version for each in run.landed)


def kind_of(sent: Sent, run: Run) -> str:
    """Return what a write is in every run: without the name of its object if that was generated."""
    resource, _, rest = sent.target.partition(" ")
    generated = {each.name.key.rpartition("/")[2][:-1] for each in run.landed if each.name.key.endswith("*")}
    key, _, subresource = rest.partition(" ")
    name = key.rpartition("/")[2]
    if any(name.startswith(prefix) for prefix in generated if prefix):
        key = key.removesuffix(name) + "*"
    return " ".join(filter(None, (sent.method, resource, key, subresource)))


def in_turn(plans: Sequence[Plan]) -> list[Plan]:
    """Return the plans in the order in which to try them: one of each pattern in turn, so that a budget has all."""
    counts: Counter[str] = Counter()
    places: list[tuple[int, int, Plan]] = []
    for number, plan in enumerate(plans):
        places.append((counts[plan.pattern], number, plan))
        counts[plan.pattern] += 1
    return [plan for _, _, plan in sorted(places, key=lambda place: place[:2])]


def matches(trigger: AtChange, landed: Landed, seen: Counter[str]) -> bool:
    """Tell whether a change is the one that a trigger means.

    Args:
        trigger: The trigger.
        landed: The change.
        seen: How many changes each resource and each object has had so far, this one among them.
    """
    if landed.name.resource != trigger.resource or (trigger.name and str(landed.name) != trigger.name):
        return False
    return seen[trigger.name or trigger.resource] == trigger.occurrence
