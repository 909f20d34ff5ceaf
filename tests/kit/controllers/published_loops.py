# SPDX-License-Identifier: Apache-2.0
"""Ten operators that once woke themselves, as their reports tell of it, in a few lines each, beside what mended them.

Each function gets a thing, the time as text, and how often it was called before, and returns the patch to send; None
sends nothing. Each reconcile takes a second, as one with an outside service does: a time of whole seconds would not
change otherwise, which is why some of these were seen on large clusters alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import attrs

from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import Resource
from controller_runtime.cache.lister import Lister
from controller_runtime.client.client import Client
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Reconciler, Request, Result
from controller_runtime.manager.manager import Manager

Object = dict[str, Any]
Decide = Callable[[Object, str, int], Object | None]

THINGS: Resource[Object] = Resource("demo.example.com", "v1", "Widget", "widgets")


def _status(**fields: Any) -> Object:
    return {"status": fields}


def _ready(now: str, **fields: Any) -> Object:
    return {"type": "Ready", "status": "True", **fields}


def _unless_same(thing: Object, name: str, wanted: Any) -> Object | None:
    return None if thing.get("status", {}).get(name) == wanted else _status(**{name: wanted})


def transition_time(thing: Object, now: str, times: int) -> Object | None:
    return _status(conditions=[_ready(now, lastTransitionTime=now)])


def transition_time_mended(thing: Object, now: str, times: int) -> Object | None:
    if any(each["type"] == "Ready" for each in thing.get("status", {}).get("conditions", ())):
        return None
    return transition_time(thing, now, times)


def last_seen(thing: Object, now: str, times: int) -> Object | None:
    return _status(lastSeen=now)


def last_seen_mended(thing: Object, now: str, times: int) -> Object | None:
    return None if "status" in thing else _status(lastSeen=now)


def last_reconcile_time(thing: Object, now: str, times: int) -> Object | None:
    generation = thing["metadata"]["generation"]
    return _status(observedGeneration=generation, lastReconcileTime=now)


def last_reconcile_time_mended(thing: Object, now: str, times: int) -> Object | None:
    is_new = thing.get("status", {}).get("observedGeneration") != thing["metadata"]["generation"]
    return last_reconcile_time(thing, now, times) if is_new else None


def state_update_time(thing: Object, now: str, times: int) -> Object | None:
    return _status(monitorState="OK", monitorStateLastUpdateTime=now)


def state_update_time_mended(thing: Object, now: str, times: int) -> Object | None:
    return None if thing.get("status", {}).get("monitorState") == "OK" else state_update_time(thing, now, times)


def unordered_list(thing: Object, now: str, times: int) -> Object | None:
    components = ["deployment", "service", "role"]
    at = times % len(components)  # the order in which a Go map gives them is another one each time
    return _unless_same(thing, "components", components[at:] + components[:at])


def unordered_list_mended(thing: Object, now: str, times: int) -> Object | None:
    return _unless_same(thing, "components", ["deployment", "role", "service"])


def heartbeat_of_conditions(thing: Object, now: str, times: int) -> Object | None:
    return _status(conditions=[_ready(now, lastHeartbeatTime=now, reason="Deployed")])


def heartbeat_of_conditions_mended(thing: Object, now: str, times: int) -> Object | None:
    return _unless_same(thing, "conditions", [_ready(now, reason="Deployed")])


def appended_condition(thing: Object, now: str, times: int) -> Object | None:
    conditions = thing.get("status", {}).get("conditions", [])[-3:]
    return _status(conditions=[*conditions, {"type": "Invalid", "status": "True", "message": f"attempt {times}"}])


def appended_condition_mended(thing: Object, now: str, times: int) -> Object | None:
    return _unless_same(thing, "conditions", [{"type": "Invalid", "status": "True", "message": "no such role"}])


def counter(thing: Object, now: str, times: int) -> Object | None:
    return _status(retries=thing.get("status", {}).get("retries", 0) + 1)


def counter_mended(thing: Object, now: str, times: int) -> Object | None:
    return _unless_same(thing, "retries", 1)


def sets_replicas(count: int) -> Decide:
    def decide(thing: Object, now: str, times: int) -> Object | None:
        return None if thing["spec"].get("replicas") == count else {"spec": {"replicas": count}}

    return decide


def copies_time(source: str, target: str) -> Decide:
    def decide(thing: Object, now: str, times: int) -> Object | None:
        seen = thing["spec"].get(source, "")
        return None if times and not seen else {"spec": {target: now}}

    return decide


def once(target: str) -> Decide:
    return lambda thing, now, times: None if target in thing["spec"] else {"spec": {target: now}}


@attrs.frozen
class Loop:
    """An operator that woke itself.

    Attributes:
        source: Where it was reported.
        broken: The decision of each of its controllers.
        mended: The same decisions as they were mended.
        field: The field that a warning must name.
    """

    source: str
    broken: Sequence[Decide]
    mended: Sequence[Decide]
    field: str

    def __str__(self) -> str:
        return self.source


LOOPS = (
    Loop(
        "strimzi-kafka-operator#13079",
        [transition_time],
        [transition_time_mended],
        ".status.conditions[0].lastTransitionTime",
    ),
    Loop("garage-operator#351", [last_seen], [last_seen_mended], ".status.lastSeen"),
    Loop("openclaw-operator#163", [last_reconcile_time], [last_reconcile_time_mended], ".status.lastReconcileTime"),
    Loop("datadog-operator#299", [state_update_time], [state_update_time_mended], ".status.monitorStateLastUpdateTime"),
    Loop("operator-lifecycle-manager#1816", [unordered_list], [unordered_list_mended], ".status.components[0]"),
    Loop(
        "ssp-operator#59",
        [heartbeat_of_conditions],
        [heartbeat_of_conditions_mended],
        ".status.conditions[0].lastHeartbeatTime",
    ),
    Loop("teleport#34092", [appended_condition], [appended_condition_mended], ".status.conditions[0].message"),
    Loop("fdb-kubernetes-operator#360", [counter], [counter_mended], ".status.retries"),
    Loop(
        "kubernetes#24433", [sets_replicas(2), sets_replicas(3)], [sets_replicas(2), sets_replicas(2)], ".spec.replicas"
    ),
    Loop(
        "splunk-operator#1771",
        [copies_time("users", "applied"), copies_time("applied", "users")],
        [once("applied"), once("users")],
        ".spec.",
    ),
)


@attrs.frozen
class Deciding(Reconciler):
    """Sends what `decide` returns, after a second."""

    things: Lister[Object]
    client: Client
    manager: Manager
    decide: Decide
    numbers: Any = attrs.field(factory=itertools.count)

    def reconcile(self, request: Request) -> Result:
        self.manager.stopping.wait(1.0)
        thing = self.things.get(request)
        if thing is None:
            return Result()
        now = f"{self.manager.host.now():%Y-%m-%dT%H:%M:%SZ}"
        patch = self.decide(thing, now, next(self.numbers))
        if patch is not None:
            self.client.patch(THINGS, request, patch, subresource="status" if "status" in patch else "")
        return Result(requeue_after=600.0)


def controllers_of(manager: Manager, decisions: Sequence[Decide]) -> None:
    """Add a controller for each decision, named `loop-0` and so on."""
    for number, decide in enumerate(decisions):
        things = manager.lister(THINGS)
        reconciler = Deciding(things, manager.client, manager, decide)
        manager.add(Controller(f"loop-{number}", reconciler).watch(THINGS))


KEY = ObjectKey("a", "default")
