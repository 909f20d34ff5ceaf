# SPDX-License-Identifier: Apache-2.0
"""K8SPXC-979 (percona-xtradb-cluster-operator): after a crash a deleted database never goes.

At its end the set is deleted, and then the rest. If the operator ends in between, it finds no set, and stops there.
"""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, ReadsLatest, World, is_going, name_of, servers, uid_of

from controller_runtime.resources import PERSISTENT_VOLUME_CLAIMS, STATEFUL_SETS


class Buggy(Operator):
    kinds = (STATEFUL_SETS, PERSISTENT_VOLUME_CLAIMS)

    def run(self, database: Body) -> None:
        if not is_going(database):
            self.hold(database)
            self.bring(STATEFUL_SETS, name_of(database), database, servers(database, 1, retain=True))
            return
        present = self.ask(STATEFUL_SETS, name_of(database))
        if present is None and self.stops_without_set:
            return
        if present is not None:
            self.drop(STATEFUL_SETS, name_of(database), uid=uid_of(present))
        for claim in self.seen(PERSISTENT_VOLUME_CLAIMS, of=uid_of(database)):
            self.drop(PERSISTENT_VOLUME_CLAIMS, name_of(claim), uid=uid_of(claim))
        self.release(database)

    stops_without_set = True


class Mended(ReadsLatest, Buggy):
    stops_without_set = False


def story(world: World) -> None:
    world.declare()
    world.delete()


BUG = Bug("K8SPXC-979", "crash", Buggy, Mended, story)
