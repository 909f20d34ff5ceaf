# SPDX-License-Identifier: Apache-2.0
"""instaclustr/cassandra-operator#402: claims are deleted for an earlier database of the same datacenter.

Databases of different names may declare the same datacenter, one after the other. The claims are found by it.
"""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, ReadsLatest, World, is_going, name_of, servers, uid_of

from controller_runtime.resources import PERSISTENT_VOLUME_CLAIMS, STATEFUL_SETS


class Buggy(Operator):
    kinds = (STATEFUL_SETS, PERSISTENT_VOLUME_CLAIMS)

    def run(self, database: Body) -> None:
        datacenter = database["spec"]["datacenter"]
        if not is_going(database):
            self.hold(database)
            self.bring(STATEFUL_SETS, datacenter, database, servers(database, 1, retain=True))
            return
        for each in self.seen(STATEFUL_SETS, of=uid_of(database)):
            self.drop(STATEFUL_SETS, name_of(each), uid=uid_of(each))
        for claim in self.seen(PERSISTENT_VOLUME_CLAIMS):
            if name_of(claim).startswith(f"data-{datacenter}-") and self.may_delete(claim, database):
                self.drop(PERSISTENT_VOLUME_CLAIMS, name_of(claim), uid=uid_of(claim))
        self.release(database)

    def may_delete(self, claim: Body, database: Body) -> bool:
        return True


class Mended(ReadsLatest, Buggy):
    def may_delete(self, claim: Body, database: Body) -> bool:
        return bool(claim["metadata"]["labels"]["of"] == uid_of(database))


def story(world: World) -> None:
    world.declare("first", datacenter="dc")
    world.delete("first")
    world.declare("second", datacenter="dc")


BUG = Bug("instaclustr/cassandra-operator#402", "stale", Buggy, Mended, story)
