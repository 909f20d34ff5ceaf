# SPDX-License-Identifier: Apache-2.0
"""Small programs with one fault each, tried in process: each oracle and each pattern finds its own."""

from __future__ import annotations

from typing import Any

import pytest
from kit.perturbation.miniatures import DATABASES, Body, Operator, World, beside, is_going, key, name_of, setup_of

from controller_runtime import Manager, Request, Result
from controller_runtime.errors import Invalid
from controller_runtime.resources import CONFIG_MAPS
from controller_runtime.testing import EmbeddedCluster, Simulation
from controller_runtime.testing.perturbation.plans import Crash, Lag, Missed, Plan, Restart, Stale
from controller_runtime.testing.perturbation.trial import CalmRunFailed, Outcome, perturb
from controller_runtime.webhooks import Admission, Checks, Defaults, FieldError

pytestmark = pytest.mark.ends


def tried(operator: type[Operator], *plans: Plan, tell: Any = None, **options: Any) -> Outcome:
    def story(cluster: EmbeddedCluster, simulation: Simulation) -> None:
        world = World(cluster, simulation)
        (tell or (lambda world: world.declare(size=1)))(world)

    return perturb(setup_of(operator), story, beside=beside, plans=plans or None, **options)


def told(outcome: Outcome) -> str:
    return "; ".join(outcome.findings[0].complaints) if outcome.findings else ""


class Right(Operator):
    """Copies each database into a config map, and can be ended anywhere."""

    kinds = (CONFIG_MAPS,)

    def run(self, database: Body) -> None:
        size = str(database["spec"]["size"])
        present = self.ask(CONFIG_MAPS, name_of(database))
        if present is None:
            self.bring(CONFIG_MAPS, name_of(database), database, {"data": {"size": size}})
        elif present["data"]["size"] != size:
            self.patch(CONFIG_MAPS, name_of(database), {"data": {"size": size}})


def change_twice(world: World) -> None:
    for size in (1, 2, 3):
        (world.declare if size == 1 else world.change)(size=size)


def test_a_right_program_is_complained_of_under_no_plan_and_every_kind_of_plan_happens() -> None:
    outcome = tried(Right, tell=change_twice)

    assert not outcome.findings
    assert outcome.run == outcome.planned > outcome.void
    assert outcome.possible > outcome.planned > 10


class Forgetful(Right):
    """Remembers in memory alone which size it has seen first."""

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager)
        self.first: dict[str, str] = {}

    def run(self, database: Body) -> None:
        first = self.first.setdefault(name_of(database), database["spec"]["size"])
        super().run({**database, "spec": {"size": first}})


def test_what_is_kept_in_memory_alone_is_lost_by_a_restart() -> None:
    outcome = tried(Forgetful, Restart(0), Restart(1), tell=change_twice)

    assert [each.plan for each in outcome.findings] == [Restart(1)]
    assert "data.size: '1' in a calm run, '2' here" in told(outcome)


class Follower(Operator):
    """Counts the sizes that it has seen, in the status."""

    def run(self, database: Body) -> None:
        seen = [*((database.get("status") or {}).get("seen") or [])]
        if database["spec"]["size"] not in seen:
            self.report(database, seen=[*seen, database["spec"]["size"]])


def test_a_state_in_between_that_is_not_seen_shows_in_the_end() -> None:
    outcome = tried(Follower, patterns=["missed"], tell=change_twice)

    assert {type(each.plan) for each in outcome.findings} == {Missed}
    assert "status.seen: [1, 2, 3] in a calm run, [2, 3] here" in told(outcome)


class Trusting(Right):
    """Believes the cache when it lacks something, also a second after its own write."""

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager)
        self.looked: set[Request] = set()

    def reconcile(self, request: Request) -> Result:
        if request in self.looked or self.see(DATABASES, request.name) is None:
            return super().reconcile(request)
        self.looked.add(request)
        super().reconcile(request)
        return Result(requeue_after=1.0)

    def run(self, database: Body) -> None:
        if not self.seen(CONFIG_MAPS, db=name_of(database)):
            labels = {"db": name_of(database)}
            metadata = {"generateName": "copy-", "namespace": "default", "labels": labels}
            self.client.create(CONFIG_MAPS, {"metadata": metadata})


def test_a_cache_that_lacks_the_own_last_write_leads_to_a_second_one() -> None:
    outcome = tried(Trusting, patterns=["stale"])

    assert [each.plan for each in outcome.findings if isinstance(each.plan, Lag)]
    assert "configmaps default/copy-* was created 2 times, and once in a calm run" in told(outcome)


class Cleaner(Right):
    """Deletes the copy of what the cache shows as going."""

    def run(self, database: Body) -> None:
        if is_going(database):
            self.drop(CONFIG_MAPS, name_of(database))
            self.release(database)
        else:
            self.hold(database)
            super().run(database)


def test_an_old_state_after_a_restart_leads_to_the_deletion_of_what_lives() -> None:
    def recreate(world: World) -> None:
        world.declare(size=1)
        world.delete()
        world.declare(size=1)

    outcome = tried(Cleaner, patterns=["stale"], tell=recreate)

    assert {type(each.plan) for each in outcome.findings} == {Stale}
    assert "configmaps default/db was deleted 2 times, and once in a calm run" in told(outcome)


class Marking(Operator):
    """Marks a database in two writes, and fails for ever if it finds one without the other."""

    def run(self, database: Body) -> None:
        marks = database["metadata"].get("annotations") or {}
        if "first" in marks and "second" not in marks:
            raise ValueError("half a database")
        for mark in ("first", "second") if "first" not in marks else ():
            self.patch(DATABASES, name_of(database), {"metadata": {"annotations": {mark: "yes"}}})


def test_a_reconcile_that_fails_in_the_end_is_told() -> None:
    outcome = tried(Marking, Crash(1, landed=True), allow_panics=True)

    assert "databases: default/db still fails at the end" in told(outcome)


class Spinning(Operator):
    """Writes endlessly once it has been restarted between two writes."""

    def run(self, database: Body) -> None:
        status = database.get("status") or {}
        if "begun" not in status:
            self.report(database, begun=1)
            self.report(database, done=True)
        elif "done" not in status:
            self.report(database, begun=status["begun"] + 1)


def test_a_loop_without_end_is_told() -> None:
    assert "it never comes to rest: livelock" in told(tried(Spinning, Crash(1, landed=True)))


def test_the_own_checks_of_a_story_are_told() -> None:
    def check(world: World) -> None:
        world.declare(size=1)
        world.change(size=2)
        world.wait()
        copy = world.user.get(CONFIG_MAPS, key("db"), view=dict)
        assert copy["data"] == {"size": "1"}, "the first size stays"

    assert "the story's own check fails: the first size stays" in told(tried(Forgetful, Restart(1), tell=check))


def test_a_plan_that_cannot_happen_is_void_and_no_finding() -> None:
    outcome = tried(Right, Crash(99, landed=True))

    assert (outcome.run, outcome.void, outcome.findings) == (1, 1, [])


class Later(Right):
    """Writes once more half a minute later: after the story, while the perturbation only looks whether it is idle."""

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager)
        self.host = manager.host
        self.due = self.host.monotonic() + 30.0

    def reconcile(self, request: Request) -> Result:
        if self.host.monotonic() >= self.due:
            self.patch(CONFIG_MAPS, request.name, {"data": {"later": "yes"}})
            return Result()
        super().reconcile(request)
        return Result(requeue_after=30.0)


def test_the_manager_does_not_end_after_the_story() -> None:
    outcome = tried(Later, Crash(2, landed=True))

    assert (outcome.run, outcome.void, outcome.findings) == (1, 1, [])


@pytest.mark.parametrize(
    ("operator", "reason"), [(Marking, "databases: default/db"), (Right, "the story's own check fails: no")]
)
def test_a_story_that_fails_by_itself_is_refused(operator: type[Operator], reason: str) -> None:
    def half(world: World) -> None:
        body = {"metadata": {"name": "db", "namespace": "default", "annotations": {"first": "yes"}}}
        world.user.create(DATABASES, {**body, "spec": {"size": 1}})
        world.wait()
        assert operator is Marking, "no"

    with pytest.raises(CalmRunFailed, match=reason):
        tried(operator, tell=half, allow_panics=True)


def test_a_story_that_takes_parts_of_the_manager_is_refused() -> None:
    with pytest.raises(CalmRunFailed, match=r"cannot be perturbed: .*takes the cluster's client"):
        perturb(setup_of(Right), lambda cluster, simulation: cluster.client and None, beside=beside)


class Leaking(Cleaner):
    """Lets a database go before its copy, which has no owner."""

    def run(self, database: Body) -> None:
        if is_going(database):
            self.release(database)
            self.drop(CONFIG_MAPS, name_of(database))
        else:
            self.hold(database)
            if self.ask(CONFIG_MAPS, name_of(database)) is None:
                self.make(CONFIG_MAPS, name_of(database), {})


def test_an_object_that_stays_after_the_last_deletion_is_told() -> None:
    def delete(world: World) -> None:
        world.declare(size=1)
        world.delete()

    outcome = tried(Leaking, Crash(3, landed=True), tell=delete)

    assert told(outcome) == "configmaps default/db: absent in a calm run, there here"


class Guarded(Right):
    """Has the server ask it about each database: sizes are halved at creation, and those above ten refused."""

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager)
        manager.webhooks.add(Defaults(DATABASES, self.fill, view=dict), Checks(DATABASES, self.refuse, view=dict))

    def fill(self, database: Body, request: Admission[Body]) -> Body:
        if request.operation == "CREATE":
            database["spec"]["size"] //= 2
        return database

    def refuse(self, database: Body, request: Admission[Body]) -> FieldError | None:
        return FieldError("spec.size", "at most ten") if database["spec"]["size"] > 10 else None


def test_an_operator_with_webhooks_is_perturbed_and_they_come_back_with_it() -> None:
    def check(world: World) -> None:
        world.declare(size=6)
        with pytest.raises(Invalid, match="at most ten"):
            world.change(size=11)
        world.change(size=4)

    outcome = tried(Guarded, Crash(1, landed=False), Crash(2, landed=True), Restart(0), Restart(1), tell=check)

    assert (outcome.run, outcome.void, outcome.findings) == (4, 0, [])
