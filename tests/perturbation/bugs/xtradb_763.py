# SPDX-License-Identifier: Apache-2.0
"""K8SPXC-763 (percona-xtradb-cluster-operator): ProxySQL and its data go because an old cache shows it as disabled."""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, ReadsLatest, World, name_of, servers, uid_of

from controller_runtime.resources import STATEFUL_SETS


class Buggy(Operator):
    kinds = (STATEFUL_SETS,)

    def run(self, database: Body) -> None:
        declared = {"pxc": True, "proxysql": database["spec"]["proxysql"]["enabled"]}
        for part, enabled in declared.items():
            name = f"{name_of(database)}-{part}"
            present = self.see(STATEFUL_SETS, name)
            if enabled:
                self.bring(STATEFUL_SETS, name, database, servers(database, 1))
            elif present is not None:
                self.drop(STATEFUL_SETS, name, uid=uid_of(present))


class Mended(ReadsLatest, Buggy):
    pass


def story(world: World) -> None:
    world.declare(proxysql={"enabled": True})
    world.change(proxysql={"enabled": False})
    world.change(proxysql={"enabled": True})


BUG = Bug("K8SPXC-763", "stale", Buggy, Mended, story)
