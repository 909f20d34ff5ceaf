# SPDX-License-Identifier: Apache-2.0
"""Small operators with a fault whose trace goes before the end, or with names and values of their own; and twins."""

from __future__ import annotations

import base64
from typing import Any, ClassVar

import pytest
from kit.perturbation.miniatures import (
    DATABASES,
    Body,
    Kind,
    Operator,
    ReadsLatest,
    World,
    beside,
    key,
    name_of,
    owned,
    setup_of,
)

from controller_runtime import Manager, Request, Result
from controller_runtime.resources import CONFIG_MAPS, SECRETS
from controller_runtime.testing import EmbeddedCluster, Simulation
from controller_runtime.testing.perturbation.plans import Crash, Plan, Restart
from controller_runtime.testing.perturbation.trial import Outcome, perturb

pytestmark = pytest.mark.ends

PATTERNS = ("crash", "missed", "stale")


def tried(operator: type[Operator], tell: Any, *plans: Plan, **options: Any) -> Outcome:
    def story(cluster: EmbeddedCluster, simulation: Simulation) -> None:
        tell(World(cluster, simulation))

    options = {"garbage_collection": True, "patterns": PATTERNS, **options}
    return perturb(setup_of(operator), story, beside=beside, plans=plans or None, **options)


def told(outcome: Outcome) -> list[str]:
    return [each for finding in outcome.findings for each in finding.complaints]


def is_quiet(outcome: Outcome) -> bool:
    assert not told(outcome)
    return outcome.run > outcome.void + outcome.unjudged


def careful(operator: type[Operator]) -> type[Operator]:
    """Return the operator, which reads each database from the server before it does anything."""
    return type("Careful", (ReadsLatest, operator), {})


class Deeds(Operator):
    """Makes a config map for each database, and deletes it with the database."""

    kinds: ClassVar[tuple[Kind, ...]] = (CONFIG_MAPS,)

    def run(self, database: Body) -> None:
        self.bring(CONFIG_MAPS, "deed", database)
        self.report(database, done=True)


class ReportsFirst(Deeds):
    def run(self, database: Body) -> None:
        if not (database.get("status") or {}).get("done"):
            self.report(database, done=True)
            self.bring(CONFIG_MAPS, "deed", database)


def declare_and_delete(world: World) -> None:
    world.declare(size=1)
    world.delete()


def test_a_fault_whose_trace_goes_with_the_last_deletion_is_found_at_the_rest_before() -> None:
    outcome = tried(ReportsFirst, declare_and_delete, Crash(1, landed=True))

    assert told(outcome) == ["at rest after step 1, configmaps default/deed: there in a calm run, absent here"]
    assert is_quiet(tried(careful(Deeds), declare_and_delete))


class Observers(Operator):
    """Copies the size, and reports the generation that it has carried out."""

    kinds = (CONFIG_MAPS,)

    def run(self, database: Body) -> None:
        self.copy(database)
        self.report(database, observedGeneration=database["metadata"]["generation"])

    def copy(self, database: Body) -> None:
        size = str(database["spec"]["size"])
        present = self.ask(CONFIG_MAPS, name_of(database))
        if present is None:
            self.make(CONFIG_MAPS, name_of(database), {**owned(database, {}), "data": {"size": size}})
        elif present["data"]["size"] != size:
            self.patch(CONFIG_MAPS, name_of(database), {"data": {"size": size}})


class ObservesEarly(Observers):
    def run(self, database: Body) -> None:
        generation = database["metadata"]["generation"]
        if (database.get("status") or {}).get("observedGeneration") != generation:
            self.report(database, observedGeneration=generation)
            self.copy(database)


def change_and_delete(world: World) -> None:
    world.declare(size=1)
    world.change(size=2)
    world.delete()


def test_a_generation_that_is_reported_too_early_is_found_though_the_story_ends_with_a_deletion() -> None:
    found = told(tried(ObservesEarly, change_and_delete, patterns=["crash"]))

    assert "at rest after step 2, configmaps default/db data.size: '2' in a calm run, '1' here" in found
    assert is_quiet(tried(careful(Observers), change_and_delete))


class RandomNames(Operator):
    """Makes one secret for each database, with a random name that the status has."""

    kinds = (SECRETS,)

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager)
        self.random = manager.host.random

    def run(self, database: Body) -> None:
        found = self.present(database)
        name = name_of(found[0]) if found else self.random_name()
        if not found:
            self.make(SECRETS, name, owned(database, {}))
        self.report(database, secret=name)

    def present(self, database: Body) -> list[Body]:
        return self.client.list(SECRETS, "default", label_selector=f"db={name_of(database)}", view=dict)

    def random_name(self) -> str:
        return f"a-{self.random.getrandbits(32):08x}"


class LooksInTheStatus(RandomNames):
    def run(self, database: Body) -> None:
        if "secret" not in (database.get("status") or {}):
            super().run(database)

    def present(self, database: Body) -> list[Body]:
        return []


def declare(world: World) -> None:
    world.declare(size=1)


def test_random_names_are_no_fault_and_a_second_object_of_such_a_name_is_one() -> None:
    assert is_quiet(tried(careful(RandomNames), declare))

    outcome = tried(careful(LooksInTheStatus), declare, Crash(1, landed=True))

    assert told(outcome)[0] == "secrets default/a-* was created 2 times, and once in a calm run"


class Backups(Operator):
    """Makes a backup each ten minutes, named by its time, and keeps the two newest."""

    kinds = (CONFIG_MAPS,)

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager)
        self.host = manager.host

    def reconcile(self, request: Request) -> Result:
        database = self.see(DATABASES, request.name)
        if database is None:
            return Result()
        tick, past = divmod(self.host.now().timestamp(), 600)
        self.bring(CONFIG_MAPS, f"nightly-{int(tick):09d}", database)
        for name in self.made(f"nightly-{int(tick):09d}")[:-2]:
            self.drop(CONFIG_MAPS, name)
        return Result(requeue_after=600 - past)

    def made(self, name: str) -> list[str]:
        return sorted({name, *(name_of(each) for each in self.seen(CONFIG_MAPS))})


class RemembersBackups(Backups):
    def __init__(self, manager: Manager) -> None:
        super().__init__(manager)
        self.names: list[str] = []

    def made(self, name: str) -> list[str]:
        self.names = sorted({*self.names, name})
        return self.names


def five_backups(world: World) -> None:
    world.declare(size=1)
    world.wait(1500)
    world.wait(1500)
    assert len(world.user.list(CONFIG_MAPS, "default", view=dict)) == 2


def test_a_schedule_that_prunes_by_age_is_no_fault_and_one_that_prunes_by_memory_is() -> None:
    assert is_quiet(tried(Backups, five_backups))

    (finding,) = tried(RemembersBackups, five_backups, Restart(1)).findings

    assert finding.complaints[0].startswith("the story's own check fails: ")


class Passwords(Operator):
    """Makes a secret with a random password, and notes the password in a config map."""

    kinds = (SECRETS, CONFIG_MAPS)

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager)
        self.random = manager.host.random

    def run(self, database: Body) -> None:
        secret = self.ask(SECRETS, "db") or self.made(database)
        if self.ask(CONFIG_MAPS, "db") is None:
            text = base64.b64decode(secret["data"]["password"]).decode()
            self.make(CONFIG_MAPS, "db", {**owned(database, {}), "data": {"password": text}})

    def made(self, database: Body) -> Body:
        data = {"password": base64.b64encode(self.password().encode()).decode()}
        self.make(SECRETS, "db", {**owned(database, {}), "data": data})
        return {"data": data}

    def password(self) -> str:
        return f"{self.random.getrandbits(64):016x}"


class DrawsTwice(Passwords):
    def run(self, database: Body) -> None:
        text = self.password()
        for kind, value in ((SECRETS, base64.b64encode(text.encode()).decode()), (CONFIG_MAPS, text)):
            if self.ask(kind, "db") is None:
                self.make(kind, "db", {**owned(database, {}), "data": {"password": value}})


def test_a_random_value_in_two_objects_is_the_same_in_both_though_no_test_asserts_it() -> None:
    twin = tried(Passwords, declare)
    assert not told(twin)
    assert "not compared, as calm runs differ: configmaps default/db data.password" in twin.not_compared

    assert told(tried(DrawsTwice, declare, Crash(1, landed=True))) == [
        "configmaps default/db data.password and secrets default/db data.password differ here, and are equal in each "
        "calm run"
    ]


class Ports(Operator):
    """Gives each database a port that no other one has, after a random while, so that any may be the first."""

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager)
        self.random = manager.host.random
        self.waited: set[str] = set()

    def reconcile(self, request: Request) -> Result:
        if request.name not in self.waited:
            self.waited.add(request.name)
            return Result(requeue_after=self.random.uniform(0.1, 2.0))
        return super().reconcile(request)

    def run(self, database: Body) -> None:
        if "port" not in (database.get("status") or {}):
            self.report(database, port=min({1, 2, 3} - {self.port(each) for each in self.all()}))

    def port(self, database: Body) -> int:
        return int((database.get("status") or {}).get("port", 0))

    def all(self) -> list[Body]:
        return self.client.list(DATABASES, "default", view=dict)


class PortsByCache(Ports):
    def all(self) -> list[Body]:
        return self.seen(DATABASES)


def two_at_once_and_none_in_the_end(world: World) -> None:
    for name in ("a", "b"):
        world.user.create(DATABASES, {"metadata": {"name": name, "namespace": "default"}, "spec": {}})
    world.wait()
    for name in ("a", "b"):
        world.delete(name)


def test_a_port_that_two_objects_get_is_found_though_it_is_another_one_in_each_run() -> None:
    twin = tried(careful(Ports), two_at_once_and_none_in_the_end)
    assert not told(twin)

    found = told(tried(careful(PortsByCache), two_at_once_and_none_in_the_end))

    assert (
        "at rest after step 2, databases.example.com default/a status.port and databases.example.com default/b "
        "status.port are equal here, and in no calm run"
    ) in found


class KeepsSecrets(Deeds):
    """Notes that there is a secret, and makes it."""

    kinds = (SECRETS,)

    def run(self, database: Body) -> None:
        if not (database.get("status") or {}).get("done"):
            self.report(database, done=True)
            self.bring(SECRETS, "db", database)


def patch_what_the_operator_makes(world: World) -> None:
    world.declare(size=1)
    world.user.patch(SECRETS, key("db"), {"data": {"a": "YQ=="}})


def test_an_act_that_cannot_be_done_in_a_perturbed_run_is_a_finding() -> None:
    (finding,) = tried(KeepsSecrets, patch_what_the_operator_makes, Crash(1, landed=True)).findings

    assert finding.complaints[0].startswith("the story cannot go on: NotFound")
    assert finding.complaints[1:] == ["at rest after step 1, secrets default/db: there in a calm run, absent here"]


def assert_early(world: World) -> None:
    world.declare(size=1)
    if not world.user.list(SECRETS, "default", view=dict):
        raise AssertionError("no secret")
    world.change(size=2, color="red")


def test_after_a_check_that_fails_early_the_values_of_later_steps_are_not_told() -> None:
    (finding,) = tried(KeepsSecrets, assert_early, Crash(1, landed=True)).findings

    assert finding.complaints == [
        "the story's own check fails: no secret",
        "at rest after step 1, secrets default/db: there in a calm run, absent here",
    ]


class KeepsWhatItMade(Operator):
    """Makes a config map once all servers of a database are ready, and keeps it."""

    kinds = (CONFIG_MAPS,)

    def run(self, database: Body) -> None:
        if database["spec"]["size"] == (database.get("status") or database["spec"]).get("ready"):
            self.bring(CONFIG_MAPS, "deed", database)


def note_ready(world: World, ready: int) -> None:
    world.user.patch(DATABASES, key("db"), {"status": {"ready": ready}}, subresource="status")
    world.wait()


def ready_for_a_while(world: World) -> None:
    world.declare(size=1)
    note_ready(world, 1)
    note_ready(world, 0)
    world.delete()


def ready_until_it_grows(world: World) -> None:
    world.declare(size=1)
    note_ready(world, 1)
    world.change(size=2)
    world.delete()


def declared_ready_for_a_while(world: World) -> None:
    world.declare(size=1)
    world.change(ready=1)
    world.change(ready=0)
    world.delete()


class CopiesNextChange(Observers):
    """Copies the size of a generation only if it has carried out the one before."""

    def copy(self, database: Body) -> None:
        if database["metadata"]["generation"] - (database.get("status") or {}).get("observedGeneration", 0) == 1:
            super().copy(database)


def change_twice_and_delete(world: World) -> None:
    world.declare(size=1)
    world.change(size=2)
    world.change(color="red")
    world.delete()


def test_a_status_that_was_never_seen_may_leave_no_trace_but_no_end_depends_on_a_declaration_that_was_not() -> None:
    missed = {"patterns": ["missed"]}
    keeper = careful(KeepsWhatItMade)
    assert is_quiet(tried(keeper, ready_for_a_while, **missed))
    assert is_quiet(tried(keeper, ready_until_it_grows, **missed))
    assert is_quiet(tried(careful(Observers), change_twice_and_delete, **missed))

    absent = "at rest after step 3, configmaps default/deed: there in a calm run, absent here"
    assert absent in told(tried(keeper, declared_ready_for_a_while, **missed))
    found = told(tried(CopiesNextChange, change_twice_and_delete, **missed))

    assert "at rest after step 3, configmaps default/db data.size: '2' in a calm run, '1' here" in found


class Draws(Operator):
    """Notes one of two colors, which each manager draws when it starts."""

    kinds = (CONFIG_MAPS,)
    drawn: ClassVar[list[str]] = []

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager)
        self.color = Draws.drawn.pop(0)

    def run(self, database: Body) -> None:
        if self.ask(CONFIG_MAPS, "deed") is None:
            self.make(CONFIG_MAPS, "deed", {**owned(database, {}), "data": {"color": self.color}})


def test_a_value_that_is_the_same_in_three_calm_runs_by_chance_is_no_fault_and_one_that_calm_runs_never_have_is() -> (
    None
):
    def found(*after: str) -> list[str]:
        Draws.drawn = ["red"] * 4 + ["blue", *after]  # three calm runs, a manager that ends, and its successor
        return told(tried(Draws, declare, Crash(1, landed=False)))

    assert found("red", "red", "blue", "red", "red") == []
    assert found(*["red"] * 5) == ["configmaps default/deed data.color: 'red' in a calm run, 'blue' here"]
