# SPDX-License-Identifier: Apache-2.0
"""The service names what it creates, and the program ends before it has recorded the name: it creates another one."""

from __future__ import annotations

from kit.perturbation.miniatures import Body, name_of
from kit.perturbation.outsides import Manages, Numbered, OutsideBug, declare


class Records(Manages):
    def bring_about(self, database: Body) -> None:
        if "id" not in (database.get("status") or {}):
            self.report(database, id=self.created(name_of(database)))

    def created(self, owner: str) -> str:
        return str(self.things.add(owner=owner))


class LooksForItsOwn(Records):
    def created(self, owner: str) -> str:
        return next(iter(self.things.of(owner)), None) or super().created(owner)


BUG = OutsideBug("crossplane/crossplane-runtime#279", "crash after", Numbered, Records, LooksForItsOwn, declare)
