# SPDX-License-Identifier: Apache-2.0
"""The topic could not be created, the channel is said to be ready, and nothing is tried again."""

from __future__ import annotations

from contextlib import suppress

from kit.perturbation.miniatures import Body, name_of
from kit.perturbation.outsides import Manages, OutsideBug, declare

from controller_runtime.testing.outside.things import NamedThings


class Creates(Manages):
    def bring_about(self, database: Body) -> None:
        self.things.put(name_of(database))
        self.report(database, ready=True)


class SaysReady(Manages):
    def bring_about(self, database: Body) -> None:
        if (database.get("status") or {}).get("ready"):
            return
        with suppress(ConnectionError, TimeoutError):
            self.things.put(name_of(database))
        self.report(database, ready=True)


BUG = OutsideBug("knative-extensions/eventing-kafka#1112", "request lost", NamedThings, SaysReady, Creates, declare)
