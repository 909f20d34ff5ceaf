# SPDX-License-Identifier: Apache-2.0
"""The unperturbed runs: the operator's normal behavior, its pauses, and its random differences."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress

import attrs

from apimachinery.errors import UsageError
from apimachinery.host import Host
from controller_runtime.testing.perturbation.calm_runs import CalmRuns
from controller_runtime.testing.perturbation.explaining import happened
from controller_runtime.testing.perturbation.judging import Baseline
from controller_runtime.testing.perturbation.judging import learn as learn_from
from controller_runtime.testing.perturbation.others.account import refused
from controller_runtime.testing.perturbation.others.sequences import calm_story, declared, told
from controller_runtime.testing.perturbation.others.settings import Settings
from controller_runtime.testing.perturbation.others.trial import Trial
from controller_runtime.testing.perturbation.plans import Plan
from controller_runtime.testing.perturbation.record import MANAGER, Run
from controller_runtime.testing.perturbation.sequence_plan import StateSequence
from controller_runtime.testing.perturbation.sequence_story import Primary
from embedded_apiserver.perturbation import Name

_RUNS = 4
"""The most unperturbed runs."""
_LINES = 10
"""The lines of the operator's output that are shown with an error."""


@attrs.frozen
class Declared:
    """An object that the story, the file of the user's actions, declares, and for which sequences of states are tried.

    Attributes:
        primary: The object.
        runs: Unperturbed runs in which only the last state of the object is declared.
    """

    primary: Primary
    runs: CalmRuns


@attrs.frozen
class Calm:
    """The results of the unperturbed (calm) runs.

    Attributes:
        runs: The runs.
        settings: The settings for perturbed runs.
        objects: The objects of the story for which sequences of states are tried, by name.
    """

    runs: CalmRuns
    settings: Settings
    objects: Mapping[Name, Declared] = attrs.field(factory=dict)

    @property
    def baseline(self) -> Baseline:
        """The results that the kept unperturbed runs have in common."""
        return self.runs.baseline

    def of(self, plan: StateSequence) -> Declared:
        """Return the object whose states a sequence declares.

        Raises:
            UsageError: The story, which is the file of the user's actions, declares no such object.
        """
        found = self.objects.get(plan.name) if plan.name is not None else None
        if found is None:
            raise UsageError(f"{plan}: the story declares no such object of a custom kind")
        return found

    def told(self, plan: Plan) -> str:
        """Return one line of text about the fault of a planned run."""
        return (
            told(self.of(plan).primary, plan)
            if isinstance(plan, StateSequence)
            else happened(plan, self.runs.baseline.run)
        )


def learn(host: Host, settings: Settings, say: Callable[[str], None], *, declares: bool = False) -> Calm:
    """Make two to four runs without a fault: until two agree, or until longer rests do not make them more alike.

    Runs before the last two are dropped whenever longer rests have made the runs more alike.

    Args:
        host: The host of the real machine.
        settings: The settings of the runs.
        say: Called with each line of the report.
        declares: True to make also the runs by which sequences of states are judged.

    Returns:
        The results, with `quiet` of the settings adapted to the pauses of the operator, and to how runs differ.

    Raises:
        UsageError: The operator cannot be run, exits by itself, changes nothing, or never comes to rest; the server
            refuses an action; a property or an outside service fails.
    """
    began = host.monotonic()
    survey = Trial(host, settings, is_survey=True)
    runs = [_checked(survey, "")]
    if survey.lull > 2 * settings.quiet:  # three times the new length is longer than that
        settings = attrs.evolve(settings, quiet=math.ceil(5 * survey.lull) / 10)
        say(f"calm: the operator paused for {survey.lull:.1f} s before a change, so --quiet is {settings.quiet:g} now")
    runs.append(_checked(Trial(host, settings), "in a second calm run "))

    def longer(quiet: float) -> Run:
        return _checked(Trial(host, attrs.evolve(settings, quiet=quiet)), "in a further calm run ")

    runs, quiet, count = agreeing(runs, settings.quiet, longer, say)
    settings = attrs.evolve(settings, quiet=quiet)
    made = CalmRuns(runs[::-1], lambda _: _again(Trial(host, settings)))
    baseline = made.baseline
    baseline.run.forbidden = sorted({right for run in runs for right in run.forbidden})
    if baseline.run.forbidden:
        say(f"calm: {refused(baseline.run.forbidden)}")
    say(f"calm: {baseline.not_compared or baseline.coverage}")
    changes = sum(each.writer == MANAGER for each in baseline.run.landed)
    took = host.monotonic() - began
    say(f"calm: {changes} changes by {len(baseline.run.sent)} writes of the operator; {count} runs, {took:.0f} s")
    found = declared(survey.kinds, settings.story) if declares else []
    return Calm(made, settings, {each.target: _declared(host, settings, each, say) for each in found})


def agreeing(
    runs: list[Run], quiet: float, make: Callable[[float], Run], say: Callable[[str], None]
) -> tuple[list[Run], float, int]:
    """Make further unperturbed runs with longer rests until the last two agree, at most four runs in all.

    Args:
        runs: The first two runs.
        quiet: Seconds without a change that were a rest in them.
        make: Makes a run with another number of seconds.
        say: Called with a line of the report whenever longer rests have made the runs more alike.

    Returns:
        The runs to be compared with, the seconds for later runs, and the number of all runs.
    """
    count = len(runs)
    while (differing := unlike_parts(runs[-2], runs[-1])) and count < _RUNS:
        runs, count = [*runs, make(2 * quiet)], count + 1
        if unlike_parts(runs[-2], runs[-1]) >= differing:
            break  # they differ by themselves
        quiet, runs = 2 * quiet, runs[-2:]
        say(f"calm: runs differed, and less so with longer rests: --quiet is {quiet:g} now")
    return runs, quiet, count


def _declared(host: Host, settings: Settings, primary: Primary, say: Callable[[str], None]) -> Declared:
    """Make two unperturbed runs in which the last state of an object is declared alone."""
    alone = attrs.evolve(settings, story=calm_story(settings.story, primary))
    where = f"in a calm run with the last state of {primary.target} alone "
    runs = [_checked(Trial(host, alone), where) for _ in range(2)]
    say(f"calm: 2 runs with the last state of {primary.target} alone, for sequences of its states")
    return Declared(primary, CalmRuns(runs, lambda _: _again(Trial(host, alone))))


def _again(trial: Trial) -> Run | None:
    """Make one more unperturbed run and return its record; None if it fails, which may be by chance."""
    with suppress(UsageError):
        return _checked(trial, "")
    return None


def unlike_parts(first: Run, second: Run) -> int:
    """Return the number of objects and values in which two runs differ at any rest."""
    found = [each.coverage for each in learn_from([first, second]).rests]
    return sum(each.objects_left + each.values_left for each in found) + abs(len(first.rests) - len(second.rests))


def _checked(trial: Trial, where: str) -> Run:
    """Make an unperturbed run and return its record.

    Raises:
        UsageError: The operator did not do its work undisturbed.
    """
    run = trial.make()
    rights = f"; {refused(run.forbidden)}" if run.forbidden else ""
    if wrong := [*run.failures, *run.broken]:
        raise UsageError(f"{where}{wrong[0]}{rights}{printed(trial.log)}")
    if not any(each.writer == MANAGER for each in run.landed):
        if rights:
            raise UsageError(f"the operator changed nothing in a calm run{rights}{printed(trial.log)}")
        raise UsageError(
            "the operator changed nothing in a calm run: does it use the kubeconfig in KUBECONFIG, or in place of "
            f"{{kubeconfig}} in its arguments?{printed(trial.log)}"
        )
    return run


def printed(log: str) -> str:
    """Return the last lines of an operator's output, as a part of a message."""
    lines = [f"\n  {line}" for line in log.splitlines()[-_LINES:] if not line.startswith("# start ")]
    return f"; it printed:{''.join(lines)}" if lines else "; it printed nothing"
