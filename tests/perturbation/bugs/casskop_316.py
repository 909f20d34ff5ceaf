# SPDX-License-Identifier: Apache-2.0
"""Orange-OpenSource/casskop#316: the claims of a living database are deleted for an earlier one, by computed names."""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, ReadsLatest, World, is_going, name_of, servers, uid_of

from controller_runtime.resources import PERSISTENT_VOLUME_CLAIMS, STATEFUL_SETS


class Buggy(Operator):
    kinds = (STATEFUL_SETS, PERSISTENT_VOLUME_CLAIMS)

    def run(self, database: Body) -> None:
        racks = [f"{name_of(database)}-{rack}" for rack in database["spec"]["racks"]]
        if not is_going(database):
            self.hold(database)
            for rack in racks:
                self.bring(STATEFUL_SETS, rack, database, servers(database, 1, retain=True))
            return
        for each in self.seen(STATEFUL_SETS, of=uid_of(database)):
            self.drop(STATEFUL_SETS, name_of(each), uid=uid_of(each))
        for rack in racks:
            self.drop_claim(f"data-{rack}-0", database)
        self.release(database)

    def drop_claim(self, name: str, database: Body) -> None:
        self.drop(PERSISTENT_VOLUME_CLAIMS, name)


class Mended(ReadsLatest, Buggy):
    def drop_claim(self, name: str, database: Body) -> None:
        claim = self.ask(PERSISTENT_VOLUME_CLAIMS, name)
        if claim is not None and claim["metadata"]["labels"]["of"] == uid_of(database):
            self.drop(PERSISTENT_VOLUME_CLAIMS, name, uid=uid_of(claim))


def story(world: World) -> None:
    world.declare(racks=["a", "b"])
    world.delete()
    world.declare(racks=["a", "b"])


BUG = Bug("Orange-OpenSource/casskop#316", "stale", Buggy, Mended, story)
