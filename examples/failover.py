# SPDX-License-Identifier: Apache-2.0
"""An operator that promotes the standby of a database by a command in its pod: `python examples/failover.py`.

Each Pair has two pods. One is the primary, because the operator ran `pg_ctl promote` in it. If that pod is gone, the
other one is promoted. The choice is written to the status before the command is sent, so that a command whose end is
not known is sent again to the same pod only.
"""

from __future__ import annotations

from collections.abc import Sequence
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
from controller_runtime.crd import CustomResource, Meta, Struct, custom_resource, immutable
from controller_runtime.errors import AlreadyExists, NotFound
from controller_runtime.resources import PODS

CONTAINER = "postgres"
PROMOTE = ("pg_ctl", "promote", "--wait")
IN_RECOVERY = ("psql", "-tAc", "select pg_is_in_recovery()")
SECONDS = 20.0
"""Within which a command must have ended."""
LOOK_AGAIN = 10.0
"""Seconds after which the pods are looked at without a change: no pair stays without a primary."""


class PairSpec(Struct):
    image: Annotated[str, Meta(min_length=1), immutable()] = "postgres:17"  # no pod gets another one


class PairStatus(Struct):
    primary: str = ""
    uid: str = ""
    promoted: bool = False


@custom_resource("db.example.com/v1", columns={"Primary": ".status.primary", "Promoted": ".status.promoted"})
class Pair(CustomResource):
    spec: PairSpec
    status: PairStatus | None = None


@attrs.frozen
class Member:
    """A pod of a pair.

    Attributes:
        name: Its name.
        uid: Its uid, which another pod of the same name does not have.
        phase: Its phase.
        created: The time of its creation.
    """

    name: str
    uid: str
    phase: str
    created: str = ""

    @property
    def has_ended(self) -> bool:
        """Whether no process of it can run any more."""
        return self.phase in ("Succeeded", "Failed")


@attrs.frozen
class Step:
    """The next step.

    Attributes:
        act: `create` a pod, `remove` one that has ended, `choose` a primary, `promote` it, or do nothing.
        name: The pod.
        uid: Its uid; empty for one to create.
    """

    act: Literal["create", "remove", "choose", "promote", "rest"]
    name: str = ""
    uid: str = ""


def next_step(name: str, members: Sequence[Member], status: PairStatus) -> Step:
    """Return the next step of a pair.

    A primary is chosen only if there is none, or its pod is gone: one that is merely not ready may still accept writes.
    It is the oldest pod that runs, for a new one has no data yet, and the first one is chosen once both run.
    """
    for member in members:
        if member.has_ended:
            return Step("remove", member.name, member.uid)
    there = {member.name for member in members}
    for wanted in (f"{name}-0", f"{name}-1"):
        if wanted not in there:
            return Step("create", wanted)
    running = sorted((each for each in members if each.phase == "Running"), key=lambda each: (each.created, each.name))
    if status.uid not in {member.uid for member in members}:
        is_time = bool(running) and (bool(status.uid) or len(running) == len(members))
        return Step("choose", running[0].name, running[0].uid) if is_time else Step("rest")
    chosen = [member for member in running if member.uid == status.uid]
    return Step("promote", chosen[0].name, chosen[0].uid) if chosen and not status.promoted else Step("rest")


def pod_for(pair: Pair, name: str) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": pair.metadata.namespace, "labels": {"pair": pair.metadata.name}},
        "spec": {"containers": [{"name": CONTAINER, "image": pair.spec.image, "ports": [{"containerPort": 5432}]}]},
    }


@attrs.frozen
class Pairs(Reconciler):
    pairs: Lister[Pair]
    client: Client

    def reconcile(self, request: Request) -> Result:
        pair = self.pairs.get(request)
        if pair is None or pair.metadata.deletion_timestamp:
            return Result()
        pair = self.client.get(Pair, request)  # a choice that the cache has not seen must not be made again
        step = next_step(request.name, self.members(request), pair.status or PairStatus())
        self.take(step, pair)
        return Result(requeue_after=1.0 if step.act in ("remove", "choose") else LOOK_AGAIN)

    def members(self, request: Request) -> list[Member]:
        pods = self.client.list(PODS, request.namespace, label_selector=f"pair={request.name}", view=dict)
        found = [(pod["metadata"], (pod.get("status") or {}).get("phase", "Pending")) for pod in pods]
        return [Member(each["name"], each["uid"], phase, each["creationTimestamp"]) for each, phase in found]

    def take(self, step: Step, pair: Pair) -> None:
        key = ObjectKey(step.name, pair.metadata.namespace)
        match step.act:
            case "create":
                body = pod_for(pair, step.name)
                set_controller(body, pair)
                with suppress(AlreadyExists):
                    self.client.create(PODS, body)
            case "remove":
                with suppress(NotFound):
                    self.client.delete(PODS, key, uid=step.uid)
            case "choose":
                self.note(pair, {"primary": step.name, "uid": step.uid, "promoted": False})
            case "promote":
                self.promote(key)
                self.note(pair, {"promoted": True})

    def promote(self, key: ObjectKey) -> None:
        """Promote a pod unless it is a primary already, as after a command whose end was not heard."""
        asked = self.client.exec(key, IN_RECOVERY, container=CONTAINER, within=SECONDS).check()
        if asked.stdout.strip() == b"t":
            self.client.exec(key, PROMOTE, container=CONTAINER, within=SECONDS).check()

    def note(self, pair: Pair, status: dict[str, object]) -> None:
        """Write the status of the pair that was judged: the server refuses it if the pair has changed since."""
        version = {"resourceVersion": pair.metadata.resource_version}
        key = ObjectKey(pair.metadata.name, pair.metadata.namespace)
        self.client.patch(Pair, key, {"metadata": version, "status": status}, subresource="status")


def setup(manager: Manager, kind: type[Pairs] = Pairs) -> None:
    manager.install(Pair)
    controller = Controller("failover", kind(manager.lister(Pair), manager.client)).watch(Pair)
    manager.add(controller.watch(PODS, map=enqueue_owner(Pair)))


if __name__ == "__main__":
    run(setup)
