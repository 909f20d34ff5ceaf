# SPDX-License-Identifier: Apache-2.0
"""K8SPSMDB-579 (Percona MongoDB): after a crash the second of two requests for certificates is never made.

With a certificate manager, the operator writes an issuer and two requests, here as config maps. It takes the secret
that comes of the first for a sign that all was done.
"""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, World, name_of

from controller_runtime.resources import CONFIG_MAPS


class Buggy(Operator):
    kinds = (CONFIG_MAPS,)

    def run(self, database: Body) -> None:
        name = name_of(database)
        if not self.is_done(database):
            for part in ("issuer", "ssl", "ssl-internal"):
                self.bring(CONFIG_MAPS, f"{name}-{part}", database)

    def is_done(self, database: Body) -> bool:
        return self.see(CONFIG_MAPS, f"{name_of(database)}-ssl") is not None


class Mended(Buggy):
    def is_done(self, database: Body) -> bool:
        return False


def story(world: World) -> None:
    world.declare()


BUG = Bug("K8SPSMDB-579", "crash", Buggy, Mended, story)
