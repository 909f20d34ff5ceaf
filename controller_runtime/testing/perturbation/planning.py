# SPDX-License-Identifier: Apache-2.0
"""Chooses the plans for a test, each one fault at one point, from the record of its unperturbed run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from controller_runtime.testing.outside.courses import Fault
from controller_runtime.testing.perturbation.plans import (
    Crash,
    Lag,
    Missed,
    OutsideFault,
    Plan,
    Restart,
    Stale,
)
from controller_runtime.testing.perturbation.reads import is_read
from controller_runtime.testing.perturbation.record import MANAGER, STORY, Called, Landed, Rest, Run
from controller_runtime.testing.perturbation.sequence_plan import StateSequence
from controller_runtime.testing.perturbation.world import LEFT_OUT
from embedded_apiserver.perturbation import Name


class Planned(NamedTuple):
    """The plans for one test.

    Attributes:
        plans: The plans to run, the cheapest patterns first.
        possible: The number of all possible plans.
    """

    plans: list[Plan]
    possible: int

    @property
    def pruned(self) -> int:
        """The number of planned faults left out because another one shows the same."""
        return self.possible - len(self.plans)


_ALIKE = 2
"""The most writes or calls of one step with the same effect, such as the renewals of a lease, for which plans are made:
a third one shows what the second does.
"""


def plan(run: Run, patterns: Sequence[str]) -> Planned:
    """Return the faults with which a test is to be run again, each at one point of its unperturbed run.

    Args:
        run: The record of the test's unperturbed run.
        patterns: The patterns of faults to use, from `PATTERNS`.
    """
    possible, plans = 0, []
    makers = (("crash", _crashes), ("outside", _outside), ("missed", _missed), ("stale", _stale))
    for pattern, make in makers:
        if pattern in patterns:
            count, kept = make(run)
            possible += count
            plans += kept
    if "sequence" in patterns:
        possible += 1
        plans.append(StateSequence())  # draws sequences for as long as the budget lasts
    return Planned(plans, possible)


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
    seen = Counter[object]()
    reads = {each.number for each in run.calls if each.call.reads}
    opaque = {each.number: each for each in run.calls if _is_opaque(each)}
    for sent in run.sent:
        effects = changes.get(sent.number, [])
        if not effects and sent.number not in opaque:
            continue
        step = effects[0].step if effects else opaque[sent.number].step
        alike = (sent.method, step, _effect(effects) or sent.target)
        seen[alike] += 1
        if seen[alike] <= _ALIKE:
            kept += [] if sent.number in follows else [Crash(sent.number, landed=False)]
            kept.append(Crash(sent.number, landed=True))
    restarts: list[Plan] = [Restart(rest) for rest, each in enumerate(run.rests) if not _is_at_rest_again(run, each)]
    return 2 * (len(run.sent) - len(reads)) + len(run.rests), kept + restarts


def _outside(run: Run) -> tuple[int, list[Plan]]:
    """Return the faults of each call to an outside service.

    Of calls that change nothing neither the request nor the answer alone need be lost: both look alike. Calls that are
    alike in one step count twice, such as those of a poll.
    """
    changed: dict[int, list[Landed]] = {}
    for each in run.landed:
        if each.writer == MANAGER:
            changed.setdefault(each.number, []).append(each)
    seen = Counter[object]()
    possible, kept = 0, list[Plan]()
    for called in run.calls:
        faults = _faults(called)
        possible += len(faults)
        effects = changed.get(called.number, ())
        alike = (called.step, called.call, _effect(effects))
        seen[alike] += 1
        if seen[alike] <= _ALIKE:
            shown = [each for each in faults if effects or _is_opaque(called) or each is not Fault.REQUEST_LOST]
            kept += [OutsideFault(called.number, each.value) for each in shown]
    return possible, kept


def _faults(called: Called) -> list[Fault]:
    """Return what may happen to a call."""
    call = called.call
    faults = [Fault.REFUSED, Fault.REQUEST_LOST, Fault.ANSWER_LOST, Fault.LATE]
    return [*faults, *[Fault.TWICE] * call.may_repeat, *[Fault.PAST] * call.may_be_past]


def _is_opaque(called: Called) -> bool:
    return called.call.is_opaque and not called.call.reads


def _effect(changes: Sequence[Landed]) -> tuple[object, ...]:
    return tuple((each.name, each.fields, each.creates, each.deletes) for each in changes)


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
            leaves = each.writer == STORY and not run.is_retellable
            if each.writer != MANAGER and _is_seen(run, former) and not leaves:
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
