# SPDX-License-Identifier: Apache-2.0
"""A topic that was just deleted is still seen, so that its successor of the same name is not created."""

from __future__ import annotations

from contextlib import suppress

from kit.perturbation.miniatures import Body, World, name_of
from kit.perturbation.outsides import LateThings, Manages, OutsideBug

from controller_runtime.testing.outside.things import Exists, Missing


class Creates(Manages):
    def bring_about(self, database: Body) -> None:
        with suppress(Exists):
            self.things.create(name_of(database))
        self.report(database, seen=True)

    def take_away(self, database: Body) -> None:
        with suppress(Missing):
            self.things.delete(name_of(database))


class LooksFirst(Creates):
    def bring_about(self, database: Body) -> None:
        if (database.get("status") or {}).get("seen"):
            return
        if name_of(database) not in self.things.names():
            super().bring_about(database)
        self.report(database, seen=True)


def recreate(world: World) -> None:
    world.declare()
    world.delete()
    world.declare()


BUG = OutsideBug(
    "strimzi/strimzi-kafka-operator#4086", "answered from the past", LateThings, LooksFirst, Creates, recreate
)
