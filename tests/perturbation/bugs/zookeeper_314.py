# SPDX-License-Identifier: Apache-2.0
"""pravega/zookeeper-operator#314: after a scale-up, a server and its data go as an old cache shows fewer servers."""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, ReadsLatest, World, name_of, servers, uid_of

from controller_runtime.resources import PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS


class Buggy(Operator):
    kinds = (STATEFUL_SETS, PODS, PERSISTENT_VOLUME_CLAIMS)

    def run(self, database: Body) -> None:
        name, wanted = name_of(database), database["spec"]["servers"]
        present = self.see(STATEFUL_SETS, name)
        if present is None:
            self.bring(STATEFUL_SETS, name, database, servers(database, wanted, retain=True))
        elif present["spec"]["replicas"] != wanted:
            self.patch(STATEFUL_SETS, name, {"spec": {"replicas": wanted}})
        for claim in self.seen(PERSISTENT_VOLUME_CLAIMS, of=uid_of(database)):
            if int(name_of(claim).rpartition("-")[2]) >= wanted and self.has_ended(claim):
                self.drop(PERSISTENT_VOLUME_CLAIMS, name_of(claim), uid=uid_of(claim))

    def has_ended(self, claim: Body) -> bool:
        return self.ask(PODS, name_of(claim).removeprefix("data-")) is None


class Mended(ReadsLatest, Buggy):
    pass


def story(world: World) -> None:
    world.declare(servers=2)
    world.change(servers=1)
    world.change(servers=2)


BUG = Bug("pravega/zookeeper-operator#314", "stale", Buggy, Mended, story)
