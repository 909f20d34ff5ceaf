# SPDX-License-Identifier: Apache-2.0
"""Orange-OpenSource/casskop#321: a disruption budget is replaced by one of an earlier declaration.

A budget is deleted and made again when it differs from the declaration. After a restart the cache may show the
declaration before the last, and the operator stands still while too many disruptions are forbidden.
"""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, ReadsLatest, World, name_of, uid_of

from controller_runtime.resources import POD_DISRUPTION_BUDGETS


class Buggy(Operator):
    kinds = (POD_DISRUPTION_BUDGETS,)

    def run(self, database: Body) -> None:
        name, wanted = name_of(database), database["spec"]["unavailable"]
        present = self.see(POD_DISRUPTION_BUDGETS, name)
        if present is None:
            selector = {"matchLabels": {"db": name}}
            self.bring(
                POD_DISRUPTION_BUDGETS, name, database, {"spec": {"maxUnavailable": wanted, "selector": selector}}
            )
        elif present["spec"]["maxUnavailable"] != wanted:
            self.drop(POD_DISRUPTION_BUDGETS, name, uid=uid_of(present))


class Mended(ReadsLatest, Buggy):
    pass


def story(world: World) -> None:
    world.declare(unavailable=4)
    world.change(unavailable=1)


BUG = Bug("Orange-OpenSource/casskop#321", "stale", Buggy, Mended, story)
