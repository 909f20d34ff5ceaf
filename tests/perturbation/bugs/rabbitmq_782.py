# SPDX-License-Identifier: Apache-2.0
"""rabbitmq/cluster-operator#782: after a crash between two steps of growing a volume, the claim never grows.

To grow, the set is deleted, then the claims are changed, then the set is made again. If the operator ends after the
first step, it finds no set, makes one of the new size, and sees nothing left to do.
"""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, ReadsLatest, World, name_of, servers, uid_of

from controller_runtime.resources import PERSISTENT_VOLUME_CLAIMS, STATEFUL_SETS


class Buggy(Operator):
    kinds = (STATEFUL_SETS, PERSISTENT_VOLUME_CLAIMS)

    def run(self, database: Body) -> None:
        self.replace(database)

    def replace(self, database: Body) -> None:
        name, wanted = name_of(database), database["spec"]["storage"]
        present = self.see(STATEFUL_SETS, name)
        if present is None:
            self.bring(STATEFUL_SETS, name, database, servers(database, 1, wanted, retain=True))
        elif present["spec"]["template"]["metadata"]["annotations"]["storage"] != wanted:
            self.drop(STATEFUL_SETS, name, uid=uid_of(present))
            self.grow(database)

    def grow(self, database: Body) -> None:
        wanted = database["spec"]["storage"]
        for claim in self.seen(PERSISTENT_VOLUME_CLAIMS, of=uid_of(database)):
            requests = claim["spec"]["resources"]["requests"]
            if requests["storage"] != wanted:
                change = {"spec": {"resources": {"requests": {"storage": wanted}}}}
                self.patch(PERSISTENT_VOLUME_CLAIMS, name_of(claim), change)


class Mended(ReadsLatest, Buggy):
    def replace(self, database: Body) -> None:
        self.grow(database)
        super().replace(database)


def story(world: World) -> None:
    world.declare(storage="10Gi")
    world.change(storage="15Gi")


BUG = Bug("rabbitmq/cluster-operator#782", "crash", Buggy, Mended, story)
