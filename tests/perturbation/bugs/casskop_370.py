# SPDX-License-Identifier: Apache-2.0
"""Orange-OpenSource/casskop#370: after a crash in a scale-down the claim stays, and the operator waits forever.

The status says how far a scale-down has come, and is written after the set is made smaller. A restart in between
finds a scale-down that has only begun, and no pod that it could begin with.
"""

from __future__ import annotations

from kit.perturbation.miniatures import Body, Bug, Operator, World, name_of, servers

from controller_runtime.resources import PERSISTENT_VOLUME_CLAIMS, PODS, STATEFUL_SETS


class Buggy(Operator):
    kinds = (STATEFUL_SETS, PODS)

    def run(self, database: Body) -> None:
        name, wanted = name_of(database), database["spec"]["servers"]
        present = self.ask(STATEFUL_SETS, name)
        if present is None:
            self.bring(STATEFUL_SETS, name, database, servers(database, wanted, retain=True))
            return
        if "status" not in database:
            self.report(database, phase="Done")
        phase = (database.get("status") or {}).get("phase", "Done")
        last = f"{name}-{wanted}"
        if phase == "Done" and present["spec"]["replicas"] > wanted:
            self.report(database, phase="Ongoing")
        elif phase == "Ongoing" and self.may_shrink(last):
            self.patch(STATEFUL_SETS, name, {"spec": {"replicas": wanted}})
            self.report(database, phase="Finalizing")
        elif phase == "Finalizing" and self.ask(PODS, last) is None:
            self.drop(PERSISTENT_VOLUME_CLAIMS, f"data-{last}")
            self.report(database, phase="Done")

    def may_shrink(self, pod: str) -> bool:
        return self.ask(PODS, pod) is not None


class Mended(Buggy):
    def may_shrink(self, pod: str) -> bool:
        return True


def story(world: World) -> None:
    world.declare(servers=2)
    world.change(servers=1)


BUG = Bug("Orange-OpenSource/casskop#370", "crash", Buggy, Mended, story)
