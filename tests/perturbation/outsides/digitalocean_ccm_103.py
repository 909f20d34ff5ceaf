# SPDX-License-Identifier: Apache-2.0
"""A load balancer is created, the answer comes too late, and its service is told that the creation has failed."""

from __future__ import annotations

from contextlib import suppress

from kit.perturbation.miniatures import Body, name_of
from kit.perturbation.outsides import Manages, OutsideBug, declare

from controller_runtime.testing.outside.things import Exists, NamedThings


class TriesAgain(Manages):
    def bring_about(self, database: Body) -> None:
        with suppress(Exists):
            self.things.create(name_of(database))
        self.report(database, state="active")


class GivesUp(Manages):
    def bring_about(self, database: Body) -> None:
        if (database.get("status") or {}).get("state"):
            return
        try:
            self.things.create(name_of(database))
        except TimeoutError:
            self.report(database, state="failed")
        else:
            self.report(database, state="active")


BUG = OutsideBug(
    "digitalocean/digitalocean-cloud-controller-manager#103", "answer lost", NamedThings, GivesUp, TriesAgain, declare
)
