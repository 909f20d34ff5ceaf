# SPDX-License-Identifier: Apache-2.0
"""Compares perturbed runs with unperturbed ones. All functions are pure, and the same for runs of every kind."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import attrs

from controller_runtime.testing.perturbation.counting import lost, made
from controller_runtime.testing.perturbation.naming import Naming
from controller_runtime.testing.perturbation.naming import learn as learn_names
from controller_runtime.testing.perturbation.record import Landed, Rest, Run
from controller_runtime.testing.perturbation.relations import Relation, broken, related
from controller_runtime.testing.perturbation.verdict import Coverage, Verdict, not_compared
from controller_runtime.testing.perturbation.world import (
    Difference,
    State,
    Values,
    counted,
    differences,
    renamed,
    varying,
)
from embedded_apiserver.perturbation import Name

_HOT = 3
_FREE = 20
"""While nothing happens, a perturbed run may send `_HOT` times an unperturbed run's requests, plus this number."""


@attrs.frozen
class Expected:
    """The state of the cluster that unperturbed runs had at one rest, which is a time when nothing changes any more.

    Attributes:
        state: The objects that are compared, by names that are the same in every run.
        step: The number of steps of the test's user so far.
        ignored: The values in which unperturbed runs differ at this rest.
        relations: The relations between these values that hold in all unperturbed runs.
        coverage: The part of the state that is compared.
    """

    state: State
    step: int
    ignored: Values
    relations: Sequence[Relation]
    coverage: Coverage

    def without(self, differed: Values) -> Coverage:
        """Return the part of the state that is compared if `differed` is not compared, either."""
        objects = self.coverage.objects + self.coverage.objects_left
        return _coverage(self.state, self.ignored | differed, objects) if differed else self.coverage


@attrs.frozen
class Baseline:
    """The common results of the unperturbed runs of one test; made by `learn`.

    Attributes:
        run: The first of the runs, to which plans refer.
        naming: Translates names with random parts to names that are the same in every run.
        rests: The expected states, one for each rest.
        others: The results of the same actions in orders that a program under the plan cannot tell apart; each of them
            is correct, too.
    """

    run: Run
    naming: Naming
    rests: Sequence[Expected]
    others: Sequence[Baseline] = ()

    @property
    def judged(self) -> Mapping[int, int]:
        """The number of the last rest (a time without changes) after each step, by step; only these are judged."""
        return {each.step: number for number, each in enumerate(self.rests)}

    @property
    def coverage(self) -> Coverage:
        """The part of the state that is compared, summed over all judged rests (times without changes)."""
        return sum((self.rests[number].coverage for number in self.judged.values()), Coverage())

    @property
    def ignored(self) -> Values:
        """The values in which unperturbed runs differ at any rest."""
        return frozenset[tuple[Name, str]]().union(*(each.ignored for each in self.rests))

    def differences(self, number: int, run: Run, state: State) -> list[Difference]:
        """Return the differences of `state` from the expected state of rest `number`, when nothing changes any more,
        without those that the run had before its fault.
        """
        return self._differences(number, self.naming.names(born(run)), state, self.differed(run))

    def differed(self, run: Run) -> Values:
        """Return the objects and values in which a perturbed run differed from these runs before its fault.

        The fault did not cause them: the program may have another result by chance, as in an unperturbed run.
        """
        if not run.before:
            return frozenset()
        names, found = self.naming.names(born(run)), set[tuple[Name, str]]()
        for number, rest in enumerate(run.before[: len(self.rests)]):
            found.update((each.name, each.path) for each in self._differences(number, names, rest.state))
            state = _compared(self.naming, names, rest.state)
            found.update(each.one for each in broken(state, self.rests[number].relations))
        return frozenset(found)

    def is_at(self, number: int, run: Run, state: State) -> bool:
        """Return whether `state` is expected at rest `number`, when nothing changes any more; True after the last
        rest.
        """
        return number >= len(self.rests) or not self.differences(number, run, state)

    def has_other_objects(self, run: Run) -> bool:
        """Return whether another unperturbed run has an object after a step that these runs lack, or lacks one."""
        names = self.naming.names(born(run))
        found = [self._differences(number, names, rest.state) for _, number, rest in _judged_rests(self, run)]
        return any(not each.path for several in found for each in several)

    def shorter(self, run: Run) -> Baseline:
        """Return the expected results of a shortened test of the same program, from its run without faults."""
        names, ignored = self.naming.names(born(run)), self.ignored
        return Baseline(run, self.naming, [_expected(self.naming, names, rest, ignored) for rest in run.rests])

    def or_else(self, runs: Iterable[Run]) -> Baseline:
        """Return these results, with `others` set to those of unperturbed runs of the same actions in other orders.

        Runs that failed, or that have another number of rests, are left out.
        """
        others = []
        for run in runs:
            if not (run.failures or run.broken or run.failing) and len(run.rests) == len(self.run.rests):
                rests = [attrs.evolve(rest, step=own.step) for rest, own in zip(run.rests, self.run.rests, strict=True)]
                others.append(self.shorter(attrs.evolve(run, rests=rests)))
        return attrs.evolve(self, others=others)

    @property
    def needs_more_runs(self) -> bool:
        """True if values differ between unperturbed runs; more runs would show the relations between these values."""
        return any(path for _, path in self.ignored)

    @property
    def not_compared(self) -> str:
        """One line with the names and values that are not compared, and how many are; empty if all are compared."""
        values = {each for number in self.judged.values() for each in self.rests[number].ignored}
        loose = [f"{resource} {f'{place}/' if place else ''}*" for resource, place in sorted(self.naming.loose)]
        line = not_compared(values, "calm runs differ", loose)
        return f"{line}; {self.coverage}" if line else ""

    def _differences(
        self, number: int, names: Mapping[Name, Name], state: State, more: Values = frozenset()
    ) -> list[Difference]:
        expected = self.rests[number]
        return differences(expected.state, _compared(self.naming, names, state), expected.ignored | more)


def learn(calm: Sequence[Run], begun: Sequence[Run] = ()) -> Baseline:
    """Return the common results of unperturbed runs of one test.

    Args:
        calm: At least one run. Values that differ between runs are not compared; more runs give fewer false alarms.
        begun: Perturbed runs. A value that differs before the fault of one of them is not compared from this rest on.
    """
    naming = learn_names([born(run) for run in calm])
    first, *others = [(run, naming.names(born(run))) for run in calm]
    rests, late = [], frozenset[tuple[Name, str]]()
    for number, rest in enumerate(first[0].rests):
        states = [_compared(naming, first[1], rest.state)]
        for run, names in others:
            if (same := _same_rest(first[0], number, run)) is not None:
                states.append(_compared(naming, names, same.state))
        ignored = frozenset[tuple[Name, str]]().union(*(varying(states[0], state) for state in states[1:]))
        for run in [each for each in begun if number < len(each.before)]:
            state = _compared(naming, naming.names(born(run)), run.before[number].state)
            late |= {(each.name, each.path) for each in differences(states[0], state, ignored)}
        ignored |= late
        rests.append(_expected(naming, first[1], rest, ignored, related(states, ignored)))
    return Baseline(first[0], naming, rests)


def judge(baseline: Baseline, run: Run) -> Verdict:
    """Return the judgement of a perturbed run: the effects that a correct program would not have had.

    The state after each step is compared with that of the unperturbed run, except for a rest at which a change was
    still hidden, and for the end of a run that ended early. A run with the effects of one of `others` is correct, too.
    """
    verdict = _judge(baseline, run)
    if verdict.complaints:
        return next((other for each in baseline.others if not (other := _judge(each, run)).complaints), verdict)
    return verdict


def _judge(baseline: Baseline, run: Run) -> Verdict:
    names = baseline.naming.names(born(run))
    missing = [each for each in run.forbidden if each not in baseline.run.forbidden]
    rights = [f"its account has no right to {each}, which no calm run asked for" for each in missing]
    own = [*run.failures, *run.broken, *rights]
    differed = baseline.differed(run)
    own += _counted(baseline, names, run, differed)
    told: dict[tuple[Name, str], str] = {}
    is_value = not own
    coverage = Coverage()
    last = max(baseline.judged, default=0)
    for step, number, rest in reversed([*_judged_rests(baseline, run)]):
        coverage += baseline.rests[number].without(differed)
        when = "" if step == last else f"at rest after step {step}, "
        for each in baseline._differences(number, names, rest.state, differed):
            told.setdefault((each.name, each.path), f"{when}{each}")
            is_value = is_value and bool(each.path)
        for relation in broken(_compared(baseline.naming, names, rest.state), baseline.rests[number].relations):
            if relation.one not in differed:
                told.setdefault(relation.one, f"{when}{relation}")
    lasting: list[str] = []
    if run.is_whole:
        lasting += [f"{name} still fails at the end" for name in run.failing if name not in baseline.run.failing]
        if run.idle > _HOT * baseline.run.idle + _FREE:
            calm = baseline.run.idle
            lasting.append(f"{run.idle} requests were sent while nothing happened, and {calm} in a calm run")
    return Verdict([*own, *told.values(), *lasting], coverage, bool(told) and is_value and not lasting, differed)


def born(run: Run) -> dict[Name, frozenset[tuple[str, str]]]:
    """Return the objects that were created in a run, each with its owners and labels."""
    return {each.name: each.kin for each in reversed(run.landed) if each.creates}


def _counted(baseline: Baseline, names: Mapping[Name, Name], run: Run, differed: Values) -> list[str]:
    naming = baseline.naming
    ignored = {each for number in baseline.judged.values() for each in baseline.rests[number].ignored} | differed
    calm = _of_every_run(baseline.run, naming.names(born(baseline.run)))
    here = _of_every_run(run, names)
    lasting = baseline.rests[-1].state if baseline.rests else {}
    before = min(len(run.before), len(baseline.run.rests))
    early = _miscounted(_until(baseline.run.rests[:before], calm), _until(run.before[:before], here), lasting)
    return [
        text
        for name, text in _miscounted(calm, here, lasting)
        if naming.judges(name) and (name, "") not in ignored and name not in dict(early)
    ]


def _miscounted(calm: Sequence[Landed], here: Sequence[Landed], lasting: Collection[Name]) -> list[tuple[Name, str]]:
    return [*lost(calm, here, lasting), *made(calm, here)]


def _until(rests: Sequence[Rest], landed: Sequence[Landed]) -> list[Landed]:
    """Return the changes until the last of `rests`."""
    return [each for each in landed if rests and each.version <= rests[-1].reached]


def _of_every_run(run: Run, names: Mapping[Name, Name]) -> list[Landed]:
    return [attrs.evolve(each, name=names[each.name]) if each.name in names else each for each in run.landed]


def _judged_rests(baseline: Baseline, run: Run) -> Iterator[tuple[int, int, Rest]]:
    """Yield each step after which both runs were at rest, the number of the first one's rest, and the other's rest."""
    last = {each.step: number for number, each in enumerate(run.rests)}
    for step, number in baseline.judged.items():
        if step not in last or run.rests[last[step]].is_withheld:
            continue
        if not run.is_whole and step == max(last) and last[step] < number:
            continue  # the run ended before the last rest of this step
        yield step, number, run.rests[last[step]]


def _expected(
    naming: Naming, names: Mapping[Name, Name], rest: Rest, ignored: Values, relations: Sequence[Relation] = ()
) -> Expected:
    state = _compared(naming, names, rest.state)
    objects = sum(len(several) for several in rest.state.values())
    return Expected(state, rest.step, ignored, relations, _coverage(state, ignored, objects))


def _coverage(state: State, ignored: Values, objects: int) -> Coverage:
    """Return the part of a state that is compared, of `objects` in all."""
    values, left = counted(state, ignored)
    compared = sum(len(several) for name, several in state.items() if (name, "") not in ignored)
    return Coverage(compared, objects - compared, values - left, left)


def _same_rest(first: Run, number: int, other: Run) -> Rest | None:
    """Return the rest of another unperturbed run that is the same: by its number, or the last one of the step."""
    step = first.rests[number].step
    if number < len(other.rests) and other.rests[number].step == step:
        is_last = [each.step for each in first.rests[number + 1 :]].count(step) == 0
        return other.rests[number] if not is_last else [each for each in other.rests if each.step == step][-1]
    return next((each for each in reversed(other.rests) if each.step == step), None)


def _compared(naming: Naming, names: Mapping[Name, Name], state: State) -> State:
    """Return the objects that can be compared, by their names in every run."""
    state = renamed(state, names)
    return {name: several for name, several in state.items() if naming.judges(name)} if naming.has_unpaired else state
