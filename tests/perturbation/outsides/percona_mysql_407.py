# SPDX-License-Identifier: Apache-2.0
"""The old password is given up before the new one is recorded, and a program that ends in between is locked out."""

from __future__ import annotations

from kit.perturbation.miniatures import Body, World, name_of
from kit.perturbation.outsides import Accounts, Denied, Manages, OutsideBug, retried


class GivesUpLast(Manages):
    def bring_about(self, database: Body) -> None:
        name, wanted = name_of(database), database["spec"]["password"]
        recorded = (database.get("status") or {}).get("password", wanted)
        with retried(Denied):
            self.things.found(name, wanted)
            if recorded != wanted:
                self.rotate(name, recorded, wanted)
            self.report(database, password=wanted)
            if self.things.accepted(name, wanted) != [wanted]:
                self.things.accept(name, wanted, [wanted])

    def rotate(self, name: str, recorded: str, wanted: str) -> None:
        self.things.accept(name, recorded, [recorded, wanted])


class GivesUpFirst(GivesUpLast):
    def rotate(self, name: str, recorded: str, wanted: str) -> None:
        self.things.accept(name, recorded, [wanted])


def rotate(world: World) -> None:
    world.declare(password="one")
    world.change(password="two")


BUG = OutsideBug(
    "percona/percona-server-mysql-operator#407", "crash after", Accounts, GivesUpFirst, GivesUpLast, rotate
)
