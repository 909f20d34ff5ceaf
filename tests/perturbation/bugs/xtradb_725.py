# SPDX-License-Identifier: Apache-2.0
"""K8SPXC-725 (percona-xtradb-cluster-operator): the proxy is deleted because an old cache shows that it is disabled."""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, ReadsLatest, World, name_of, servers, uid_of

from controller_runtime.resources import SERVICES, STATEFUL_SETS


class Buggy(Operator):
    kinds = (STATEFUL_SETS, SERVICES)

    def run(self, database: Body) -> None:
        name = f"{name_of(database)}-haproxy"
        service = {"spec": {"ports": [{"port": 3306}], "clusterIP": "None"}}
        for kind, body in ((STATEFUL_SETS, servers(database, 1)), (SERVICES, service)):
            present = self.see(kind, name)
            if database["spec"].get("haproxy"):
                self.bring(kind, name, database, body)
            elif present is not None:
                self.drop(kind, name, uid=uid_of(present))


class Mended(ReadsLatest, Buggy):
    pass


def story(world: World) -> None:
    world.declare(haproxy=True)
    world.change(haproxy=None)
    world.change(haproxy=True)


BUG = Bug("K8SPXC-725", "stale", Buggy, Mended, story)
