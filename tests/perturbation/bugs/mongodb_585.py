# SPDX-License-Identifier: Apache-2.0
"""K8SPSMDB-585 (percona-server-mongodb-operator): a claim stays only if a declaration in between was read.

Without an arbiter there is one more server with data. When the arbiter comes back, that server goes, and its claim
stays. The mended operator has the claims deleted with their servers.
"""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, ReadsLatest, World, name_of, servers

from controller_runtime.resources import STATEFUL_SETS


class Buggy(Operator):
    kinds = (STATEFUL_SETS,)
    retain = True

    def run(self, database: Body) -> None:
        name, wanted = name_of(database), 2 if database["spec"]["arbiter"] else 3
        present = self.see(STATEFUL_SETS, name)
        if present is None:
            self.bring(STATEFUL_SETS, name, database, servers(database, wanted, retain=self.retain))
        elif present["spec"]["replicas"] != wanted:
            self.patch(STATEFUL_SETS, name, {"spec": {"replicas": wanted}})


class Mended(ReadsLatest, Buggy):
    retain = False


def story(world: World) -> None:
    world.declare(arbiter=True)
    world.change(arbiter=False)
    world.change(arbiter=True)


BUG = Bug("K8SPSMDB-585", "missed", Buggy, Mended, story)
