# SPDX-License-Identifier: Apache-2.0
"""pravega/zookeeper-operator#453: what stays in the end depends on whether the first declaration was read.

The report says that the state of a database at its creation is missed; the miniature follows the plan of Sieve that
reproduces it. The value written once, at first sight, is not the one declared later.
"""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, World, name_of, servers

from controller_runtime.resources import CONFIG_MAPS, STATEFUL_SETS


class Buggy(Operator):
    kinds = (STATEFUL_SETS, CONFIG_MAPS)

    def run(self, database: Body) -> None:
        name, wanted = name_of(database), database["spec"]["servers"]
        self.write_config(name, database, {"data": {"ensemble": str(wanted)}})
        present = self.see(STATEFUL_SETS, name)
        if present is None:
            self.bring(STATEFUL_SETS, name, database, servers(database, wanted))
        elif present["spec"]["replicas"] != wanted:
            self.patch(STATEFUL_SETS, name, {"spec": {"replicas": wanted}})

    def write_config(self, name: str, database: Body, body: Body) -> None:
        self.bring(CONFIG_MAPS, name, database, body)


class Mended(Buggy):
    def write_config(self, name: str, database: Body, body: Body) -> None:
        present = self.see(CONFIG_MAPS, name)
        if present is not None and present["data"] != body["data"]:
            self.patch(CONFIG_MAPS, name, body)
        super().write_config(name, database, body)


def story(world: World) -> None:
    world.declare(servers=2)
    world.change(servers=1)


BUG = Bug("pravega/zookeeper-operator#453", "missed", Buggy, Mended, story)
