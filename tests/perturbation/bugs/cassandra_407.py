# SPDX-License-Identifier: Apache-2.0
"""instaclustr/cassandra-operator#407: the claim of a living pod is deleted for an earlier pod of its name.

A pod that is being deleted after a scale-down takes its claim along. After a restart the cache may show that pod,
though the scale-up has made another one of its name, on a claim of the same name.
"""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, ReadsLatest, World, is_going, name_of, servers, uid_of

from controller_runtime.resources import PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS


class Scaling(Operator):
    kinds = (STATEFUL_SETS, PODS, PERSISTENT_VOLUME_CLAIMS)

    def run(self, database: Body) -> None:
        name, wanted = name_of(database), database["spec"]["servers"]
        present = self.see(STATEFUL_SETS, name)
        if present is None:
            self.bring(STATEFUL_SETS, name, database, servers(database, wanted, retain=True))
        elif present["spec"]["replicas"] != wanted:
            self.patch(STATEFUL_SETS, name, {"spec": {"replicas": wanted}})
        self.clean_up(database)

    def clean_up(self, database: Body) -> None:
        raise NotImplementedError


class Buggy(Scaling):
    def clean_up(self, database: Body) -> None:
        for pod in self.seen(PODS, of=uid_of(database)):
            if is_going(pod):
                self.drop(PERSISTENT_VOLUME_CLAIMS, f"data-{name_of(pod)}")


class Mended(ReadsLatest, Scaling):
    """Deletes the claims that no pod is declared for, once the server says that their pods are gone."""

    def clean_up(self, database: Body) -> None:
        for claim in self.seen(PERSISTENT_VOLUME_CLAIMS, of=uid_of(database)):
            pod = name_of(claim).removeprefix("data-")
            is_spare = int(pod.rpartition("-")[2]) >= database["spec"]["servers"]
            if is_spare and self.ask(PODS, pod) is None:
                self.drop(PERSISTENT_VOLUME_CLAIMS, name_of(claim), uid=uid_of(claim))


def story(world: World) -> None:
    world.declare(servers=2)
    world.change(servers=1)
    world.change(servers=2)


BUG = Bug("instaclustr/cassandra-operator#407", "stale", Buggy, Mended, story)
