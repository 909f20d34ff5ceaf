# SPDX-License-Identifier: Apache-2.0
"""The plans: one perturbation at one point of a story, each of which a lawful Kubernetes could produce."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import attrs

from controller_runtime.testing.perturbation.reads import is_read
from controller_runtime.testing.perturbation.record import MANAGER, STORY, Landed, Rest, Run
from controller_runtime.testing.perturbation.sequence_plan import StateSequence
from controller_runtime.testing.perturbation.world import LEFT_OUT
from embedded_apiserver.perturbation import Name

PATTERNS = ("crash", "stale", "missed", "sequence")
"""The patterns that `--perturb` knows."""

LAWFUL = "lawful"


@attrs.frozen
class Crash:
    """The manager ends at one of its writes, and a new one starts.

    Attributes:
        write: The number of the write, from 1.
        landed: Whether the server carries it out; its answer is lost in either case.
    """

    write: int
    landed: bool

    pattern = "crash"
    grade = LAWFUL
    remedy = "let each reconcile start from the objects alone: a write that follows another may never be sent"

    def __str__(self) -> str:
        return f"crash {'after' if self.landed else 'before'} write {self.write}"


@attrs.frozen
class Restart:
    """The manager ends while nothing happens, and a new one starts.

    Attributes:
        rest: The number of the test's wait after which it does, from 0.
    """

    rest: int

    pattern = "crash"
    grade = LAWFUL
    remedy = "keep nothing that later reconciles need in memory alone"

    def __str__(self) -> str:
        return f"restart after wait {self.rest + 1}"


@attrs.frozen
class Lag:
    """The watches of one resource stand still from one change on, until the rest of the world is at rest.

    Attributes:
        resource: The resource.
        version: The version of the first change that is late, counted from the server's start.
    """

    resource: str
    version: int

    pattern = "stale"
    grade = LAWFUL
    remedy = "expect that a cache lacks your own last write: name what you create, and send the version that you judged"

    def __str__(self) -> str:
        return f"stale {self.resource} from version {self.version} on"


@attrs.frozen
class Stale:
    """The manager restarts while nothing happens, and first sees one resource as it was.

    Attributes:
        resource: The resource.
        version: The version that is shown, counted from the server's start.
        rest: The number of the test's wait after which it restarts, from 0.
    """

    resource: str
    version: int
    rest: int

    pattern = "stale"
    grade = LAWFUL
    remedy = "send the uid and the version that you judged with each deletion, and compare owners by uid"

    def __str__(self) -> str:
        return f"stale {self.resource} as of version {self.version}, after a restart at wait {self.rest + 1}"


@attrs.frozen
class Missed:
    """Of two changes of one object only the second is seen: the watch ends, and its resume is refused with 410.

    Attributes:
        name: The object.
        version: The version of the change that is missed, counted from the server's start.
        by_story: Whether the second change is a step of the story.
    """

    name: Name
    version: int
    by_story: bool

    pattern = "missed"
    grade = LAWFUL
    remedy = "act on what is there, not on what has changed: a state in between may never be seen"

    def __str__(self) -> str:
        return f"missed {self.name} at version {self.version}"


Plan = Crash | Restart | Lag | Stale | Missed | StateSequence

_KINDS: dict[str, type[Plan]] = {kind.__name__: kind for kind in (Crash, Restart, Lag, Stale, Missed, StateSequence)}


class Planned(NamedTuple):
    """The plans for one story.

    Attributes:
        plans: Those to run, the cheapest patterns first.
        possible: How many there are.
    """

    plans: list[Plan]
    possible: int

    @property
    def pruned(self) -> int:
        """How many are left out, because another plan shows the same."""
        return self.possible - len(self.plans)


def plan(run: Run, patterns: Sequence[str]) -> Planned:
    """Return the plans of some patterns for a story whose calm run is known."""
    possible, plans = 0, []
    for pattern, make in (("crash", _crashes), ("missed", _missed), ("stale", _stale)):
        if pattern in patterns:
            count, kept = make(run)
            possible += count
            plans += kept
    if "sequence" in patterns:
        possible += 1
        plans.append(StateSequence())  # draws sequences for as long as the budget lasts
    return Planned(plans, possible)


def to_json(plan: Plan) -> dict[str, Any]:
    """Return a plan as JSON can hold it."""
    return {"plan": type(plan).__name__, **attrs.asdict(plan)}


def from_json(value: dict[str, Any]) -> Plan:
    """Return the plan that `to_json` was given.

    Raises:
        ValueError: There is no such plan.
    """
    fields = dict(value)
    try:
        kind = _KINDS[fields.pop("plan")]
        if "name" in fields:
            fields["name"] = Name(*fields["name"])
        return kind(**fields)
    except (KeyError, TypeError) as error:
        raise ValueError(f"{json.dumps(value)} is no plan: {error}") from None


def _crashes(run: Run) -> tuple[int, list[Plan]]:
    """Return a crash before and after each write that changed something, and a restart at each rest.

    A crash before a write is left out if the change before it was the manager's too: it is a crash after that one.
    """
    changes: dict[int, list[Landed]] = {}
    follows: set[int] = set()
    former = None
    for each in run.landed:
        if each.writer == MANAGER:
            changes.setdefault(each.number, []).append(each)
            before = former is not None and former.number != each.number  # a deletion may be two changes
            if former is not None and before and former.writer == MANAGER and former.phase == each.phase:
                follows.add(each.number)
        former = each
    kept: list[Plan] = []
    seen: dict[object, int] = {}
    for sent in run.sent:
        effects = changes.get(sent.number)
        if not effects:
            continue
        alike = (sent.method, effects[0].step, tuple((e.name, e.fields, e.creates, e.deletes) for e in effects))
        seen[alike] = seen.get(alike, 0) + 1
        if seen[alike] <= 2:  # such as the renewals of a lease: the third shows what the second does
            kept += [] if sent.number in follows else [Crash(sent.number, landed=False)]
            kept.append(Crash(sent.number, landed=True))
    restarts: list[Plan] = [Restart(rest) for rest, each in enumerate(run.rests) if not _is_at_rest_again(run, each)]
    return 2 * len(run.sent) + len(run.rests), kept + restarts


def _is_at_rest_again(run: Run, rest: Rest) -> bool:
    """Return whether the end of a test is its last wait, after which nothing has happened."""
    before = run.rests[-2] if len(run.rests) > 1 else None
    return rest is run.rests[-1] and before is not None and (before.reached, before.step) == (rest.reached, rest.step)


def _missed(run: Run) -> tuple[int, list[Plan]]:
    """Return a plan for each two changes of one object of which the manager did not write the second.

    Before a step of the story, the manager's own writes do not count: without the change that is missed it would not
    have made them.
    """
    last: dict[Name, Landed] = {}
    last_of_others: dict[Name, Landed] = {}
    possible, kept = 0, list[Plan]()
    for each in _watched(run):
        former = (last_of_others if each.writer == STORY else last).get(each.name)
        if former is not None:
            possible += 1
            if each.writer != MANAGER and _is_seen(run, former):
                kept.append(Missed(former.name, former.version, each.writer == STORY))
        last[each.name] = each
        if each.writer != MANAGER:
            last_of_others[each.name] = each
    return possible, kept


def _stale(run: Run) -> tuple[int, list[Plan]]:
    """Return a plan for each change that may be late, and for each older version that a restart may show.

    Of changes that follow one another and are alike but for their objects, only the first is late, and only the state
    after all of them is shown. A wait in which nothing happened gives no restart. The latest restarts come
    first, with the newest of the old versions.
    """
    watched = list(_watched(run))
    changes = _alike([each for each in watched if _is_seen(run, each)])
    possible = len(watched)
    kept: list[Plan] = []
    before = 0
    for rest, reached in enumerate(each.reached for each in run.rests):
        early = Counter(each.name.resource for each in watched if each.version <= reached)
        possible += sum(count - 1 for resource, count in early.items() if resource in run.any_version)
        if reached > before:
            kept += [Stale(resource, version, rest) for resource, version in _older(run, changes, reached)]
        before = reached
    return possible, [*reversed(kept), *(Lag(each[0].name.resource, each[0].version) for each in changes)]


def _older(run: Run, changes: Sequence[Sequence[Landed]], reached: int) -> Iterable[tuple[str, int]]:
    """Return the resources that may be shown as they were, with each version of them before the newest."""
    for resource in sorted(run.any_version):
        shown = [each[-1].version for each in changes if each[0].name.resource == resource]
        for version in [each for each in shown if each <= reached][:-1]:
            yield resource, version


def _alike(changes: Sequence[Landed]) -> list[list[Landed]]:
    """Return the changes of each resource, those together that are alike but for their objects."""
    last: dict[str, list[Landed]] = {}
    found: list[list[Landed]] = []
    for each in changes:
        before = last.get(each.name.resource)
        if before is not None and _kind(before[-1]) == _kind(each) and each.name not in [one.name for one in before]:
            before.append(each)
        else:
            last[each.name.resource] = [each]
            found.append(last[each.name.resource])
    return found


def _kind(change: Landed) -> tuple[object, ...]:
    return change.phase, change.writer, change.fields, change.creates, change.deletes


def _is_seen(run: Run, change: Landed) -> bool:
    """Return whether a view can tell the object before a change from the object after it."""
    return change.creates or change.deletes or is_read(change.fields, run.reads.get(change.name.resource))


def _watched(run: Run) -> Iterable[Landed]:
    return (
        each
        for each in run.landed
        if each.name.resource in run.watched and each.name.resource.partition(".")[0] not in LEFT_OUT
    )
