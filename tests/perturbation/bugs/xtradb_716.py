# SPDX-License-Identifier: Apache-2.0
"""K8SPXC-716 (percona-xtradb-cluster-operator): a living database loses its data to the end of an earlier one.

At its end a database may ask that its claims go. They are found by the name of the set that they were made for.
"""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, ReadsLatest, World, is_going, name_of, servers, uid_of

from controller_runtime.resources import PERSISTENT_VOLUME_CLAIMS, STATEFUL_SETS


class Buggy(Operator):
    kinds = (STATEFUL_SETS, PERSISTENT_VOLUME_CLAIMS)

    def run(self, database: Body) -> None:
        name = f"{name_of(database)}-pxc"
        if not is_going(database):
            self.hold(database)
            self.bring(STATEFUL_SETS, name, database, servers(database, 2, retain=True))
            return
        for each in self.seen(STATEFUL_SETS, of=uid_of(database)):
            self.drop(STATEFUL_SETS, name_of(each), uid=uid_of(each))
        for claim in self.seen(PERSISTENT_VOLUME_CLAIMS):
            if name_of(claim).startswith(f"data-{name}-") and self.is_own(claim, database):
                self.drop(PERSISTENT_VOLUME_CLAIMS, name_of(claim), uid=uid_of(claim))
        self.release(database)

    def is_own(self, claim: Body, database: Body) -> bool:
        return True


class Mended(ReadsLatest, Buggy):
    def is_own(self, claim: Body, database: Body) -> bool:
        return bool(claim["metadata"]["labels"]["of"] == uid_of(database))


def story(world: World) -> None:
    world.declare()
    world.delete()
    world.declare()


BUG = Bug("K8SPXC-716", "stale", Buggy, Mended, story)
