# SPDX-License-Identifier: Apache-2.0
"""K8SPSMDB-438 (Percona MongoDB): the arbiter is deleted because an old cache shows that there is none."""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, ReadsLatest, World, name_of, servers, uid_of

from controller_runtime.resources import STATEFUL_SETS


class Buggy(Operator):
    kinds = (STATEFUL_SETS,)

    def run(self, database: Body) -> None:
        arbiter = f"{name_of(database)}-arbiter"
        present = self.see(STATEFUL_SETS, arbiter)
        if database["spec"]["arbiter"]:
            self.bring(STATEFUL_SETS, arbiter, database, servers(database, 1))
        elif present is not None:
            self.drop(STATEFUL_SETS, arbiter, uid=uid_of(present))


class Mended(ReadsLatest, Buggy):
    pass


def story(world: World) -> None:
    world.declare(arbiter=True)
    world.change(arbiter=False)
    world.change(arbiter=True)


BUG = Bug("K8SPSMDB-438", "stale", Buggy, Mended, story)
