# SPDX-License-Identifier: Apache-2.0
"""Compares perturbed runs with calm ones: all of it is pure, and the same for every way in which runs are made."""

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
"""A perturbed run may send so many times the requests of the calm one while nothing happens, and so many more."""

ENOUGH = 0.8
"""A run of which a smaller part of the objects or of the values can be compared is not judged."""

_SHOWN = 8
"""The most values that are named in one line."""


@attrs.frozen
class Coverage:
    """The part of a world that can be compared between runs.

    Attributes:
        objects: How many objects are compared, at all rests together.
        objects_left: How many are not, because calm runs differ.
        values: How many values of the objects are compared.
        values_left: How many are not.
    """

    objects: int = 0
    objects_left: int = 0
    values: int = 0
    values_left: int = 0

    def __add__(self, other: Coverage) -> Coverage:
        return Coverage(*(one + two for one, two in zip(attrs.astuple(self), attrs.astuple(other), strict=True)))

    @property
    def is_enough(self) -> bool:
        """True if so much is compared that a run without a complaint has passed."""
        shares = ((self.objects, self.objects_left), (self.values, self.values_left))
        return all(compared >= ENOUGH * (compared + left) for compared, left in shares)

    def __str__(self) -> str:
        objects, values = self.objects + self.objects_left, self.values + self.values_left
        return f"{self.objects} of {objects} objects and {self.values} of {values} values are compared"


@attrs.frozen
class Expected:
    """The world at one rest of calm runs.

    Attributes:
        state: The objects that are compared, by their names in every run.
        step: How many steps of the story have been told.
        ignored: The values in which calm runs differ at this rest.
        relations: The relations that these values have in all calm runs.
        coverage: How much of the world is compared.
    """

    state: State
    step: int
    ignored: Values
    relations: Sequence[Relation]
    coverage: Coverage


@attrs.frozen
class Baseline:
    """The results of some calm runs of one story; made by `learn`.

    Attributes:
        run: The first of the runs, in which plans are found.
        naming: The names in every run.
        rests: The world at each of its rests.
        others: The results of stories that a program under the plan cannot tell from this one; each of them is right.
    """

    run: Run
    naming: Naming
    rests: Sequence[Expected]
    others: Sequence[Baseline] = ()

    @property
    def judged(self) -> Mapping[int, int]:
        """The numbers of the rests that are judged, by their steps: the last one of each step."""
        return {each.step: number for number, each in enumerate(self.rests)}

    @property
    def ignored(self) -> Values:
        """The values in which calm runs differ at any rest."""
        return frozenset[tuple[Name, str]]().union(*(each.ignored for each in self.rests))

    def differences(self, number: int, run: Run, state: State) -> list[Difference]:
        """Return in what a state of a run differs from that of the rest with a number."""
        return self._differences(number, self.naming.names(born(run)), state)

    def is_at(self, number: int, run: Run, state: State) -> bool:
        """Return whether `state` is that of the calm run at its rest `number`; True if the calm run had fewer rests."""
        return number >= len(self.rests) or not self.differences(number, run, state)

    def has_other_objects(self, run: Run) -> bool:
        """Return whether another calm run has an object after a step that these have not, or lacks one."""
        names = self.naming.names(born(run))
        found = [self._differences(number, names, rest.state) for _, number, rest in _judged_rests(self, run)]
        return any(not each.path for several in found for each in several)

    def shorter(self, run: Run) -> Baseline:
        """Return what is expected of a shortened story of the same program, from its run without faults."""
        names, ignored = self.naming.names(born(run)), self.ignored
        return Baseline(run, self.naming, [_expected(self.naming, names, rest, ignored) for rest in run.rests])

    def or_else(self, runs: Iterable[Run]) -> Baseline:
        """Return these results, and as `others` those of calm runs of the story in other orders.

        A run that failed, or that has not as many rests, shows nothing, and is left out.
        """
        others = []
        for run in runs:
            if not (run.failures or run.broken or run.failing) and len(run.rests) == len(self.run.rests):
                rests = [attrs.evolve(rest, step=own.step) for rest, own in zip(run.rests, self.run.rests, strict=True)]
                others.append(self.shorter(attrs.evolve(run, rests=rests)))
        return attrs.evolve(self, others=others)

    @property
    def needs_more_runs(self) -> bool:
        """True if calm runs differ in values, whose relations some more runs would show."""
        return any(path for _, path in self.ignored)

    @property
    def not_compared(self) -> str:
        """The names and the values that are not compared, in one line; empty if absent."""
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
        complaints: The faults, the most telling first.
        coverage: How much was compared.
        differs_alone: Whether each of them is a value that differs from calm runs, which it may do by chance.
    """

    complaints: Sequence[str]
    coverage: Coverage
    differs_alone: bool = False

    @property
    def is_judged(self) -> bool:
        """False if nothing was found, and too little was compared to say that the run has passed."""
        return bool(self.complaints) or self.coverage.is_enough


def learn(calm: Sequence[Run]) -> Baseline:
    """Return what calm runs of one story have in common.

    Args:
        calm: At least one run. A value in which two of them differ is not compared, so more runs mean fewer
            false alarms.
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
    """Return what a perturbed run did that a correct program would not have done.

    The world after each step of the story is compared with that of the calm run, but for a rest at which a change was
    still being missed, and for the end of a run that ended early. A run that did what one of the baseline's `others`
    did is right, too.
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
    """Yield each step after which both runs were at rest, the number of the calm run's rest, and the other's rest."""
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
    """Return the rest of another calm run that is the same: by its number, or the last one of the step."""
    step = first.rests[number].step
    if number < len(other.rests) and other.rests[number].step == step:
        is_last = [each.step for each in first.rests[number + 1 :]].count(step) == 0
        return other.rests[number] if not is_last else [each for each in other.rests if each.step == step][-1]
    return next((each for each in reversed(other.rests) if each.step == step), None)


def _compared(naming: Naming, names: Mapping[Name, Name], state: State) -> State:
    """Return the objects that can be compared, by their names in every run."""
    state = renamed(state, names)
    return {name: several for name, several in state.items() if naming.judges(name)} if naming.has_unpaired else state
