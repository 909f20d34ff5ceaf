# SPDX-License-Identifier: Apache-2.0
"""rabbitmq/cluster-operator#758: what runs in the end depends on whether a declaration in between was read.

Fewer servers than there are is refused. From one to three to two, three stay if the three were seen, and two are
started if they were not. The mended operator follows the last declaration.
"""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, ReadsLatest, World, name_of, servers

from controller_runtime.resources import STATEFUL_SETS


class Scaling(Operator):
    kinds = (STATEFUL_SETS,)

    def run(self, database: Body) -> None:
        name, wanted = name_of(database), database["spec"]["servers"]
        present = self.see(STATEFUL_SETS, name)
        if present is None:
            self.bring(STATEFUL_SETS, name, database, servers(database, wanted))
        elif self.may_change(present["spec"]["replicas"], wanted):
            self.patch(STATEFUL_SETS, name, {"spec": {"replicas": wanted}})

    def may_change(self, present: int, wanted: int) -> bool:
        return present != wanted


class Mended(ReadsLatest, Scaling):
    pass


class Buggy(Scaling):
    def may_change(self, present: int, wanted: int) -> bool:
        return present < wanted


def story(world: World) -> None:
    world.declare(servers=1)
    world.change(servers=3)
    world.change(servers=2)


BUG = Bug("rabbitmq/cluster-operator#758", "missed", Buggy, Mended, story)
