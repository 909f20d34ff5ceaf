# SPDX-License-Identifier: Apache-2.0
"""elastic/cloud-on-k8s#5274: after a scale-up, servers are stopped because an old cache shows the smaller number."""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, ReadsLatest, World, name_of, servers

from controller_runtime.resources import STATEFUL_SETS


class Buggy(Operator):
    kinds = (STATEFUL_SETS,)

    def run(self, database: Body) -> None:
        for node_set in database["spec"]["nodeSets"]:
            name, wanted = f"{name_of(database)}-{node_set['name']}", node_set["count"]
            present = self.see(STATEFUL_SETS, name)
            if present is None:
                self.bring(STATEFUL_SETS, name, database, servers(database, wanted))
            elif present["spec"]["replicas"] != wanted:
                self.patch(STATEFUL_SETS, name, {"spec": {"replicas": wanted}})


class Mended(ReadsLatest, Buggy):
    pass


def story(world: World) -> None:
    world.declare(nodeSets=[{"name": "data", "count": 1}])
    world.change(nodeSets=[{"name": "data", "count": 2}])


BUG = Bug("elastic/cloud-on-k8s#5274", "stale", Buggy, Mended, story)
