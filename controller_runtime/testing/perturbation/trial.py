# SPDX-License-Identifier: Apache-2.0
"""Tries one program and one story in this process: calm, calm with another seed, and once under each plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import attrs

from apimachinery.host import Host
from controller_runtime.manager.manager import Setup
from controller_runtime.testing.cluster import EmbeddedCluster
from controller_runtime.testing.perturbation import ambient
from controller_runtime.testing.perturbation.judging import complaints
from controller_runtime.testing.perturbation.plans import PATTERNS, Plan, plan
from controller_runtime.testing.perturbation.record import Run
from controller_runtime.testing.perturbation.retelling import StoryLeft
from controller_runtime.testing.perturbation.session import Session
from controller_runtime.testing.perturbation.world import varying
from controller_runtime.testing.simulation import Hang, Simulation
from embedded_apiserver import APIServer
from embedded_apiserver.perturbation import Name

Story = Callable[[EmbeddedCluster, Simulation], None]
"""Acts as the users of a cluster whose manager runs. Its asserts are judged too."""

Beside = Callable[[Host, APIServer], AbstractContextManager[Any]]
"""Parts of the cluster that run on the server's host beside the manager and outlive it; entered before it starts."""


class CalmRunFailed(AssertionError):
    """The story fails, or cannot be perturbed, before anything is perturbed."""


@attrs.frozen
class Finding:
    """A plan under which the program went wrong.

    Attributes:
        plan: The plan.
        complaints: The faults, the most telling first.
    """

    plan: Plan
    complaints: Sequence[str]


@attrs.frozen
class Outcome:
    """The results of one program.

    Attributes:
        findings: The plans under which it went wrong.
        possible: How many plans there are.
        planned: How many of them are left without those that show the same as others.
        run: How many were run.
        void: How many of these could not happen.
    """

    findings: Sequence[Finding]
    possible: int
    planned: int
    run: int
    void: int


def perturb(
    setup: Setup,
    story: Story,
    *,
    patterns: Sequence[str] = PATTERNS,
    beside: Beside | None = None,
    plans: Sequence[Plan] | None = None,
    until_found: bool = False,
    **options: Any,
) -> Outcome:
    """Run a story calm, and then once under each plan.

    Args:
        setup: Sets the manager up, as for `EmbeddedCluster.run`.
        story: Acts as the users once it runs.
        patterns: The patterns to plan.
        beside: Other parts of the cluster.
        plans: The plans to run; None for all of `patterns`.
        until_found: Return after the first finding.
        **options: Those of `EmbeddedCluster`.

    Raises:
        CalmRunFailed: The story fails without a perturbation, or it cannot be perturbed.
    """
    trial = _Trial(setup, story, beside or (lambda host, server: nullcontext()), options)
    calm, ignored = trial.learn()
    planned = plan(calm, patterns)
    chosen = planned.plans if plans is None else plans
    findings: list[Finding] = []
    run = void = 0
    for each in chosen:
        run += 1
        session = Session(calm=calm, plan=each, ignored=ignored)
        found = trial.tell(session)
        if not session.fired:
            void += 1
        elif found:
            findings.append(Finding(each, found))
            if until_found:
                break
    return Outcome(findings, planned.possible, len(planned.plans), run, void)


@attrs.frozen
class _Trial:
    setup: Setup
    story: Story
    beside: Beside
    options: dict[str, Any]

    def learn(self) -> tuple[Run, frozenset[tuple[Name, str]]]:
        """Return the record of a calm run, and what differs in a second one by itself."""
        calm, again = Session(), Session(seed=1)
        for session in (calm, again):
            if found := self.tell(session):
                raise CalmRunFailed(f"without a perturbation, {found[0]}")
            if session.run.failing:
                raise CalmRunFailed(f"without a perturbation, {session.run.failing[0]}")
            if session.refusal:
                raise CalmRunFailed(f"the story cannot be perturbed: {session.refusal}")
        return calm.run, varying(calm.run.rests[-1], again.run.rests[-1])

    def tell(self, session: Session) -> list[str]:
        """Run the story once; return what went wrong."""
        ambient.session = session
        try:
            with Simulation(session.seed) as simulation, self._cluster(simulation) as cluster:
                cluster.run(self.setup)
                failed = self._tell_in(cluster, simulation, session)
                session.finish()
        except Hang as hang:
            return [f"it never comes to rest: {str(hang).partition(chr(10))[0]}"]
        finally:
            ambient.session = None
        if session.calm is None or session.plan is None:
            return failed + session.run.broken
        if session.is_void or not session.fired:
            return []
        return failed + complaints(session.calm, session.run, session.ignored)

    @contextmanager
    def _cluster(self, simulation: Simulation) -> Iterator[EmbeddedCluster]:
        host = simulation.host("cluster")
        with (
            EmbeddedCluster(host, **self.options) as cluster,
            self.beside(simulation.server_host(host), cluster.server),
        ):
            yield cluster

    def _tell_in(self, cluster: EmbeddedCluster, simulation: Simulation, session: Session) -> list[str]:
        try:
            self.story(cluster, simulation)
        except StoryLeft:
            session.leave_story()
        except AssertionError as failed:
            return [f"the story's own check fails: {failed}"]
        return []
