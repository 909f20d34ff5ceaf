# SPDX-License-Identifier: Apache-2.0
"""konpyutaika/nifikop#49 (Orange-OpenSource/nifikop#130): after a crash a new configuration is never loaded.

A changed configuration is written, then the status says that the servers are behind, then they are restarted. If the
operator ends after the first step, it finds the configuration as it should be, and a status without need of action.
"""

from __future__ import annotations

from kit.miniatures import Body, Bug, Operator, World, is_going, name_of, owned, uid_of
from kit.workloads import a_server

from controller_runtime import CONFIG_MAPS, PODS


class Buggy(Operator):
    kinds = (CONFIG_MAPS, PODS)

    def run(self, database: Body) -> None:
        name, data = name_of(database), {"banner": database["spec"]["banner"]}
        self.bring(CONFIG_MAPS, name, database, {"data": data})
        config = self.see(CONFIG_MAPS, name)
        if config is not None and config["data"] != data:
            self.patch(CONFIG_MAPS, name, {"data": data})
            self.report(database, config="OutOfSync")
        pod = self.see(PODS, f"{name}-0")
        if pod is None:
            self.make(PODS, f"{name}-0", owned(database, a_server(**data)))
            self.report(database, config="InSync")
        elif self.is_behind(pod, database) and not is_going(pod):
            self.drop(PODS, name_of(pod), uid=uid_of(pod))

    def is_behind(self, pod: Body, database: Body) -> bool:
        return bool((database.get("status") or {}).get("config") == "OutOfSync")


class Mended(Buggy):
    """Compares what a server has loaded with what is declared."""

    def is_behind(self, pod: Body, database: Body) -> bool:
        return bool(pod["spec"]["containers"][0]["env"][0]["value"] != database["spec"]["banner"])


def story(world: World) -> None:
    world.declare(banner="first")
    world.change(banner="second")


BUG = Bug("konpyutaika/nifikop#49", "crash", Buggy, Mended, story)
