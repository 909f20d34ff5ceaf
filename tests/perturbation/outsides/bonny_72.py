# SPDX-License-Identifier: Apache-2.0
"""Without a finalizer a deletion that falls into a pause of the program is never carried out outside."""

from __future__ import annotations

from contextlib import suppress

from kit.perturbation.miniatures import Body, name_of
from kit.perturbation.outsides import Manages, OutsideBug, declare_and_delete, retried

from controller_runtime.testing.outside.things import Missing, NamedThings


class Finalizes(Manages):
    def bring_about(self, database: Body) -> None:
        self.things.put(name_of(database))

    def take_away(self, database: Body) -> None:
        with suppress(Missing):
            self.things.delete(name_of(database))


class HearsOfDeletions(Finalizes):
    def hold(self, database: Body) -> None:
        """Hold nothing."""

    def gone(self, name: str) -> None:
        with retried(), suppress(Missing):
            self.things.delete(name)


BUG = OutsideBug("coryodaniel/bonny#72", "crash before", NamedThings, HearsOfDeletions, Finalizes, declare_and_delete)
