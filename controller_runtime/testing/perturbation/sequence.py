# SPDX-License-Identifier: Apache-2.0
"""The pattern `sequence`: an object is declared in one state after another, and the end depends on the last one only.

A story declares one state of an object, or a few. A user of the same program will declare others: first one, then a
neighbour of it, then the first again. The world at rest must be what it would be if the last state had been the
only one, whatever was declared before. A program that leaves something of an earlier state behind is not
level-triggered: it adds and never removes, it writes once and never looks again, or it keeps what it should look up.

**Oracle.** After each declared state the world at rest is compared with that of a calm run on a fresh cluster that
declares this state alone; after a deletion, with one that declares nothing. Uids, versions and times are left out, and
so is what two calm runs differ in. No controller may have errors at rest, nothing may go on changing, and no more
requests may be sent than in the calm run. Some objects of earlier
states may stay, kept on purpose: persistent volume claims, and Jobs that have finished, with their pods.

**States.** They are drawn by hypothesis (`sequence_draw.py`), within the kind's schema on the embedded server. Each is
declared by server-side apply, so that only what the story declares changes; one that the server refuses is passed
over. A state that a program cannot carry out even alone, though the server accepts it, is a finding of its own: the
schema should refuse it.

Everything is in virtual time and follows from the seed, so the same program gives the same finding. Status that another
program would write, such as a kubelet's, is not there: a story's writes of such are told once, before the first state.
A program that keeps a history on purpose, such as one object for each revision, is not for this pattern.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import attrs
from msgspec import json

from controller_runtime.api.differ import merge_patch
from controller_runtime.testing.perturbation.sequence_plan import StateSequence
from controller_runtime.testing.perturbation.sequence_run import Ended, Rest, Stage
from controller_runtime.testing.perturbation.sequence_story import Content, Primary, merged
from controller_runtime.testing.perturbation.world import differences
from embedded_apiserver.perturbation import Name

_HOT = 3
_FREE = 20
# A run may send so many times the requests of the calm one while nothing happens, and so many more.
_FINISHED: Mapping[str, Collection[str]] = {"jobs.batch": ("Complete", "Failed"), "pods": ("Succeeded", "Failed")}

Walk = Sequence[Content | None]
"""Declared states, one after another; None for a deletion."""


@attrs.frozen
class Finding:
    """A sequence at whose end the world is not as it should be.

    Attributes:
        plan: The sequence.
        complaints: The states, then the faults.
    """

    plan: StateSequence
    complaints: Sequence[str]


class Judge:
    """Runs sequences of one object and compares their ends with calm runs; remembers both.

    Args:
        stage: The program.
        primary: The object.
        ignored: The values that differ between calm runs.
        may_run: Returns False once no more runs should be begun; a sequence that would need one is not judged.

    Attributes:
        runs: How many runs were made.
        judged: How many sequences were judged.
        left: How many could not be, because no more runs might be begun.
    """

    def __init__(
        self,
        stage: Stage,
        primary: Primary,
        ignored: frozenset[tuple[Name, str]] = frozenset(),
        may_run: Callable[[], bool] = lambda: True,
    ) -> None:
        self.runs = self.judged = self.left = 0
        self._stage = stage
        self._primary = primary
        self._ignored = ignored
        self._may_run = may_run
        self._ended: dict[bytes, Ended] = {}
        self._failing: list[Content] = []

    def wrong_alone(self, state: Content | None) -> list[str]:
        """Return what is wrong after one state alone on a fresh cluster; empty if the server refuses it."""
        ended = self._run([state])
        if ended is None:
            return []
        return [*([ended.problem] if ended.problem else []), *[each for rest in ended.rests for each in rest.problems]]

    def never_rests(self, state: Content) -> bool:
        """Return whether objects never cease to change even if `state` alone is applied, as with a schedule."""
        ended = self._run([state])
        return ended is not None and any(rest.is_restless for rest in ended.rests)

    def states_wrong_alone(self) -> list[Content]:
        """Return the states that calm runs so far have found to be wrong alone."""
        return list(self._failing)

    def wrong(self, walk: Walk) -> tuple[Walk, list[str]]:
        """Return the shortest beginning of a sequence that ends in a fault, with its faults; empty if there is none.

        States that the server refuses are left out. A state that is faulty by itself is not looked at.
        """
        is_known = json.encode(walk) in self._ended
        ended = self._run(walk)
        if ended is None:
            self.left += 1
            return (), []
        self.judged += not is_known
        if not ended.rests and ended.problem:
            self._note_failing(walk[0])
        elif ended.rests and ended.rests[0].problems:
            self._note_failing(walk[ended.rests[0].declared])
        for count, rest in enumerate(ended.rests, 1):
            done = [walk[each.declared] for each in ended.rests[:count]]
            if len(done) > 1 and (found := self._compare(done[-1], rest, ended.rests[: count - 1], done)):
                return done, found
        if ended.problem:
            taken = walk[: ended.rests[-1].declared + 2] if ended.rests else walk[:1]
            if len(taken) > 1 and not self.wrong_alone(taken[-1]):
                return taken, [ended.problem]
        return (), []

    def _compare(self, state: Content | None, rest: Rest, earlier: Sequence[Rest], walk: Walk) -> list[str]:
        calm = self._run([state] if state is not None else [])
        if calm is None:
            return []
        if calm.problem or any(each.problems for each in calm.rests):
            self._note_failing(state)
            return []
        if not calm.rests and state is not None:
            return []  # refused on a fresh cluster
        last = calm.rests[-1]
        # Objects that an earlier deletion left behind were judged then. They may be in the way of others by their name.
        left = {name for each, of in zip(earlier, walk, strict=False) if of is None for name in each.state}
        found = list(rest.problems)
        found += [
            str(each)
            for each in differences(last.state, rest.state, self._ignored)
            if each.name not in left
            and not (each.name not in last.state and may_stay(each.name, rest.state[each.name]))
        ]
        if rest.requests > _HOT * last.requests + _FREE:
            found.append(
                f"{rest.requests} requests were sent while nothing happened, and {last.requests} in a calm run"
            )
        return found

    def _note_failing(self, state: Content | None) -> None:
        if state is not None and state not in self._failing:
            self._failing.append(state)

    def _run(self, walk: Walk) -> Ended | None:
        key = json.encode(walk)
        if key not in self._ended:
            if not self._may_run():
                return None
            self.runs += 1
            self._ended[key] = self._stage.run(self._primary, walk)
        return self._ended[key]


def may_stay(name: Name, found: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether objects of an earlier state may stay: claims, because of their data, and finished work."""
    if name.resource == "persistentvolumeclaims":
        return True
    return name.resource in _FINISHED and all(_is_finished(name.resource, each.get("status") or {}) for each in found)


def _is_finished(resource: str, status: Mapping[str, Any]) -> bool:
    reached = [each["type"] for each in status.get("conditions") or () if each["status"] == "True"]
    return any(end in _FINISHED[resource] for end in (*reached, status.get("phase")))


def plan_of(primary: Primary, walk: Walk) -> StateSequence:
    """Return the plan that declares some states."""
    patches: list[Mapping[str, Any] | None] = []
    before: Content = primary.states[0]
    for state in walk:
        patches.append(None if state is None else merge_patch(before, state))
        before = before if state is None else state
    return StateSequence(primary.target, patches)


def walk_of(primary: Primary, plan: StateSequence) -> list[Content | None]:
    """Return the states that a plan declares."""
    walk: list[Content | None] = []
    before: Content = primary.states[0]
    for patch in plan.patches:
        before = before if patch is None else merged(before, patch)
        walk.append(None if patch is None else before)
    return walk


def finding(primary: Primary, walk: Walk, wrong: Sequence[str]) -> Finding:
    """Return a finding that tells the states as patches, and what is wrong after the last."""
    plan = plan_of(primary, walk)
    told = [f"{number}. declared: {_told(patch, number)}" for number, patch in enumerate(plan.patches, 1)]
    return Finding(plan, [*told, *wrong])


def _told(patch: Mapping[str, Any] | None, number: int) -> str:
    if patch is None:
        return "nothing, the object is deleted"
    if not patch:
        return "the story's first state" if number == 1 else "the same"
    return json.encode(patch).decode()
