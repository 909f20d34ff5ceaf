# SPDX-License-Identifier: Apache-2.0
"""konpyutaika/nifikop#49 (Orange-OpenSource/nifikop#130): after a crash a new configuration is never loaded.

A changed configuration is written, then the status says that the servers are behind, then they are restarted. If the
operator ends after the first step, it finds the configuration as it should be, and a status without need of action.
"""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, ReadsLatest, World, is_going, name_of, owned, uid_of
from kit.perturbation.workloads import a_server

from controller_runtime.resources import CONFIG_MAPS, PODS


class Buggy(Operator):
    kinds = (CONFIG_MAPS, PODS)

    def run(self, database: Body) -> None:
        name, data = name_of(database), {"banner": database["spec"]["banner"]}
        self.bring(CONFIG_MAPS, name, database, {"data": data})
        config = self.read_config(name)
        if config is not None and config["data"] != data:
            self.patch(CONFIG_MAPS, name, {"data": data})
            self.report(database, config="OutOfSync")
        self.run_server(database, data)

    def read_config(self, name: str) -> Body | None:
        return self.see(CONFIG_MAPS, name)

    def run_server(self, database: Body, data: dict[str, str]) -> None:
        name = f"{name_of(database)}-0"
        pod = self.see(PODS, name)
        if pod is None:
            self.make(PODS, name, owned(database, a_server(**data)))
            self.report(database, config="InSync")
        elif (database.get("status") or {}).get("config") == "OutOfSync" and not is_going(pod):
            self.drop(PODS, name, uid=uid_of(pod))


class Mended(ReadsLatest, Buggy):
    """Compares what a server has loaded with what is declared, and reports it when it is so."""

    def read_config(self, name: str) -> Body | None:
        return self.ask(CONFIG_MAPS, name)

    def run_server(self, database: Body, data: dict[str, str]) -> None:
        name = f"{name_of(database)}-0"
        pod = self.ask(PODS, name)
        if pod is None:
            self.make(PODS, name, owned(database, a_server(**data)))
        elif pod["spec"]["containers"][0]["env"][0]["value"] == data["banner"]:
            self.report(database, config="InSync")
        elif not is_going(pod):
            self.report(database, config="OutOfSync")
            self.drop(PODS, name, uid=uid_of(pod))


def story(world: World) -> None:
    world.declare(banner="first")
    world.change(banner="second")


BUG = Bug("konpyutaika/nifikop#49", "crash", Buggy, Mended, story)
