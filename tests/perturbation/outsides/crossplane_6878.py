# SPDX-License-Identifier: Apache-2.0
"""The service cannot be reached when it is asked what there is, and the object goes as if there were nothing."""

from __future__ import annotations

from contextlib import suppress

from kit.perturbation.miniatures import Body, name_of
from kit.perturbation.outsides import Manages, OutsideBug, declare_and_delete

from controller_runtime.testing.outside.things import Missing, NamedThings


class Asks(Manages):
    unseen: tuple[type[Exception], ...] = (Missing,)

    def bring_about(self, database: Body) -> None:
        self.things.put(name_of(database))

    def take_away(self, database: Body) -> None:
        if self.exists(name_of(database)):
            with suppress(Missing):
                self.things.delete(name_of(database))

    def exists(self, name: str) -> bool:
        try:
            self.things.get(name)
        except self.unseen:
            return False
        return True


class TakesErrorsForAbsence(Asks):
    unseen = (Missing, ConnectionError, TimeoutError)


BUG = OutsideBug("crossplane/crossplane#6878", "refused", NamedThings, TakesErrorsForAbsence, Asks, declare_and_delete)
