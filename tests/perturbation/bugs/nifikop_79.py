# SPDX-License-Identifier: Apache-2.0
"""konpyutaika/nifikop#79: after a crash a server can never be removed.

A new server's start is written into the status in two steps, after the server was made. If the operator ends before
the second, the server is there, so that nothing is written later, and a scale-down waits for it.
"""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, ReadsLatest, World, name_of, owned, uid_of
from kit.perturbation.workloads import a_server

from controller_runtime.resources import PODS


class Buggy(Operator):
    kinds = (PODS,)

    def run(self, database: Body) -> None:
        name, wanted = name_of(database), database["spec"]["servers"]
        for number in range(wanted):
            server = f"{name}-{number}"
            if is_new := self.see(PODS, server) is None:
                self.make(PODS, server, owned(database, a_server()))
            if is_new or self.is_unfinished(server, database):
                self.report(database, **{f"{server}-config": "InSync"})
                self.report(database, **{f"{server}-action": "UpscaleSucceeded"})
        status = (self.latest(database) or {}).get("status") or {}
        for pod in self.seen(PODS, of=uid_of(database)):
            if int(name_of(pod).rpartition("-")[2]) >= wanted and f"{name_of(pod)}-action" in status:
                self.drop(PODS, name_of(pod), uid=uid_of(pod))

    def is_unfinished(self, server: str, database: Body) -> bool:
        return False


class Mended(ReadsLatest, Buggy):
    """Completes the status of servers that are there, and takes back that of servers that are not declared."""

    def run(self, database: Body) -> None:
        super().run(database)
        status = database.get("status") or {}
        for field in status:
            server = field.rpartition("-")[0]
            is_spare = int(server.rpartition("-")[2]) >= database["spec"]["servers"]
            if is_spare and self.ask(PODS, server) is None:
                self.report(database, **{field: None})

    def is_unfinished(self, server: str, database: Body) -> bool:
        return f"{server}-action" not in (database.get("status") or {})


def story(world: World) -> None:
    world.declare(servers=2)
    world.change(servers=1)


BUG = Bug("konpyutaika/nifikop#79", "crash", Buggy, Mended, story)
