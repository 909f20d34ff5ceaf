# SPDX-License-Identifier: Apache-2.0
"""Tries one program and one test function in this process: unperturbed, with other seeds, and once with each fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import attrs

from apimachinery.host import Host
from controller_runtime.testing.cluster import EmbeddedCluster
from controller_runtime.testing.panics import first_of
from controller_runtime.testing.perturbation import ambient
from controller_runtime.testing.perturbation.calm_runs import CalmRuns
from controller_runtime.testing.perturbation.judging import judge
from controller_runtime.testing.perturbation.planning import plan
from controller_runtime.testing.perturbation.plans import PATTERNS, Plan
from controller_runtime.testing.perturbation.record import Run
from controller_runtime.testing.perturbation.resting import DWELL
from controller_runtime.testing.perturbation.retelling import StoryLeft
from controller_runtime.testing.perturbation.session import Session, never_rests
from controller_runtime.testing.perturbation.smallest import Case
from controller_runtime.testing.simulation import Hang, Simulation
from embedded_apiserver import APIServer

Story = Callable[[EmbeddedCluster, Simulation], None]
"""Acts as the users of a cluster whose manager runs; called with the cluster and its simulation. Its asserts count,
too.
"""

Beside = Callable[[Host, APIServer], AbstractContextManager[Any]]
"""Makes a context manager with other parts of the cluster, given the server's host and the server. It is entered before
the manager starts, and left after the manager has ended.
"""


class CalmRunFailed(AssertionError):
    """The test fails without any fault, or cannot be perturbed."""


@attrs.frozen
class Finding:
    """A plan under which the program had wrong effects.

    Attributes:
        plan: The plan, which is one fault at one point.
        complaints: The wrong effects, the most telling first.
    """

    plan: Plan
    complaints: Sequence[str]


@attrs.frozen
class Outcome:
    """The results for one program.

    Attributes:
        findings: The plans under which it had wrong effects.
        possible: The number of possible plans.
        planned: The number of these without the ones that show the same as others.
        run: The number of plans that were run.
        void: The number of these whose fault could not happen, at least not completely.
        unjudged: The number of these that were not judged because too little could be compared.
        not_compared: One line about the values that were not compared; empty if all were.
    """

    findings: Sequence[Finding]
    possible: int
    planned: int
    run: int
    void: int
    unjudged: int = 0
    not_compared: str = ""


def perturb(
    setup: Callable[..., None],
    story: Story,
    *,
    patterns: Sequence[str] = PATTERNS,
    beside: Beside | None = None,
    outside: Callable[[], Any] | None = None,
    plans: Sequence[Plan] | None = None,
    until_found: bool = False,
    **options: Any,
) -> Outcome:
    """Run a test function without a fault, and then once for each plan, which is one fault at one point.

    Args:
        setup: Sets the manager up, as for `EmbeddedCluster.run`; its second argument is the outside service, if any.
        story: Acts as the users afterwards.
        patterns: The patterns of faults to try.
        beside: Makes other parts of the cluster; None for none.
        outside: Makes the fake of an outside service for each run; None for none.
        plans: The plans to run; None for all of `patterns`.
        until_found: True to return after the first finding.
        **options: The options of `EmbeddedCluster`.

    Raises:
        CalmRunFailed: The test fails without a fault, or it cannot be perturbed.
    """
    trial = _Trial(setup, story, beside or (lambda host, server: nullcontext()), outside, options)
    calm = trial.learn()
    whole = calm.baseline.run
    planned = plan(whole, patterns)
    chosen = planned.plans if plans is None else plans
    findings: list[Finding] = []
    run = void = unjudged = 0
    for each in chosen:
        run += 1
        case = Case(calm.baseline, each).or_else(whole, trial.passes)
        session = case.session(whole)
        trial.tell(session)
        if not session.fired and not session.run.failures:
            void += 1
            continue
        verdict = judge(case.calm, session.run)
        if calm.doubts(verdict):
            verdict = judge(case.expecting(calm.complete()).calm, session.run)
        unjudged += not verdict.is_judged
        if verdict.complaints:
            findings.append(Finding(each, verdict.complaints))
            if until_found:
                break
    return Outcome(findings, planned.possible, len(planned.plans), run, void, unjudged, calm.baseline.not_compared)


@attrs.frozen
class _Trial:
    setup: Callable[..., None]
    story: Story
    beside: Beside
    outside: Callable[[], Any] | None
    options: dict[str, Any]

    def learn(self) -> CalmRuns:
        """Make three unperturbed runs, one with longer rests if the story allows that, and more if they differ.

        Raises:
            CalmRunFailed: The story fails, or it cannot be perturbed.
        """
        calm, again, third = Session(), Session(seed=1), Session(seed=2, dwell=DWELL)
        for session in (calm, again):
            self.tell(session)
            if found := [*session.run.failures, *session.run.broken, *session.run.failing]:
                raise CalmRunFailed(f"without a perturbation, {found[0]}")
            if session.refusal:
                raise CalmRunFailed(f"the story cannot be perturbed: {session.refusal}")
        self.tell(third)
        if third.run.failures or third.run.broken or third.run.failing:
            third = Session(seed=2)
            self.tell(third)
        runs = CalmRuns([each.run for each in (calm, again, third) if not each.run.failures], self._calm_again)
        if runs.baseline.needs_more_runs:
            runs.complete()
        return runs

    def _calm_again(self, seed: int) -> Run | None:
        session = Session(seed=seed)
        self.tell(session)
        return session.run if not session.run.failures else None

    def passes(self, session: Session) -> bool:
        """Run the story once, and return whether nothing went wrong."""
        self.tell(session)
        return not session.run.failures

    def tell(self, session: Session) -> None:
        """Run the story once; its record says what went wrong."""
        ambient.session = session
        try:
            with Simulation(session.seed) as simulation, self._cluster(simulation) as cluster:
                given = () if self.outside is None else (cluster.outside(self.outside()),)
                cluster.run(lambda manager: self.setup(manager, *given))
                self._tell_in(cluster, simulation, session)
                session.finish()
                if session.plan is not None:
                    cluster.raise_panics()
        except Hang as hang:
            session.run.failures.append(never_rests(hang))
        except AssertionError as panic:
            if session.plan is None:
                raise
            session.run.failures.append(first_of(panic))
        finally:
            ambient.session = None

    @contextmanager
    def _cluster(self, simulation: Simulation) -> Iterator[EmbeddedCluster]:
        host = simulation.host("cluster")
        with (
            EmbeddedCluster(host, **self.options) as cluster,
            self.beside(simulation.server_host(host), cluster.server),
        ):
            yield cluster

    def _tell_in(self, cluster: EmbeddedCluster, simulation: Simulation, session: Session) -> None:
        try:
            self.story(cluster, simulation)
        except StoryLeft:
            session.leave_story()
        except AssertionError as failed:
            session.run.failures.append(f"the story's own check fails: {failed}")
        except Hang:
            raise
        except Exception as failed:  # noqa: BLE001  the story's act ends here: in a perturbed run it is a finding
            session.fail(f"the story cannot go on: {type(failed).__name__}: {failed}", is_check=False)
