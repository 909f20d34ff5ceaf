# SPDX-License-Identifier: Apache-2.0
"""yugabyte/yugabyte-operator#39: what runs in the end depends on whether a declaration in between was read.

There must be as many servers as replicas of the data, so fewer are refused: two stay if two were seen, and one if
not. The mended operator runs as many as the larger number says.
"""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, ReadsLatest, World, name_of, servers

from controller_runtime.resources import STATEFUL_SETS


class Buggy(Operator):
    kinds = (STATEFUL_SETS,)

    def run(self, database: Body) -> None:
        name, wanted = name_of(database), self.wanted(database["spec"])
        present = self.see(STATEFUL_SETS, name)
        if present is None:
            self.bring(STATEFUL_SETS, name, database, servers(database, wanted))
        elif present["spec"]["replicas"] != wanted and wanted >= database["spec"]["factor"]:
            self.patch(STATEFUL_SETS, name, {"spec": {"replicas": wanted}})

    def wanted(self, spec: Body) -> int:
        return int(spec["servers"])


class Mended(ReadsLatest, Buggy):
    def wanted(self, spec: Body) -> int:
        return max(int(spec["servers"]), int(spec["factor"]))


def story(world: World) -> None:
    world.declare(factor=1, servers=1)
    world.change(factor=2, servers=2)
    world.change(factor=2, servers=1)


BUG = Bug("yugabyte/yugabyte-operator#39", "missed", Buggy, Mended, story)
