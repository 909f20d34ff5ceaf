# SPDX-License-Identifier: Apache-2.0
"""rabbitmq/cluster-operator#648: a living stateful set is deleted because an earlier database of its name was.

After a restart the cache may show the earlier database, which is being deleted. Its set is deleted by name alone.
"""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, ReadsLatest, World, is_going, name_of, servers, uid_of

from controller_runtime.resources import STATEFUL_SETS


class Buggy(Operator):
    kinds = (STATEFUL_SETS,)

    def run(self, database: Body) -> None:
        if is_going(database):
            self.clean_up(database)
            self.release(database)
        else:
            self.hold(database)
            self.bring(STATEFUL_SETS, name_of(database), database, servers(database, 1))

    def clean_up(self, database: Body) -> None:
        self.drop(STATEFUL_SETS, name_of(database))


class Mended(ReadsLatest, Buggy):
    def clean_up(self, database: Body) -> None:
        for each in self.seen(STATEFUL_SETS, of=uid_of(database)):
            self.drop(STATEFUL_SETS, name_of(each), uid=uid_of(each))


def story(world: World) -> None:
    world.declare()
    world.delete()
    world.declare()


BUG = Bug("rabbitmq/cluster-operator#648", "stale", Buggy, Mended, story)
