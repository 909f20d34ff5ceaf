# SPDX-License-Identifier: Apache-2.0
"""yugabyte/yugabyte-operator#35: the certificates are deleted because an old cache shows that TLS is off."""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, ReadsLatest, World, name_of, uid_of

from controller_runtime.resources import SECRETS


class Buggy(Operator):
    kinds = (SECRETS,)

    def run(self, database: Body) -> None:
        for part in ("master", "tserver"):
            name = f"{name_of(database)}-{part}-tls-cert"
            present = self.see(SECRETS, name)
            if database["spec"]["tls"]:
                self.bring(SECRETS, name, database)
            elif present is not None:
                self.drop(SECRETS, name, uid=uid_of(present))


class Mended(ReadsLatest, Buggy):
    pass


def story(world: World) -> None:
    world.declare(tls=False)
    world.change(tls=True)


BUG = Bug("yugabyte/yugabyte-operator#35", "stale", Buggy, Mended, story)
