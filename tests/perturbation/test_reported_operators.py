# SPDX-License-Identifier: Apache-2.0
"""Operators with faults that are reported often: each is found by its pattern, and its mended twin is quiet."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from kit.perturbation.miniatures import (
    DATABASES,
    Body,
    Operator,
    World,
    beside,
    is_going,
    name_of,
    owned,
    setup_of,
    uid_of,
)

from controller_runtime import Manager
from controller_runtime.resources import CONFIG_MAPS
from controller_runtime.testing import EmbeddedCluster, Simulation
from controller_runtime.testing.perturbation.trial import Outcome, perturb

pytestmark = pytest.mark.once


class Deed(Operator):
    """Makes one config map for each database, with a computed name."""

    kinds = (CONFIG_MAPS,)

    def run(self, database: Body) -> None:
        if not self.seen(CONFIG_MAPS, db=name_of(database)) and self.ask(CONFIG_MAPS, "deed") is None:
            self.make(CONFIG_MAPS, "deed", owned(database, {}))
        self.report(database, done=True)


class GeneratesNames(Deed):
    def run(self, database: Body) -> None:
        if not self.seen(CONFIG_MAPS, db=name_of(database)):
            made = owned(database, {})
            metadata = {"generateName": "deed-", "namespace": "default", **made["metadata"]}
            self.client.create(CONFIG_MAPS, {**made, "metadata": metadata})
        self.report(database, done=True)


def declare(world: World) -> None:
    world.declare(size=1)


class Members(Operator):
    """Makes one config map for each member, and deletes those beyond the size."""

    kinds = (CONFIG_MAPS,)

    def __init__(self, manager: Manager) -> None:
        super().__init__(manager)
        self.surplus: list[str] = []

    def run(self, database: Body) -> None:
        wanted = [f"m-{number}" for number in range(database["spec"]["size"])]
        present = [name_of(each) for each in self.client.list(CONFIG_MAPS, label_selector="db", view=dict)]
        for name in wanted:
            if name not in present:
                self.make(CONFIG_MAPS, name, owned(database, {}))
        self.prune(database, [name for name in present if name not in wanted])

    def prune(self, database: Body, surplus: list[str]) -> None:
        for name in surplus:
            self.drop(CONFIG_MAPS, name)
        self.report(database, size=database["spec"]["size"])


class RemembersSurplus(Members):
    def prune(self, database: Body, surplus: list[str]) -> None:
        if (database.get("status") or {}).get("size") != database["spec"]["size"]:
            self.surplus = surplus
            self.report(database, size=database["spec"]["size"])
        for name in self.surplus:
            self.drop(CONFIG_MAPS, name)


def shrink(world: World) -> None:
    world.declare(size=2)
    world.change(size=1)


class Titles(Operator):
    """Keeps one config map for each database, which has its uid and no owner."""

    kinds = (CONFIG_MAPS,)

    def run(self, database: Body) -> None:
        title = self.ask(CONFIG_MAPS, "title")
        if title is None:
            self.make(CONFIG_MAPS, "title", {"data": {"of": uid_of(database)}})
        elif self.is_of_another(title, database):
            self.patch(CONFIG_MAPS, "title", {"data": {"of": uid_of(database)}})

    def is_of_another(self, title: Body, database: Body) -> bool:
        return bool(title["data"]["of"] != uid_of(database))

    def gone(self, name: str) -> None:
        if self.ask(DATABASES, name) is None:
            self.drop(CONFIG_MAPS, "title")


class TakesNamesakes(Titles):
    def is_of_another(self, title: Body, database: Body) -> bool:
        return False


def again(world: World) -> None:
    world.declare(size=1)
    world.delete()
    world.declare(size=1)


class Topics(Operator):
    """Opens a topic of a broker for each database, and closes it with it."""

    broker: ClassVar[dict[str, bool]] = {}

    def run(self, database: Body) -> None:
        if is_going(database):
            self.end(database)
        elif not database["metadata"].get("finalizers"):
            self.hold(database)
        else:
            self.broker[name_of(database)] = True

    def end(self, database: Body) -> None:
        self.broker.pop(name_of(database), None)
        self.release(database)


class ReleasesFirst(Topics):
    def end(self, database: Body) -> None:
        self.release(database)
        self.broker.pop(name_of(database), None)


def open_and_close(world: World) -> None:
    Topics.broker.clear()
    world.declare(size=1)
    world.delete()
    assert Topics.broker == {}


def tried(operator: type[Operator], tell: Any, patterns: list[str]) -> Outcome:
    def story(cluster: EmbeddedCluster, simulation: Simulation) -> None:
        tell(World(cluster, simulation))

    return perturb(setup_of(operator), story, beside=beside, garbage_collection=True, patterns=patterns)


@pytest.mark.parametrize(
    ("faulty", "mended", "story", "pattern", "complaint"),
    [
        (
            GeneratesNames,
            Deed,
            declare,
            "stale",
            "configmaps default/deed-* was created 2 times, and once in a calm run",
        ),
        (RemembersSurplus, Members, shrink, "crash", "configmaps default/m-1: absent in a calm run, there here"),
        (
            TakesNamesakes,
            Titles,
            again,
            "missed",
            "configmaps default/title data.of: '<uid of databases.example.com default/db>' in a calm run, '<uid>' here",
        ),
        (ReleasesFirst, Topics, open_and_close, "crash", "the story's own check fails: "),
    ],
)
def test_a_fault_is_found_by_its_pattern_and_no_plan_of_it_complains_of_the_mended_twin(
    faulty: type[Operator], mended: type[Operator], story: Any, pattern: str, complaint: str
) -> None:
    found = [each for finding in tried(faulty, story, [pattern]).findings for each in finding.complaints]
    quiet = tried(mended, story, [pattern])

    assert [each for each in found if each.startswith(complaint)], found
    assert [each.complaints for each in quiet.findings] == []
    assert quiet.run > quiet.void + quiet.unjudged
