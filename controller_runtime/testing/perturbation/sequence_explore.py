# SPDX-License-Identifier: Apache-2.0
"""Tries sequences of states for the objects of a test that its unperturbed run has recorded."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import attrs

from apimachinery.system import SystemHost
from controller_runtime.core.extras import needed_by
from controller_runtime.manager.manager import Setup
from controller_runtime.testing.cluster import EmbeddedCluster
from controller_runtime.testing.perturbation import ambient
from controller_runtime.testing.perturbation.sequence import Finding, Judge, finding, walk_of
from controller_runtime.testing.perturbation.sequence_plan import StateSequence
from controller_runtime.testing.perturbation.sequence_run import Stage
from controller_runtime.testing.perturbation.sequence_story import Primary, own_resources, primaries
from controller_runtime.testing.perturbation.session import Session
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.perturbation import Name

Story = Callable[[EmbeddedCluster, Simulation], None]
"""Acts as the user of a cluster whose manager runs; called with the cluster and its simulation."""


_HOST = SystemHost()  # a budget is in real time


@attrs.frozen
class Explored:
    """The results of the sequences of one test.

    Attributes:
        findings: The findings, at most two for each object.
        possible: The number of sequences that were to be drawn.
        run: The number of different sequences that were run.
        left: The number of sequences that were left out because the time was over.
    """

    findings: Sequence[Finding] = ()
    possible: int = 0
    run: int = 0
    left: int = 0


def explore(session: Session, seconds: float, *, sequences: int | None = None, seed: int = 0) -> Explored:
    """Try sequences of states for each object that the test declares and a controller reconciles.

    Args:
        session: The run of the test, which has ended; its plan may name the only sequence to run.
        seconds: The budget for all objects, in real seconds.
        sequences: The number of sequences to draw for each object; None for `SEQUENCES`.
        seed: The seed of the draw.

    Raises:
        UsageError: hypothesis is not installed.
    """
    cluster, ignored = session.cluster, session.baseline.ignored if session.baseline is not None else frozenset()
    if not isinstance(cluster, EmbeddedCluster) or cluster._setup is None:
        return Explored()
    stage = Stage(cluster._setup, cluster.options, lines=cluster.outside.lines, programs={**cluster.programs})
    found = primaries(cluster.server.kinds, session.run.story, own_resources(cluster._manager.controllers))
    if isinstance(session.plan, StateSequence) and session.plan.patches:
        return _again(session.plan, stage, found, ignored)
    done = Explored()
    for number, primary in enumerate(found):
        deadline = _HOST.monotonic() + seconds / (len(found) - number)
        began = _HOST.monotonic()
        each = _of_one(primary, stage, ignored, deadline, sequences, seed)
        seconds -= _HOST.monotonic() - began
        done = Explored(
            [*done.findings, *each.findings],
            done.possible + each.possible,
            done.run + each.run,
            done.left + each.left,
        )
    return done


def failing_sequences(session: Session, seconds: float) -> Iterator[Sequence[str]]:
    """Yield the complaints of each failing sequence; meanwhile `session.plan` is that sequence.

    Args:
        session: The run of the test, which has ended.
        seconds: The budget, in real seconds.
    """
    explored = explore(session, seconds)
    session.has_tried_sequences = explored.run > 0
    for found in explored.findings:
        session.plan = found.plan
        yield found.complaints


def try_sequences(
    setup: Setup,
    story: Story,
    *,
    sequences: int | None = None,
    seed: int = 0,
    plan: StateSequence | None = None,
    **options: Any,
) -> Explored:
    """Run a test function without a fault, in this process and without pytest, and try sequences of states for its
    objects.

    Args:
        setup: Sets the manager up, as for `EmbeddedCluster.run`.
        story: Acts as the user afterwards.
        sequences: The number of sequences to draw for each object; None for `SEQUENCES`.
        seed: The seed of the draw.
        plan: The only sequence to run; None to draw them.
        **options: The options of `EmbeddedCluster`.

    Raises:
        UsageError: hypothesis is not installed.
    """
    former, session = ambient.session, Session(plan=plan)
    ambient.session = session
    try:
        with Simulation(0) as simulation, EmbeddedCluster(simulation.host("cluster"), **options) as cluster:
            cluster.run(setup)
            story(cluster, simulation)
            session.finish()
            return explore(session, float("inf"), sequences=sequences, seed=seed)
    finally:
        ambient.session = former


def _of_one(
    primary: Primary,
    stage: Stage,
    ignored: frozenset[tuple[Name, str]],
    deadline: float,
    sequences: int | None,
    seed: int,
) -> Explored:
    with needed_by("--perturb=sequence"):
        from controller_runtime.testing.perturbation.sequence_draw import SEQUENCES, search
    count = SEQUENCES if sequences is None else sequences
    judge = Judge(stage, primary, ignored, lambda: _HOST.monotonic() < deadline)
    if judge.never_rests(primary.states[0]):  # then no end can be compared with another, and that is no fault
        return Explored()
    findings = list(search(primary, judge, sequences=count, chosen=seed))
    return Explored(findings, count, judge.judged, judge.left)


def _again(
    plan: StateSequence, stage: Stage, found: Sequence[Primary], ignored: frozenset[tuple[Name, str]]
) -> Explored:
    """Run one sequence again."""
    for primary in found:
        if primary.target == plan.name:
            judge, walk = Judge(stage, primary, ignored), walk_of(primary, plan)
            wrong = judge.wrong_alone(walk[0]) if len(walk) == 1 else judge.wrong(walk)[1]
            return Explored([finding(primary, walk, wrong)] if wrong else [], 1, 1)
    return Explored()
