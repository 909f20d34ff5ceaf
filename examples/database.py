# SPDX-License-Identifier: Apache-2.0
"""An operator of a database on a StatefulSet: `python examples/database.py`.

Each Database has a service and a StatefulSet whose members have a claim each. Before a member goes, a Job moves its
data to the others, because its claim goes with it. `database_story.yaml` is a story by which `perturb` tries it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any, Literal

import attrs

from controller_runtime import (
    Client,
    Controller,
    Lister,
    Manager,
    ObjectKey,
    Reconciler,
    Request,
    Result,
    enqueue_owner,
    run,
    set_controller,
)
from controller_runtime.conditions import condition
from controller_runtime.crd import CustomResource, Meta, Rule, Struct, custom_resource, immutable, validated
from controller_runtime.errors import AlreadyExists, NotFound
from controller_runtime.resources import JOBS, SERVICES, STATEFUL_SETS

IMAGE = "database:1"
COMPLETE = condition("Complete")
IS_A_SIZE = Rule(
    "isQuantity(self) && quantity(self).isGreaterThan(quantity('0'))", "is a quantity greater than zero, such as 1Gi"
)


class DatabaseSpec(Struct):
    members: Annotated[int, Meta(ge=1, le=9)] = 1
    storage: Annotated[str, validated(IS_A_SIZE), immutable()] = "1Gi"


class DatabaseStatus(Struct):
    members: int = 0


@custom_resource("db.example.com/v1", columns={"Members": ".status.members"})
class Database(CustomResource):
    spec: DatabaseSpec
    status: DatabaseStatus | None = None


@attrs.frozen
class Step:
    """One step towards the wanted size.

    Attributes:
        act: `create`, `grow` or `shrink` the set; `move` the data of a member away, or `forget` that it was moved.
        number: The size, or the member.
    """

    act: Literal["create", "grow", "move", "forget", "shrink", "wait", "rest"]
    number: int = 0


def next_step(wanted: int, members: int | None, moves: Mapping[int, bool]) -> Step:
    """Return the next step.

    Args:
        wanted: How many members there should be.
        members: How many the StatefulSet has; None if there is none.
        moves: The members whose data has been moved away, or is being moved; True once that is complete.
    """
    if members is None:
        return Step("create", wanted)
    if wanted < members:
        last = members - 1
        if last not in moves:
            return Step("move", last)
        return Step("shrink", last) if moves[last] else Step("wait")
    if outdated := [member for member in moves if member < wanted]:
        return Step("forget", outdated[0])  # before a member comes back: its new data has not been moved
    return Step("grow", wanted) if wanted > members else Step("rest")


def service_for(database: Database) -> dict[str, Any]:
    spec = {"clusterIP": "None", "selector": labels_for(database), "ports": [{"port": 5432}]}
    return {"metadata": {"name": database.metadata.name, "namespace": database.metadata.namespace}, "spec": spec}


def set_for(database: Database) -> dict[str, Any]:
    metadata, labels = database.metadata, labels_for(database)
    mount = {"name": "data", "mountPath": "/data"}
    claim = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": database.spec.storage}},
    }
    return {
        "metadata": {"name": metadata.name, "namespace": metadata.namespace},
        "spec": {
            "replicas": database.spec.members,
            "serviceName": metadata.name,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "database", "image": IMAGE, "volumeMounts": [mount]}]},
            },
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}],
            "persistentVolumeClaimRetentionPolicy": {"whenScaled": "Delete", "whenDeleted": "Delete"},
        },
    }


def move_for(database: Database, member: int) -> dict[str, Any]:
    name, namespace = move_key(database, member)
    container = {"name": "move", "image": IMAGE, "command": ["move-data", f"--from={database.metadata.name}-{member}"]}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    labels = {**labels_for(database), "member": str(member)}
    return {"metadata": {"name": name, "namespace": namespace, "labels": labels}, "spec": {"template": template}}


def move_key(database: Database, member: int) -> ObjectKey:
    return ObjectKey(f"{database.metadata.name}-move-{member}", database.metadata.namespace)


def labels_for(database: Database) -> dict[str, str]:
    return {"database": database.metadata.name}


@attrs.frozen
class Databases(Reconciler):
    databases: Lister[Database]
    sets: Lister[dict[str, Any]]
    jobs: Lister[dict[str, Any]]
    client: Client

    def reconcile(self, request: Request) -> Result:
        database = self.databases.get(request)
        if database is None or database.metadata.deletion_timestamp:
            return Result()
        found = self.sets.get(request)
        members = None if found is None else found["spec"]["replicas"]
        self.take(next_step(database.spec.members, members, self.moves(database)), database, found)
        if members is not None and members != (database.status or DatabaseStatus()).members:
            self.client.patch(Database, request, {"status": {"members": members}}, subresource="status")
        return Result()

    def moves(self, database: Database) -> dict[int, bool]:
        jobs = self.jobs.list(database.metadata.namespace, f"database={database.metadata.name}")
        return {int(job["metadata"]["labels"]["member"]): COMPLETE(job) for job in jobs}

    def take(self, step: Step, database: Database, found: dict[str, Any] | None) -> None:
        match step.act:
            case "create":
                self.create(SERVICES, service_for(database), database)
                self.create(STATEFUL_SETS, set_for(database), database)
            case "move":
                self.create(JOBS, move_for(database, step.number), database)
            case "forget":
                with suppress(NotFound):
                    self.client.delete(JOBS, move_key(database, step.number), propagation_policy="Background")
            case "shrink" if found is not None and self.is_moved(database, step.number):
                self.resize(found, step.number)
            case "grow" if found is not None:
                self.resize(found, step.number)

    def is_moved(self, database: Database, member: int) -> bool:
        """Ask the server: a cache may still have the Job of an earlier move."""
        try:
            return COMPLETE(self.client.get(JOBS, move_key(database, member), dict))
        except NotFound:
            return False

    def resize(self, found: dict[str, Any], members: int) -> None:
        """Change the size of the set that was judged: the server refuses it if the set has changed since."""
        metadata = found["metadata"]
        key = ObjectKey(metadata["name"], metadata["namespace"])
        version = {"resourceVersion": metadata["resourceVersion"]}
        self.client.patch(STATEFUL_SETS, key, {"metadata": version, "spec": {"replicas": members}})

    def create(self, resource: Any, body: dict[str, Any], database: Database) -> None:
        set_controller(body, database)
        with suppress(AlreadyExists):  # by an earlier reconcile, and the cache has not seen it yet
            self.client.create(resource, body)


def setup(manager: Manager, kind: type[Databases] = Databases) -> None:
    manager.install(Database)
    listers = manager.lister(Database), manager.lister(STATEFUL_SETS, dict), manager.lister(JOBS, dict)
    controller = Controller("database", kind(*listers, manager.client)).watch(Database)
    for owned in (STATEFUL_SETS, JOBS):
        controller = controller.watch(owned, map=enqueue_owner(Database))
    manager.add(controller)


if __name__ == "__main__":
    run(setup)
