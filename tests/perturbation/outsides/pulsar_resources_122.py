# SPDX-License-Identifier: Apache-2.0
"""The thing is deleted, the finalizer is still there, and the next deletion is answered with 'not found' for good."""

from __future__ import annotations

from contextlib import suppress

from kit.perturbation.miniatures import Body, name_of
from kit.perturbation.outsides import Manages, OutsideBug, declare_and_delete, retried

from controller_runtime.testing.outside.things import Missing, NamedThings


class Deletes(Manages):
    def bring_about(self, database: Body) -> None:
        self.things.put(name_of(database))

    def take_away(self, database: Body) -> None:
        with retried(Missing):
            self.things.delete(name_of(database))


class TakesGoneForDeleted(Deletes):
    def take_away(self, database: Body) -> None:
        with suppress(Missing):
            self.things.delete(name_of(database))


BUG = OutsideBug(
    "streamnative/pulsar-resources-operator#122",
    "crash after",
    NamedThings,
    Deletes,
    TakesGoneForDeleted,
    declare_and_delete,
)
