# SPDX-License-Identifier: Apache-2.0
"""rabbitmq/cluster-operator#648: an old deletion of a namesake is seen after a restart, and a living set deleted.

The set is deleted by its name when the cache says that its database is going. But the database of the cache can be
an earlier one of that name.
"""

from __future__ import annotations

from kit.miniatures import DATABASES, Body, Bug, Operator, World, is_going, name_of, uid_of
from kit.workloads import a_set

from controller_runtime import STATEFUL_SETS


class Buggy(Operator):
    kinds = (STATEFUL_SETS,)

    def run(self, database: Body) -> None:
        if is_going(database):
            self.clean_up(database)
            self.release(database)
        else:
            self.hold(database)
            if self.see(STATEFUL_SETS, name_of(database)) is None:
                self.make(STATEFUL_SETS, name_of(database), a_set(1, db=name_of(database)), of=uid_of(database))

    def clean_up(self, database: Body) -> None:
        self.drop(STATEFUL_SETS, name_of(database))


class Mended(Buggy):
    def clean_up(self, database: Body) -> None:
        for each in self.seen(STATEFUL_SETS, of=uid_of(database)):
            self.drop(STATEFUL_SETS, name_of(each), uid=uid_of(each))


def story(world: World) -> None:
    world.declare()
    world.delete()
    world.declare()


BUG = Bug("rabbitmq/cluster-operator#648", "stale", Buggy, Mended, story)
