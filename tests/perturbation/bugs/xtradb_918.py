# SPDX-License-Identifier: Apache-2.0
"""K8SPXC-918 (percona-xtradb-cluster-operator): claims stay only if a declaration in between was read.

From one to two to one server, the second claim stays if the two were seen. The mended operator deletes claims that
no server is declared for.
"""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, World
from perturbation.bugs.cassandra_407 import Mended, Scaling


class Buggy(Scaling):
    def clean_up(self, database: Body) -> None:
        pass


def story(world: World) -> None:
    world.declare(servers=1)
    world.change(servers=2)
    world.change(servers=1)


BUG = Bug("K8SPXC-918", "missed", Buggy, Mended, story)
