# SPDX-License-Identifier: Apache-2.0
"""K8SSAND-1023 (cass-operator): after a crash the servers never start, for want of a secret.

The keystore is made from a certificate authority, in the same breath. Later the authority is found, and its keystore
taken for granted.
"""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, World, name_of, servers

from controller_runtime.resources import SECRETS, STATEFUL_SETS


class Buggy(Operator):
    kinds = (SECRETS, STATEFUL_SETS)

    def run(self, database: Body) -> None:
        name = name_of(database)
        if self.see(SECRETS, f"{name}-ca-keystore") is None:
            self.bring(SECRETS, f"{name}-ca-keystore", database)
            self.bring(SECRETS, f"{name}-keystore", database)
        if self.ask(SECRETS, f"{name}-keystore") is not None:
            self.bring(STATEFUL_SETS, name, database, servers(database, 1))


class Mended(Buggy):
    def run(self, database: Body) -> None:
        if self.see(SECRETS, f"{name_of(database)}-ca-keystore") is not None:
            self.bring(SECRETS, f"{name_of(database)}-keystore", database)
        super().run(database)


def story(world: World) -> None:
    world.declare()


BUG = Bug("K8SSAND-1023", "crash", Buggy, Mended, story)
