# SPDX-License-Identifier: Apache-2.0
"""Compares perturbed runs with unperturbed ones. All functions are pure, and the same for runs of every kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

import attrs

from controller_runtime.testing.perturbation.counting import lost, made
from controller_runtime.testing.perturbation.naming import Naming
from controller_runtime.testing.perturbation.naming import learn as learn_names
from controller_runtime.testing.perturbation.record import Landed, Rest, Run
from controller_runtime.testing.perturbation.relations import Relation, broken, related
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

ENOUGH = 0.8
"""The smallest share of objects, and of values, that has to be compared for a run to be judged."""

_SHOWN = 8
"""The most values that are named in one line."""


@attrs.frozen
class Coverage:
    """The part of a cluster's state that can be compared between runs.

    Attributes:
        objects: The number of compared objects, at one rest or summed over the judged rests of a run.
        objects_left: The number of objects that are not compared, because unperturbed runs differ in them.
        values: The number of compared values of objects.
        values_left: The number of values that are not compared.
    """

    objects: int = 0
    objects_left: int = 0
    values: int = 0
    values_left: int = 0

    def __add__(self, other: Coverage) -> Coverage:
        return Coverage(*(one + two for one, two in zip(attrs.astuple(self), attrs.astuple(other), strict=True)))

    @property
    def is_enough(self) -> bool:
        """True if enough is compared to say that a run without a complaint has passed."""
        shares = ((self.objects, self.objects_left), (self.values, self.values_left))
        return all(compared >= ENOUGH * (compared + left) for compared, left in shares)

    def __str__(self) -> str:
        objects, values = self.objects + self.objects_left, self.values + self.values_left
        return f"{self.objects} of {objects} objects and {self.values} of {values} values are compared"


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
        """The number of the last rest after each step, by step; only these rests are judged."""
        return {each.step: number for number, each in enumerate(self.rests)}

    @property
    def ignored(self) -> Values:
        """The values in which unperturbed runs differ at any rest."""
        return frozenset[tuple[Name, str]]().union(*(each.ignored for each in self.rests))

    def differences(self, number: int, run: Run, state: State) -> list[Difference]:
        """Return the differences of `state` from the expected state of rest `number`, when nothing changes any more."""
        return self._differences(number, self.naming.names(born(run)), state)

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
        """One line with the names and values that are not compared; empty if there are none."""
        values = sorted({each for number in self.judged.values() for each in self.rests[number].ignored})
        named = [f"{resource} {f'{place}/' if place else ''}*" for resource, place in sorted(self.naming.loose)]
        named += [f"{name} {path}".rstrip() for name, path in values]
        more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
        return f"not compared, as calm runs differ: {', '.join(named[:_SHOWN])}{more}" if named else ""

    def _differences(self, number: int, names: Mapping[Name, Name], state: State) -> list[Difference]:
        expected = self.rests[number]
        return differences(expected.state, _compared(self.naming, names, state), expected.ignored)


@attrs.frozen
class Verdict:
    """The judgement of one perturbed run.

    Attributes:
        complaints: The wrong effects, the most telling first.
        coverage: The part of the state that was compared.
        differs_alone: True if each complaint is a value that differs from the unperturbed runs, which may be by chance.
    """

    complaints: Sequence[str]
    coverage: Coverage
    differs_alone: bool = False

    @property
    def is_judged(self) -> bool:
        """False if there is no complaint, but too little was compared to say that the run has passed."""
        return bool(self.complaints) or self.coverage.is_enough


def learn(calm: Sequence[Run]) -> Baseline:
    """Return the common results of unperturbed runs of one test.

    Args:
        calm: At least one run. Values that differ between runs are not compared; more runs give fewer false alarms.
    """
    naming = learn_names([born(run) for run in calm])
    first, *others = [(run, naming.names(born(run))) for run in calm]
    rests = []
    for number, rest in enumerate(first[0].rests):
        states = [_compared(naming, first[1], rest.state)]
        for run, names in others:
            if (same := _same_rest(first[0], number, run)) is not None:
                states.append(_compared(naming, names, same.state))
        ignored = frozenset[tuple[Name, str]]().union(*(varying(states[0], state) for state in states[1:]))
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
    own += _counted(baseline, names, run)
    told: dict[tuple[Name, str], str] = {}
    is_value = not own
    coverage = Coverage()
    last = max(baseline.judged, default=0)
    for step, number, rest in reversed([*_judged_rests(baseline, run)]):
        coverage += baseline.rests[number].coverage
        when = "" if step == last else f"at rest after step {step}, "
        for each in baseline._differences(number, names, rest.state):
            told.setdefault((each.name, each.path), f"{when}{each}")
            is_value = is_value and bool(each.path)
        for relation in broken(_compared(baseline.naming, names, rest.state), baseline.rests[number].relations):
            told.setdefault(relation.one, f"{when}{relation}")
    lasting: list[str] = []
    if run.is_whole:
        lasting += [f"{name} still fails at the end" for name in run.failing if name not in baseline.run.failing]
        if run.idle > _HOT * baseline.run.idle + _FREE:
            calm = baseline.run.idle
            lasting.append(f"{run.idle} requests were sent while nothing happened, and {calm} in a calm run")
    return Verdict([*own, *told.values(), *lasting], coverage, bool(told) and is_value and not lasting)


def born(run: Run) -> dict[Name, frozenset[tuple[str, str]]]:
    """Return the objects that were created in a run, each with its owners and labels."""
    return {each.name: each.kin for each in reversed(run.landed) if each.creates}


def _counted(baseline: Baseline, names: Mapping[Name, Name], run: Run) -> list[str]:
    naming = baseline.naming
    ignored = {each for number in baseline.judged.values() for each in baseline.rests[number].ignored}
    calm = _of_every_run(baseline.run, naming.names(born(baseline.run)))
    here = _of_every_run(run, names)
    lasting = baseline.rests[-1].state if baseline.rests else {}
    return [
        text
        for name, text in [*lost(calm, here, lasting), *made(calm, here)]
        if naming.judges(name) and (name, "") not in ignored
    ]


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
    values, left = counted(state, ignored)
    objects = sum(len(several) for several in rest.state.values())
    compared = sum(len(several) for name, several in state.items() if (name, "") not in ignored)
    return Expected(state, rest.step, ignored, relations, Coverage(compared, objects - compared, values - left, left))


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
