# SPDX-License-Identifier: Apache-2.0
"""The HTTP client sends a POST again whose answer was lost, and an address is taken twice."""

from __future__ import annotations

from kit.perturbation.miniatures import Body, name_of
from kit.perturbation.outsides import Manages, Numbered, OutsideBug, declare


class Looks(Manages):
    def bring_about(self, database: Body) -> None:
        found = self.things.of(name_of(database))
        self.report(database, address=found[0] if found else self.post(name_of(database)))

    def post(self, owner: str) -> str:
        return str(self.things.add(owner=owner))


class SendsAgain(Looks):
    def post(self, owner: str) -> str:
        try:
            return super().post(owner)
        except (ConnectionError, TimeoutError):
            return super().post(owner)


BUG = OutsideBug("digitalocean/netbox-ip-controller#14", "answer lost", Numbered, SendsAgain, Looks, declare)
