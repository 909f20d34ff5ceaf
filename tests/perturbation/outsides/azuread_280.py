# SPDX-License-Identifier: Apache-2.0
"""An application that was just created is not found yet, its id is not recorded, and another one is created.

That the service answers from the past is the cause that the report supposes.
"""

from __future__ import annotations

from kit.perturbation.miniatures import Body, name_of
from kit.perturbation.outsides import LateNumbered, Manages, OutsideBug, declare

from controller_runtime.errors import TemporaryError


class RecordsFirst(Manages):
    def bring_about(self, database: Body) -> None:
        recorded = (database.get("status") or {}).get("id")
        name = recorded or self.found(name_of(database)) or self.things.add(owner=name_of(database))
        self.report(database, id=name)

    def found(self, owner: str) -> str:
        """Return the thing of an owner; empty if none is there, which a read may say of a new one."""
        return next(iter(self.things.all_of(owner)), "")


class LooksAfterwards(RecordsFirst):
    def bring_about(self, database: Body) -> None:
        if (database.get("status") or {}).get("id"):
            return
        name = self.things.add(owner=name_of(database))
        if name not in self.things.of(name_of(database)):
            raise TemporaryError(f"{name} is not there")
        self.report(database, id=name)


BUG = OutsideBug(
    "crossplane-contrib/provider-upjet-azuread#280",
    "answered from the past",
    LateNumbered,
    LooksAfterwards,
    RecordsFirst,
    declare,
)
