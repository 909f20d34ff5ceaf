# SPDX-License-Identifier: Apache-2.0
"""yugabyte/yugabyte-operator#36: a service is deleted because an old cache shows no port for it."""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, ReadsLatest, World, name_of, uid_of

from controller_runtime.resources import SERVICES


class Buggy(Operator):
    kinds = (SERVICES,)

    def run(self, database: Body) -> None:
        name, port = f"{name_of(database)}-ui", database["spec"]["uiPort"]
        present = self.see(SERVICES, name)
        if port > 0:
            self.bring(SERVICES, name, database, {"spec": {"ports": [{"port": port}], "clusterIP": "None"}})
        elif present is not None:
            self.drop(SERVICES, name, uid=uid_of(present))


class Mended(ReadsLatest, Buggy):
    pass


def story(world: World) -> None:
    world.declare(uiPort=-1)
    world.change(uiPort=7000)


BUG = Bug("yugabyte/yugabyte-operator#36", "stale", Buggy, Mended, story)
