# SPDX-License-Identifier: Apache-2.0
"""Calls to an outside under each fault: what the program gets, what the outside holds, and what the judge says."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import attrs
import pytest

from controller_runtime import AsyncReconciler, Controller, Manager, ObjectKey, Reconciler, Request, Result
from controller_runtime.errors import TemporaryError
from controller_runtime.resources import CONFIG_MAPS
from controller_runtime.testing import EmbeddedCluster, Simulation
from controller_runtime.testing.outside import outside, reads
from controller_runtime.testing.perturbation.plans import Crash, OutsideFault, Plan
from controller_runtime.testing.perturbation.trial import Outcome, perturb

pytestmark = pytest.mark.once


class Unreachable(Exception):
    """The error of a library that could not connect."""


class NoAnswer(Exception):
    """The error of a library that got no answer."""


@outside(refused=Unreachable, timed_out=NoAnswer, at_least_once=True, eventually_consistent=True)
class Mails:
    """Numbers of mails by their receiver."""

    def __init__(self) -> None:
        self.state: dict[str, int] = {}

    def send(self, name: str) -> None:
        """Send one more."""
        self.state[name] = self.state.get(name, 0) + 1

    async def send_async(self, name: str) -> None:
        """Send one more."""
        await asyncio.sleep(0.1)
        self.send(name)

    @reads
    def sent(self, name: str) -> int:
        """Return how many were sent."""
        return self.state.get(name, 0)


@attrs.frozen
class Notes:
    """The errors of the calls of one run, with the seconds that each took."""

    clock: Callable[[], float]
    errors: list[tuple[str, int]] = attrs.field(factory=list)


@attrs.frozen
class Sends(Reconciler):
    """Sends one mail, if none was sent."""

    mails: Mails
    notes: Notes

    def reconcile(self, request: Request) -> Result:
        began = self.notes.clock()
        try:
            if self.mails.sent(request.name) == 0:
                self.mails.send(request.name)
        except (Unreachable, NoAnswer) as error:
            self.notes.errors.append((type(error).__name__, round(self.notes.clock() - began)))
            raise TemporaryError(str(error)) from error
        return Result()


@attrs.frozen
class SendsAsync(AsyncReconciler):
    mails: Mails
    notes: Notes
    patience: float = 100.0

    async def reconcile(self, request: Request) -> Result:
        began = self.notes.clock()
        try:
            if self.mails.sent(request.name) == 0:
                async with asyncio.timeout(self.patience):
                    await self.mails.send_async(request.name)
        except (Unreachable, NoAnswer, TimeoutError) as error:
            self.notes.errors.append((type(error).__name__, round(self.notes.clock() - began)))
            raise TemporaryError(str(error)) from error
        return Result()


Kind = Callable[[Any, Notes], Reconciler | AsyncReconciler]


def tried(kind: Kind, *plans: Plan, story: Any = None, **options: Any) -> tuple[Outcome, list[tuple[str, int]]]:
    """Return the outcome, and the errors that the program got in the last run."""
    notes: list[Notes] = []

    def setup(manager: Manager, mails: Mails) -> None:
        notes.append(Notes(manager.host.monotonic))
        manager.lister(CONFIG_MAPS, dict)
        manager.add(Controller("mails", kind(mails, notes[-1])).watch(CONFIG_MAPS))

    outcome = perturb(setup, story or declare, outside=Mails, plans=plans or None, **options)
    return outcome, [error for each in notes for error in each.errors]


def declare(cluster: EmbeddedCluster, simulation: Simulation) -> None:
    cluster.user.create(CONFIG_MAPS, {"metadata": {"name": "a", "namespace": "default"}})
    simulation.advance(1.0)  # a coroutine takes a tenth of it


def told(outcome: Outcome) -> list[str]:
    assert (outcome.void, outcome.unjudged, outcome.not_compared) == (0, 0, "")
    return [each for finding in outcome.findings for each in finding.complaints]


@pytest.mark.parametrize("kind", [Sends, SendsAsync])
@pytest.mark.parametrize(
    ("fault", "errors"),
    [
        ("refused", [("Unreachable", 0)]),
        ("request lost", [("NoAnswer", 5)]),
        ("answer lost", [("NoAnswer", 5)]),
        ("late", []),
    ],
)
def test_a_careful_program_is_quiet_under_what_every_network_does(
    kind: Kind, fault: str, errors: list[tuple[str, int]]
) -> None:
    outcome, found = tried(kind, OutsideFault(2, fault))

    assert told(outcome) == []
    assert found == errors


def test_what_is_done_twice_is_found_in_the_state_of_the_outside() -> None:
    assert told(tried(Sends, OutsideFault(2, "done twice"))[0]) == ["Mails a: 1 in a calm run, 2 here"]


def again(cluster: EmbeddedCluster, simulation: Simulation) -> None:
    declare(cluster, simulation)
    cluster.user.patch(CONFIG_MAPS, ObjectKey("a", "default"), {"data": {"again": "yes"}})
    simulation.settle()


def test_what_is_answered_from_the_past_is_as_before_the_last_change() -> None:
    assert told(tried(Sends, OutsideFault(3, "answered from the past"), story=again)[0]) == [
        "Mails a: 1 in a calm run, 2 here"
    ]


def test_a_call_that_its_caller_gave_up_arrives_all_the_same() -> None:
    outcome, errors = tried(lambda mails, notes: SendsAsync(mails, notes, 10.0), OutsideFault(2, "late"))

    assert ("TimeoutError", 10) in errors
    assert told(outcome) == ["Mails a: 1 in a calm run, 2 here"]


@attrs.frozen
class SendsFirst(Sends):
    """Does not look whether one was sent."""

    def reconcile(self, request: Request) -> Result:
        self.mails.send(request.name)
        return Result()


def test_the_program_ends_before_a_call_and_after_it() -> None:
    assert told(tried(Sends, Crash(2, landed=False), Crash(2, landed=True))[0]) == []
    assert told(tried(SendsAsync, Crash(2, landed=False), Crash(2, landed=True))[0]) == []
    assert told(tried(SendsFirst, Crash(1, landed=False))[0]) == []
    assert "Mails a: 1 in a calm run, 2 here" in told(tried(SendsFirst, Crash(1, landed=True))[0])


def test_a_call_whose_answer_is_lost_is_carried_out_and_one_that_is_lost_is_not() -> None:
    double = "Mails a: 1 in a calm run, 2 here"

    assert double in told(tried(SendsFirst, OutsideFault(1, "answer lost"))[0])
    assert double not in told(tried(SendsFirst, OutsideFault(1, "request lost"))[0])


def test_an_error_of_the_library_that_is_not_caught_is_named() -> None:
    (found,) = tried(SendsFirst, OutsideFault(1, "refused"))[0].findings

    (text,) = found.complaints
    assert text.startswith("a reconcile raised an unexpected error: mails default/a: ")
    assert text.endswith("Unreachable: Mails: connection refused")


def test_all_plans_of_a_program_whose_outside_only_loses_are_quiet() -> None:
    outcome, _ = tried(Sends, patterns=["crash", "outside"], story=again)

    assert {str(each.plan) for each in outcome.findings} == {
        "done twice at call 2",
        "answered from the past at call 3",
    }
    assert (outcome.possible, outcome.planned) == (19, 16)


def spoils(cluster: EmbeddedCluster, simulation: Simulation) -> None:
    """Have a later step depend on what the test did to the outside."""
    declare(cluster, simulation)
    cluster.outside.made[0].send("b")
    simulation.settle()


def test_a_change_of_the_outside_by_the_test_is_a_step_that_is_told_again() -> None:
    assert told(tried(Sends, patterns=["crash", "missed", "stale"], story=spoils)[0]) == []
