# SPDX-License-Identifier: Apache-2.0
"""Our election compared with a recording of Kubernetes' own: the same objects, the same elections.

The recording has the actions of a script on candidates and leases of a real 1.36.2, and the decisions of its
controller. The script's actions are repeated at the same times. Candidates and leaders are simulated, because they
react to our controller.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs
import pytest
from kit.controllers.electing import OLDEST, World

from apimachinery.errors import AlreadyExists
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import LEASE_CANDIDATES, LEASES
from controller_runtime.testing.simulation import Simulation

pytestmark = pytest.mark.once

RECORDING = Path(__file__).parents[2] / "data" / "recordings" / "coordinated-election-1.36.2.jsonl"
GROUPS = (("E1", "E2", "E3", "E6", "E7"), ("E5",), ("E8",))

# Read from what the script says it does; the rest follows from the lines themselves.
STOPS = {"e1a-x": 25.0, "e3a-1": 20.0, "e3b-1": 20.2, "e3b-2": 20.2, "e6a-x": 40.0, "e6d-x": 45.0, "e6g-x": 16.2}
STOPS |= {"host_4ea554fa-eb45-49c9-bf68-eb5e63ffce78": 100.0}  # by SIGTERM
ON_PREFERRED = {"e2f-new": "ignore", "e6e-x": "ignore", "e2c-new": "stop"}
LATE = 8.0
"""Seconds between their election and ours at most: both look at each lease every five seconds, not at the same ones."""

# The real server crashed on a lease without a holder; ours elects one.
DIED_OF = {"default/e5a": ["holder e5a-y"], "default/e5c": ["holder e5c-x"]}
PINGED_AFTER_DEATH = {"e5a-y", "e5b-x"}


def lines(group: Iterable[str]) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in RECORDING.read_text().replace("<host>", "host").splitlines()]
    return sorted((one for one in found if one["scenario"] in group), key=lambda one: float(one["t"]))


def is_by_hand(line: dict[str, Any], found: list[dict[str, Any]]) -> bool:
    """Return whether the script made the change: the recording does not always show which client wrote a field."""
    lease = line["name"].partition("/")[2]
    said = [one for one in found if "by hand" in one.get("did", "") and lease in one["did"]]
    is_possible = line["kind"] == "Lease" and "recorder" in line.get("by", ["recorder"])
    return is_possible and any(0 <= line["t"] - one["t"] < 0.8 for one in said)


def by_controller(line: dict[str, Any], found: list[dict[str, Any]]) -> list[str]:
    """Return the controller's own decision about a lease that a line of the recording shows."""
    if line["kind"] != "Lease" or "kube-apiserver" not in line.get("by", ()) or line.get("spec.acquireTime"):
        return []
    if is_by_hand(line, found) and line.get("spec.strategy") != OLDEST and "spec.acquireTime" not in line:
        return []
    if line.get("spec.holderIdentity"):
        return [f"holder {line['spec.holderIdentity']}"]
    if line.get("spec.preferredHolder"):
        return [f"preferred {line['spec.preferredHolder']}"]
    return [f"strategy {line['spec.strategy']}"] if line.get("spec.strategy") else []


Decisions = dict[str, list[tuple[float, str]]]


def recorded(found: list[dict[str, Any]]) -> Decisions:
    decisions: Decisions = {}
    for line in found:
        decisions.setdefault(line.get("name", ""), []).extend((line["t"], what) for what in by_controller(line, found))
    return {name: what for name, what in decisions.items() if what}


@attrs.define
class Actor:
    """A candidate, which leads once it is elected."""

    name: str
    lease: ObjectKey
    pings: dict[float, bool]  # those of the recording, and whether they were answered
    renewed_at: float = -100.0
    saw_preferred_at: float | None = None

    def acks(self, now: float) -> bool:
        return not self.pings or self.pings[min(self.pings, key=lambda t: abs(t - now))]


class Play:
    """A replay of one recorded run."""

    def __init__(self, sim: Simulation, group: Iterable[str]) -> None:
        self.lines = lines(group)
        self.world = World(sim)
        self.sim = sim
        self.began = sim.time
        self.actors: dict[ObjectKey, Actor] = {}
        self.said: dict[str, dict[str, Any]] = {}
        self.decisions: Decisions = {}
        self.pinged: set[str] = set()

    @property
    def now(self) -> float:
        return self.sim.time - self.began

    def run(self) -> None:
        todo, end = [*self.lines], self.lines[-1]["t"] + LATE
        while self.now < end:
            while todo and todo[0]["t"] <= self.now:
                self.happens(todo.pop(0))
            self.sim.settle()
            self.look()
            for actor in [*self.actors.values()]:
                self.act(actor)
            self.sim.advance(0.25)

    def happens(self, line: dict[str, Any]) -> None:
        """Repeat a change that the script, or a candidate by itself, made."""
        is_theirs = {*line.get("by", ("recorder",))} & {"recorder", "kube-controller-manager"}
        if "name" not in line or line["kind"] not in ("Lease", "LeaseCandidate"):
            return
        namespace, _, name = line["name"].partition("/")
        resource = LEASES if line["kind"] == "Lease" else LEASE_CANDIDATES
        request, spec = ObjectKey(name, namespace), self.spec(line)
        if line.get("verb") == "DELETED":
            self.world.client.delete(resource, request)
            if resource is LEASES:
                self.said[line["name"]] = {}
            else:
                self.actors.pop(request, None)
        elif not is_theirs or by_controller(line, self.lines) or line.get("spec.pingTime"):
            return
        elif line.get("verb") == "ADDED":
            with contextlib.suppress(AlreadyExists):  # the recorder repeats this when it begins again
                self.world.client.create(resource, {"metadata": {"name": name, "namespace": namespace}, "spec": spec})
            if resource is LEASES:
                self.said[line["name"]] = spec
            else:
                self.actors[request] = Actor(name, ObjectKey(spec["leaseName"], namespace), self.answers(line["name"]))
        elif self.is_of_a_person(line):
            self.world.client.patch(resource, request, {"spec": spec})
            self.said.setdefault(line["name"], {}).update(spec)

    def is_of_a_person(self, line: dict[str, Any]) -> bool:
        """Return whether a change is neither an answer to a ping nor a leader's write."""
        if line["kind"] == "Lease":
            return is_by_hand(line, self.lines) and "spec.acquireTime" not in line
        pings = [t for t in self.answers(line["name"]) if 0 <= line["t"] - t < 2.0]
        return "spec.renewTime" in line and not pings

    def spec(self, line: dict[str, Any]) -> dict[str, Any]:
        spec = {key.removeprefix("spec."): value for key, value in line.items() if key.startswith("spec.")}
        return {key: self.time(value) if key.endswith("Time") else value for key, value in spec.items()}

    def time(self, text: str | None) -> str | None:
        return None if text is None else self.world.stamp(self.now - float(text.removeprefix("t")))

    def answers(self, name: str) -> dict[float, bool]:
        mine = [line for line in self.lines if line.get("name") == name and line["kind"] == "LeaseCandidate"]
        pings = [line["t"] for line in mine if line.get("spec.pingTime")]
        renewals = [line["t"] for line in mine if line.get("spec.renewTime") and "spec.leaseName" not in line]
        return {ping: any(0 <= t - ping < 2.0 for t in renewals) for ping in pings}

    def look(self) -> None:
        """Note the controller's changes."""
        for lease in self.world.client.list(LEASES, view=dict[str, Any]):
            name, spec = f"{lease['metadata']['namespace']}/{lease['metadata']['name']}", lease["spec"]
            before, self.said[name] = self.said.get(name, {}), spec
            for field, word in (("holderIdentity", "holder"), ("preferredHolder", "preferred")):
                if spec.get(field) and spec.get(field) != before.get(field):
                    self.decisions.setdefault(name, []).append((self.now, f"{word} {spec[field]}"))
                    break
            else:
                if spec.get("strategy") and spec.get("strategy") != before.get("strategy"):
                    self.decisions.setdefault(name, []).append((self.now, f"strategy {spec['strategy']}"))

    def act(self, actor: Actor) -> None:
        """Answer pings, lead and give way, as candidates do."""
        request = ObjectKey(actor.name, actor.lease.namespace)
        candidate = self.world.client.get(LEASE_CANDIDATES, request, dict)["spec"]
        pinged = candidate.get("pingTime", "")
        if pinged:
            self.pinged.add(actor.name)
        if pinged > candidate.get("renewTime", "") and actor.acks(self.now):
            self.world.client.patch(LEASE_CANDIDATES, request, {"spec": {"renewTime": self.world.stamp(0.0)}})
        spec = self.world.spec_of(actor.lease)
        if spec is None or spec.get("holderIdentity") != actor.name or self.now >= STOPS.get(actor.name, 1e9):
            actor.renewed_at, actor.saw_preferred_at = -100.0, None
            return
        self.lead(actor, spec)

    def lead(self, actor: Actor, spec: dict[str, Any]) -> None:
        if spec.get("preferredHolder") and (how := ON_PREFERRED.get(actor.name, "release")) != "ignore":
            stops = how == "stop" or actor.name.startswith("host_")
            actor.saw_preferred_at = self.now if actor.saw_preferred_at is None else actor.saw_preferred_at
            if not stops and self.now - actor.saw_preferred_at >= 3.0:
                self.write(actor.lease, holderIdentity="", leaseDurationSeconds=1, strategy=None, preferredHolder=None)
            return
        if 2.0 <= self.now - actor.renewed_at < 15.0 or actor.renewed_at < 0:
            actor.renewed_at = self.now
            self.write(actor.lease, leaseDurationSeconds=15)

    def write(self, lease: ObjectKey, **spec: Any) -> None:
        patch = {"spec": {**spec, "renewTime": self.world.stamp(0.0)}}
        self.world.client.patch(LEASES, lease, patch)
        self.said.setdefault(str(lease), {}).update(spec)


@pytest.mark.parametrize("group", GROUPS, ids=" ".join)
def test_the_same_world_leads_to_the_same_elections(sim: Simulation, group: tuple[str, ...]) -> None:
    play = Play(sim, group)

    play.run()

    theirs = recorded(play.lines)
    for name in theirs.keys() | play.decisions.keys():
        expected, ours = theirs.get(name, []), play.decisions.get(name, [])
        assert [what for _, what in ours] == [what for _, what in expected] + DIED_OF.get(name, []), name
        assert all(abs(a - b) <= LATE for (a, _), (b, _) in zip(ours, expected, strict=False)), name
    theirs_pinged = {one["name"].partition("/")[2] for one in play.lines if one.get("spec.pingTime")}
    assert play.pinged == theirs_pinged - PINGED_AFTER_DEATH, "asked whether they live"
    play.world.end()
