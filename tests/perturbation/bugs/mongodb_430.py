# SPDX-License-Identifier: Apache-2.0
"""K8SPSMDB-430 (percona-server-mongodb-operator): a living database loses its data to the end of an earlier one."""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, ReadsLatest, World, is_going, name_of, servers, uid_of

from controller_runtime.resources import PERSISTENT_VOLUME_CLAIMS, STATEFUL_SETS


class Buggy(Operator):
    kinds = (STATEFUL_SETS, PERSISTENT_VOLUME_CLAIMS)

    def run(self, database: Body) -> None:
        if is_going(database):
            self.clean_up(database)
        else:
            self.hold(database)
            self.bring(STATEFUL_SETS, name_of(database), database, servers(database, 1, retain=True))

    def clean_up(self, database: Body) -> None:
        for kind in (STATEFUL_SETS, PERSISTENT_VOLUME_CLAIMS):
            for each in self.seen(kind, db=name_of(database)):
                self.drop(kind, name_of(each), uid=uid_of(each))
        self.release(database)


class Mended(ReadsLatest, Buggy):
    """Asks whether the database is still there before it makes or deletes anything."""


def story(world: World) -> None:
    world.declare()
    world.delete()
    world.declare()


BUG = Bug("K8SPSMDB-430", "stale", Buggy, Mended, story)
