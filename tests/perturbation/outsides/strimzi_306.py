# SPDX-License-Identifier: Apache-2.0
"""The client of Kafka fails, though the topic was created, and each further try finds that it exists."""

from __future__ import annotations

from contextlib import suppress

from kit.perturbation.miniatures import Body, name_of
from kit.perturbation.outsides import Manages, OutsideBug, declare, retried

from controller_runtime.testing.outside.things import Exists, NamedThings


class Creates(Manages):
    def bring_about(self, database: Body) -> None:
        if not (database.get("status") or {}).get("ready"):
            self.create(name_of(database))
            self.report(database, ready=True)

    def create(self, name: str) -> None:
        with retried(Exists):
            self.things.create(name)


class TakesExistingForCreated(Creates):
    def create(self, name: str) -> None:
        with suppress(Exists):
            self.things.create(name)


BUG = OutsideBug(
    "strimzi/strimzi-kafka-operator#306", "answer lost", NamedThings, Creates, TakesExistingForCreated, declare
)
