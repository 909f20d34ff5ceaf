# SPDX-License-Identifier: Apache-2.0
"""The pattern `sequence`: an object is declared in several states in turn, and only the last may determine the end.

A test declares one state of an object, or a few. A user of the same program will declare others: first one, then a
similar one, then the first again. Once nothing changes, the cluster must be in the state that the last declared state
alone would have led to. A program that leaves something of an earlier state behind is not level-triggered: it adds
and never removes, it writes once and never looks again, or it keeps what it should look up.

**Oracle.** After each declared state the cluster at rest is compared with that of an unperturbed run on a fresh cluster
that declares this state alone; after a deletion, with one that declares nothing. Uids, versions, times, and values in
which two unperturbed runs differ are left out. No controller may have errors at rest, nothing may go on changing, and
not many more requests may be sent than in the unperturbed run. Some objects of earlier states may stay on purpose:
persistent volume claims, and Jobs that have finished, with their pods.

**States.** They are drawn by hypothesis (`sequence_draw.py`), within the kind's schema on the embedded server. Each is
declared by server-side apply, so that only declared fields change; a state that the server refuses is skipped. A state
that a program cannot carry out even alone, though the server accepts it, is a finding as well: the schema should
refuse it.

All runs are in virtual time and follow from the seed, so the same program gives the same finding. Status that another
program would write, such as a kubelet's, is missing: the test's own writes of it are made once, before the first state.
A program that keeps a history on purpose, such as one object for each revision, is not suited to this pattern.
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
    """A sequence after which the cluster is in a wrong state.

    Attributes:
        plan: The sequence.
        complaints: The states, then the wrong effects.
    """

    plan: StateSequence
    complaints: Sequence[str]


class _TimeIsOver(Exception):
    """No more runs should begin."""


class Judge:
    """Runs sequences of states of one object and compares their ends with unperturbed runs; caches the results of all
    runs.

    Args:
        stage: The program and its cluster.
        primary: The object.
        ignored: The values that differ between unperturbed runs.
        may_run: Returns False once no more runs should begin; a sequence that would need one is not judged.

    Attributes:
        runs: The number of runs.
        judged: The number of judged sequences.
        left: The number of sequences that were not judged because no more runs should begin.
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
        """Return the complaints after one state alone on a fresh cluster; empty also if the server refuses the state,
        or if no more runs should begin.
        """
        try:
            return self._problems_alone(state)
        except _TimeIsOver:
            return []

    def never_rests(self, state: Content) -> bool:
        """Return whether objects never stop changing even if `state` alone is applied, as with a schedule; False also
        if no more runs should begin.
        """
        try:
            return any(rest.is_restless for rest in self._run([state]).rests)
        except _TimeIsOver:
            return False

    def states_wrong_alone(self) -> list[Content]:
        """Return the states for which runs so far have found complaints even alone."""
        return list(self._failing)

    def wrong(self, walk: Walk) -> tuple[Walk, list[str]]:
        """Return the shortest beginning of a sequence that ends wrong, and its complaints; both empty if there is none.

        States that the server refuses are left out. A state that is wrong even alone is not compared.
        """
        is_known = json.encode(walk) in self._ended
        try:
            found = self._wrong(walk, self._run(walk))
        except _TimeIsOver:
            self.left += 1
            return (), []
        self.judged += not is_known
        return found

    def _wrong(self, walk: Walk, ended: Ended) -> tuple[Walk, list[str]]:
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
            if len(taken) > 1 and not self._problems_alone(taken[-1]):
                return taken, [ended.problem]
        return (), []

    def _problems_alone(self, state: Content | None) -> list[str]:
        ended = self._run([state])
        return [*([ended.problem] if ended.problem else []), *[each for rest in ended.rests for each in rest.problems]]

    def _compare(self, state: Content | None, rest: Rest, earlier: Sequence[Rest], walk: Walk) -> list[str]:
        calm = self._run([state] if state is not None else [])
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

    def _run(self, walk: Walk) -> Ended:
        key = json.encode(walk)
        if key not in self._ended:
            if not self._may_run():
                raise _TimeIsOver
            self.runs += 1
            self._ended[key] = self._stage.run(self._primary, walk)
        return self._ended[key]


def may_stay(name: Name, found: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether objects of an earlier state may stay: persistent volume claims, for their data, and finished Jobs
    and pods.
    """
    if name.resource == "persistentvolumeclaims":
        return True
    return name.resource in _FINISHED and all(_is_finished(name.resource, each.get("status") or {}) for each in found)


def _is_finished(resource: str, status: Mapping[str, Any]) -> bool:
    reached = [each["type"] for each in status.get("conditions") or () if each["status"] == "True"]
    return any(end in _FINISHED[resource] for end in (*reached, status.get("phase")))


def plan_of(primary: Primary, walk: Walk) -> StateSequence:
    """Return the plan of a run in which the test declares the given states of the object, in order."""
    patches: list[Mapping[str, Any] | None] = []
    before: Content = primary.states[0]
    for state in walk:
        patches.append(None if state is None else merge_patch(before, state))
        before = before if state is None else state
    return StateSequence(primary.target, patches)


def walk_of(primary: Primary, plan: StateSequence) -> list[Content | None]:
    """Return the states of the object that a planned run declares, in order; None for each deletion."""
    walk: list[Content | None] = []
    before: Content = primary.states[0]
    for patch in plan.patches:
        before = before if patch is None else merged(before, patch)
        walk.append(None if patch is None else before)
    return walk


def finding(primary: Primary, walk: Walk, wrong: Sequence[str]) -> Finding:
    """Return a finding with the states as patches and the complaints after the last one."""
    plan = plan_of(primary, walk)
    told = [f"{number}. declared: {_told(patch, number)}" for number, patch in enumerate(plan.patches, 1)]
    return Finding(plan, [*told, *wrong])


def _told(patch: Mapping[str, Any] | None, number: int) -> str:
    if patch is None:
        return "nothing, the object is deleted"
    if not patch:
        return "the story's first state" if number == 1 else "the same"
    return json.encode(patch).decode()
