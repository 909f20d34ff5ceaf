# SPDX-License-Identifier: Apache-2.0
"""K8SPXC-896 (Percona XtraDB): after a crash the second of two secrets with certificates is never made.

Both are made when the first is missing.
"""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, World, name_of, owned

from controller_runtime.resources import SECRETS


class Buggy(Operator):
    kinds = (SECRETS,)

    def run(self, database: Body) -> None:
        name = name_of(database)
        if self.see(SECRETS, f"{name}-ssl") is None:
            for part in ("ssl", "ssl-internal"):
                self.make(SECRETS, f"{name}-{part}", owned(database, {}))


class Mended(Operator):
    kinds = (SECRETS,)

    def run(self, database: Body) -> None:
        for part in ("ssl", "ssl-internal"):
            self.bring(SECRETS, f"{name_of(database)}-{part}", database)


def story(world: World) -> None:
    world.declare()


BUG = Bug("K8SPXC-896", "crash", Buggy, Mended, story)
