# SPDX-License-Identifier: Apache-2.0
"""pravega/zookeeper-operator#312: the claims of a living database are deleted for an earlier one of its name.

The claims are deleted at the end of a database whose policy says so, and found by its name.
"""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, ReadsLatest, World, is_going, name_of, servers, uid_of

from controller_runtime.resources import PERSISTENT_VOLUME_CLAIMS, STATEFUL_SETS


class Buggy(Operator):
    kinds = (STATEFUL_SETS, PERSISTENT_VOLUME_CLAIMS)

    def run(self, database: Body) -> None:
        if is_going(database):
            for each in self.seen(STATEFUL_SETS, of=uid_of(database)):
                self.drop(STATEFUL_SETS, name_of(each), uid=uid_of(each))
            if database["spec"]["reclaimPolicy"] == "Delete":
                self.delete_claims(database)
            self.release(database)
        else:
            self.hold(database)
            self.bring(STATEFUL_SETS, name_of(database), database, servers(database, 1, retain=True))

    def delete_claims(self, database: Body) -> None:
        self.client.delete_collection(PERSISTENT_VOLUME_CLAIMS, "default", label_selector=f"db={name_of(database)}")


class Mended(ReadsLatest, Buggy):
    def delete_claims(self, database: Body) -> None:
        self.client.delete_collection(PERSISTENT_VOLUME_CLAIMS, "default", label_selector=f"of={uid_of(database)}")


def story(world: World) -> None:
    world.declare(reclaimPolicy="Delete")
    world.delete()
    world.declare(reclaimPolicy="Delete")


BUG = Bug("pravega/zookeeper-operator#312", "stale", Buggy, Mended, story)
