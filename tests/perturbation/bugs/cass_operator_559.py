# SPDX-License-Identifier: Apache-2.0
"""datastax/cass-operator#412 (K8SSAND-559): the claims of a living database are deleted for an earlier one of its name.

A deleted database stays until its claims are deleted, and these are found by its name.
"""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, ReadsLatest, World, is_going, name_of, servers, uid_of

from controller_runtime.resources import PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS


class Buggy(Operator):
    kinds = (STATEFUL_SETS, PODS, PERSISTENT_VOLUME_CLAIMS)

    def run(self, database: Body) -> None:
        if not is_going(database):
            self.hold(database)
            self.bring(STATEFUL_SETS, name_of(database), database, servers(database, 1, retain=True))
            return
        for each in self.seen(STATEFUL_SETS, of=uid_of(database)):
            self.drop(STATEFUL_SETS, name_of(each), uid=uid_of(each))
        if not self.seen(PODS, of=uid_of(database)):
            for claim in self.claims_of(database):
                self.drop(PERSISTENT_VOLUME_CLAIMS, name_of(claim), uid=uid_of(claim))
            self.release(database)

    def claims_of(self, database: Body) -> list[Body]:
        return self.seen(PERSISTENT_VOLUME_CLAIMS, db=name_of(database))


class Mended(ReadsLatest, Buggy):
    def claims_of(self, database: Body) -> list[Body]:
        return self.seen(PERSISTENT_VOLUME_CLAIMS, of=uid_of(database))


def story(world: World) -> None:
    world.declare()
    world.delete()
    world.declare()


BUG = Bug("datastax/cass-operator#412 (K8SSAND-559)", "stale", Buggy, Mended, story)
