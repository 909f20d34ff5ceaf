# SPDX-License-Identifier: Apache-2.0
"""elastic/cloud-on-k8s#5249: the secrets of a living database are deleted because an old cache lacks it.

Secrets have no owner, so that copies of them survive. They are deleted once the cache has no database of their label.
"""

from __future__ import annotations

from kit.perturbation.miniatures import DATABASES, Body, Bug, Operator, World, name_of, uid_of

from controller_runtime.resources import SECRETS


class Buggy(Operator):
    kinds = (SECRETS,)

    def run(self, database: Body) -> None:
        for part in ("elastic-user", "http-certs"):
            name = f"{name_of(database)}-{part}"
            if self.see(SECRETS, name) is None:
                self.make(SECRETS, name, {"metadata": {"labels": {"db": name_of(database)}}})

    def gone(self, name: str) -> None:
        for secret in self.seen(SECRETS, db=name):
            self.drop(SECRETS, name_of(secret), uid=uid_of(secret))


class Mended(Buggy):
    """Asks the server before it believes in what the cache has, and in what it lacks."""

    def run(self, database: Body) -> None:
        if self.latest(database) is not None:
            super().run(database)

    def gone(self, name: str) -> None:
        if self.ask(DATABASES, name) is None:
            super().gone(name)


def story(world: World) -> None:
    world.declare()
    world.delete()
    world.declare()


BUG = Bug("elastic/cloud-on-k8s#5249", "stale", Buggy, Mended, story)
