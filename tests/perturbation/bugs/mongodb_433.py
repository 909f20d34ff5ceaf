# SPDX-License-Identifier: Apache-2.0
"""K8SPSMDB-433 (Percona MongoDB): the config servers are deleted since an old cache shows no sharding."""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, ReadsLatest, World, name_of, servers

from controller_runtime.resources import STATEFUL_SETS


class Buggy(Operator):
    kinds = (STATEFUL_SETS,)

    def run(self, database: Body) -> None:
        name = name_of(database)
        self.bring(STATEFUL_SETS, f"{name}-rs0", database, servers(database, 1))
        for part in ("cfg", "mongos"):
            if database["spec"]["sharding"]["enabled"]:
                self.bring(STATEFUL_SETS, f"{name}-{part}", database, servers(database, 1))
            elif self.see(STATEFUL_SETS, f"{name}-{part}") is not None:
                self.drop(STATEFUL_SETS, f"{name}-{part}")


class Mended(ReadsLatest, Buggy):
    pass


def story(world: World) -> None:
    world.declare(sharding={"enabled": True})
    world.change(sharding={"enabled": False})
    world.change(sharding={"enabled": True})


BUG = Bug("K8SPSMDB-433", "stale", Buggy, Mended, story)
