# SPDX-License-Identifier: Apache-2.0
"""The operator of `examples/database.py` with a planted bug: a member may go before its data has been moved."""

from __future__ import annotations

from typing import Any

import attrs
from database import Database, Databases, Step, move_key, setup

from controller_runtime import ObjectKey, run
from controller_runtime.api.references import meta
from controller_runtime.resources import JOBS

MOVING = "db.example.com/moving"


@attrs.frozen
class NotingDatabases(Databases):
    """Notes a move before it begins, and takes a noted move without a Job for one that is over."""

    def moves(self, database: Database) -> dict[int, bool]:
        noted = self.noted(database)
        return {**({int(noted): True} if noted else {}), **super().moves(database)}

    def take(self, step: Step, database: Database, found: dict[str, Any] | None) -> None:
        if step.act in ("move", "forget"):
            noted = str(step.number) if step.act == "move" else None
            key = ObjectKey(database.metadata.name, database.metadata.namespace)
            self.client.patch(Database, key, {"metadata": {"annotations": {MOVING: noted}}})
        super().take(step, database, found)

    def is_moved(self, database: Database, member: int) -> bool:
        jobs = {meta(job).name for job in self.client.list(JOBS, database.metadata.namespace)}
        if self.noted(database) == str(member) and move_key(database, member).name not in jobs:
            return True
        return super().is_moved(database, member)

    def noted(self, database: Database) -> str:
        return (database.metadata.annotations or {}).get(MOVING, "")


if __name__ == "__main__":
    run(lambda manager: setup(manager, NotingDatabases))
