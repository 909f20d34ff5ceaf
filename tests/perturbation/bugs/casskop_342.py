# SPDX-License-Identifier: Apache-2.0
"""Orange-OpenSource/casskop#342: how many servers stay depends on whether a declaration in between was read.

Zero servers are refused, and what ran before goes on: one if the declaration of one was read, two if it was not. The
mended operator stops them all.
"""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, ReadsLatest, World, name_of, servers

from controller_runtime.resources import STATEFUL_SETS


class Scaling(Operator):
    kinds = (STATEFUL_SETS,)

    def run(self, database: Body) -> None:
        name, wanted = name_of(database), database["spec"]["servers"]
        present = self.see(STATEFUL_SETS, name)
        if self.refuses(wanted):
            return
        if present is None:
            self.bring(STATEFUL_SETS, name, database, servers(database, wanted))
        elif present["spec"]["replicas"] != wanted:
            self.patch(STATEFUL_SETS, name, {"spec": {"replicas": wanted}})

    def refuses(self, wanted: int) -> bool:
        return False


class Mended(ReadsLatest, Scaling):
    pass


class Buggy(Scaling):
    def refuses(self, wanted: int) -> bool:
        return wanted == 0


def story(world: World) -> None:
    world.declare(servers=2)
    world.change(servers=1)
    world.change(servers=0)


BUG = Bug("Orange-OpenSource/casskop#342", "missed", Buggy, Mended, story)
