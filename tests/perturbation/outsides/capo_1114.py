# SPDX-License-Identifier: Apache-2.0
"""A floating address is created, its use fails, and each further try creates another one."""

from __future__ import annotations

from kit.perturbation.miniatures import Body, name_of
from kit.perturbation.outsides import Manages, Numbered, OutsideBug, declare


class TakesAddresses(Manages):
    def bring_about(self, database: Body) -> None:
        if "address" in (database.get("status") or {}):
            return
        address = self.address(name_of(database))
        self.things.alter(address, bound="balancer")
        self.report(database, address=address)

    def address(self, owner: str) -> str:
        return str(self.things.add(owner=owner))


class TakesTheOneItHas(TakesAddresses):
    def address(self, owner: str) -> str:
        return next(iter(self.things.of(owner)), None) or super().address(owner)


BUG = OutsideBug(
    "kubernetes-sigs/cluster-api-provider-openstack#1114",
    "refused",
    Numbered,
    TakesAddresses,
    TakesTheOneItHas,
    declare,
)
