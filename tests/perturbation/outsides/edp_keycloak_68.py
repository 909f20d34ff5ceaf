# SPDX-License-Identifier: Apache-2.0
"""A role that exists already is called a duplicate of somebody else's, and is passed over for good."""

from __future__ import annotations

from contextlib import suppress

from kit.perturbation.miniatures import Body, name_of
from kit.perturbation.outsides import Manages, OutsideBug, declare

from controller_runtime.testing.outside.things import Exists, NamedThings


class Adopts(Manages):
    def bring_about(self, database: Body) -> None:
        with suppress(Exists):
            self.things.create(name_of(database))
        self.report(database, state="OK")


class CallsItDuplicated(Manages):
    def bring_about(self, database: Body) -> None:
        if (database.get("status") or {}).get("state"):
            return
        try:
            self.things.create(name_of(database))
        except Exists:
            self.report(database, state="duplicated")
        else:
            self.report(database, state="OK")


BUG = OutsideBug("epam/edp-keycloak-operator#68", "answer lost", NamedThings, CallsItDuplicated, Adopts, declare)
