# SPDX-License-Identifier: Apache-2.0
"""rabbitmq/cluster-operator#653: a stateful set is replaced by one with the smaller claims of an earlier declaration.

The storage of a set cannot be changed, so the set is deleted and made again. After a restart the cache may show the
declaration before the last, and the set is replaced twice.
"""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, ReadsLatest, World, name_of, servers

from controller_runtime.resources import STATEFUL_SETS


class Buggy(Operator):
    kinds = (STATEFUL_SETS,)

    def run(self, database: Body) -> None:
        name, wanted = name_of(database), database["spec"]["storage"]
        present = self.see(STATEFUL_SETS, name)
        if present is not None and storage_of(present) != wanted:
            self.drop(STATEFUL_SETS, name, uid=present["metadata"]["uid"])
        elif present is None:
            self.bring(STATEFUL_SETS, name, database, servers(database, 1, wanted))


class Mended(ReadsLatest, Buggy):
    pass


def storage_of(servers: Body) -> str:
    return str(servers["spec"]["template"]["metadata"]["annotations"]["storage"])


def story(world: World) -> None:
    world.declare(storage="10Gi")
    world.change(storage="15Gi")


BUG = Bug("rabbitmq/cluster-operator#653", "stale", Buggy, Mended, story)
