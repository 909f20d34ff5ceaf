# SPDX-License-Identifier: Apache-2.0
"""Our two controllers compared with recordings of Kubernetes' own: the same actions, nodes, pods and events.

The real controllers look every 5 s, and ours at once. So the states of nodes are compared only where the real ones had
left them unchanged for a while. Deletions of pods and events happen once, so their times are compared.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import attrs
import pytest
from kit.controllers.lifecycle_cluster import LifecycleCluster
from kit.controllers.lifecycle_script import ENTRIES, OF_PODS, SCRIPTS, script

from apimachinery.errors import NotFound
from controller_runtime.api.resources import EVENTS, PODS
from controller_runtime.testing.simulation import Simulation

pytestmark = pytest.mark.once

AT_REST = 6.0
"""Seconds before and after which the real one did nothing to a node: its period, and the phase of the renewals."""
SOONER, LATER = -6.5, 1.6
"""Ours may act sooner or later by these seconds: the period and the phase, and a second between two looks."""

State = tuple[str, tuple[str, ...]] | None
"""Ready and the taints of a node; None where there is no such node."""


@attrs.frozen
class Deviation:
    """A difference on purpose, or a behaviour of the real controller that varies from run to run."""

    run: str
    name: str
    since: float
    until: float
    why: str


RACE = "the real one tainted a node just before it noticed that all were silent, and did not take it back"
ORDER = "who of a zone goes first is left to chance there"
NAMESAKE = "a node that is made again inherits the silence of its namesake there"
RESTART = "the real one strips all NoExecute taints when it starts; ours leaves those that still match"
AGAIN = "the real one deletes and tells of a pod once more that is Terminating already; ours leaves it alone"
BEFORE = "what is replayed begins in the middle of that run"
OF_NODES = (
    Deviation("a", "b-2", 635.0, 800.0, RACE),
    Deviation("d", "u-1", 239.0, 340.0, RACE),
    Deviation("d", "u-6", 339.0, 356.0, ORDER),
    Deviation("d", "u-7", 339.0, 356.0, ORDER),
    *(Deviation("a", name, 529.0, 557.0, ORDER) for name in ("a-2", "a-3", "a-4")),
    *(Deviation("a", f"{zone}-{index}", 705.0, 747.0, ORDER) for zone in "ac" for index in range(1, 5)),
    Deviation("b", "l9-2", 270.0, 306.0, NAMESAKE),
    Deviation("b", "l9-3", 365.0, 400.0, NAMESAKE),
    Deviation("c", "c-1", 145.0, 215.0, RESTART),
)
OF_PODS_AND_EVENTS = (
    *(Deviation("c", name, 145.0, 146.0, RESTART) for name in ("a-1-tol30", "a-1-tol100", "a-1-default", "b-1-tol100")),
    Deviation("c", "a-1-tol30", 175.0, 176.0, AGAIN),
    *(Deviation("b", name, 130.0, 300.0, AGAIN) for name in ("l2-1-tol0", "l2-1-tol30")),
    Deviation("a", "a-3-tol30", 555.0, 590.0, ORDER),
    Deviation("a", "a-3-tol30", 750.0, 752.0, AGAIN),
    Deviation("d", "u-1-tol0", 239.0, 346.0, RACE),
    Deviation("d", "u-1", 80.0, 81.0, BEFORE),
)


def is_excused(deviations: tuple[Deviation, ...], run: str, name: str, at: float) -> bool:
    return any(d.run == run and d.name == name and d.since <= at <= d.until for d in deviations)


def recorded_nodes(run: str) -> dict[str, list[tuple[float, State]]]:
    """Return the states of each node, each with the second from which it held."""
    found: dict[str, list[tuple[float, State]]] = {}
    for entry in ENTRIES:
        if entry["run"] != run or "node" not in entry:
            continue
        states = found.setdefault(entry["node"], [])
        ready, taints = (states[-1][1] if states else None) or ("", ())
        state = (entry.get("ready", ready), tuple(sorted(entry.get("taints", taints))))
        states.append((entry["t"], None if entry.get("verb") == "DELETED" else state))
    return found


def state_of(cluster: LifecycleCluster, name: str) -> State:
    try:
        node = cluster.read(name)
    except NotFound:
        return None
    texts = []
    for each in node["spec"].get("taints", []):
        value = f"={each['value']}" if each.get("value") else ""
        texts.append(f"{each['key'].removeprefix('node.kubernetes.io/')}{value}:{each['effect']}")
    ready = next((c["status"] for c in node["status"].get("conditions", []) if c["type"] == "Ready"), "")
    return ready, tuple(sorted(texts))


def at_rest(states: list[tuple[float, State]], now: float) -> tuple[bool, State]:
    """Return whether nothing changed around `now`, and the state at that time."""
    times = [t for t, _ in states]
    index = bisect.bisect_right(times, now)
    before = now - times[index - 1] if index else AT_REST + 1
    after = times[index] - now if index < len(times) else AT_REST + 1
    return min(before, after) > AT_REST, states[index - 1][1] if index else None


Key = tuple[Any, ...]
"""A key is the name of an object, with a change of that object or an event about it."""


@attrs.frozen
class Times:
    """The times at which something happened: the first, the last, and how often."""

    first: float
    last: float
    count: int = 1

    def and_then(self, later: Times) -> Times:
        """Return both together."""
        return Times(min(self.first, later.first), max(self.last, later.last), self.count + later.count)


def are_alike(real: Times | None, ours: Times | None) -> bool:
    """Return whether it happened in both, at about the same times."""
    if real is None or ours is None or real.count != ours.count:
        return False
    return all(SOONER <= late <= LATER for late in (ours.first - real.first, ours.last - real.last))


class Diary(dict[Key, Times]):
    """The deletions of pods and the events of one run, without the accepted differences."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.seen: set[Key] = set()

    def note(self, key: Key, first: float, last: float | None = None, count: int = 1) -> None:
        """Note that it happened."""
        if not is_excused(OF_PODS_AND_EVENTS, self.run, key[0], first):
            times = Times(first, first if last is None else last, count)
            self[key] = self[key].and_then(times) if key in self else times

    def look_at_pods(self, cluster: LifecycleCluster) -> None:
        """Note changes of pods."""
        for pod in cluster.world.list(PODS, view=dict):
            for key in what_became_of(pod):
                if key not in self.seen:
                    self.seen.add(key)
                    self.note(key, cluster.sim.time)

    def look_at_events(self, cluster: LifecycleCluster) -> None:
        """Note all events, each with its own times."""

        def at(text: str) -> float:
            return (datetime.fromisoformat(text) - cluster.host.now()).total_seconds() + cluster.sim.time

        for e in cluster.world.list(EVENTS, view=dict):
            of, series = e["regarding"], e.get("series", {"count": 1, "lastObservedTime": e["eventTime"]})
            assert of["uid"], "also of a pod that is evicted, of which the real one does not say it"
            who = e["reportingController"], e["metadata"]["namespace"]
            key = (of["name"], of["kind"], e["type"], e["reason"], e["note"], *who)
            self.note(key, at(e["eventTime"]), at(series["lastObservedTime"]), series["count"])


def what_became_of(pod: dict[str, Any]) -> Iterator[Key]:
    metadata = pod["metadata"]
    if "deletionTimestamp" in metadata:
        yield metadata["name"], "deleted", metadata["deletionGracePeriodSeconds"]
    for each in pod["status"].get("conditions", []):
        if (each["type"], each["status"]) != ("Ready", "True"):
            yield metadata["name"], each["type"], each["status"], each["reason"], each.get("message")


def recorded_diary(run: str) -> Diary:
    found = Diary(run)
    for e in OF_PODS:
        match e:
            case {"run": other} if other != run:
                pass
            case {"pod": pod, "condition": kind, "status": status}:  # the reason that a kubelet gave stays
                found.note((pod, kind, status, e.get("reason", "Kubelet"), e.get("message")), e["t"])
            case {"pod": pod, "deleted": True, "grace": grace}:
                found.note((pod, "deleted", grace), e["t"])
            case {"event": reason, "name": name, "kind": kind, "type": type_, "message": message}:
                found.note((name, kind, type_, reason, message, e["by"], e["in"]), e["t"])
    return found


@pytest.mark.parametrize("run", SCRIPTS)
def test_every_recorded_act_leads_to_what_was_recorded(sim: Simulation, run: str) -> None:
    cluster, expected, theirs, ours = (
        LifecycleCluster(sim, evicts=True),
        recorded_nodes(run),
        recorded_diary(run),
        Diary(run),
    )
    acts, differences, compared = script(run), [], 0
    begin, end = acts[0][0], max(entry["t"] for entry in (*ENTRIES, *OF_PODS) if entry["run"] == run)

    for second in range(int(begin) + 1, int(end) + 2):
        while acts and acts[0][0] <= second:
            at, act = acts.pop(0)
            cluster.run(at - sim.time)
            ours.look_at_pods(cluster)
            act(cluster)
        cluster.run(second - sim.time)
        ours.look_at_pods(cluster)
        for name, states in expected.items():
            rests, state = at_rest(states, second)
            is_compared = cluster.cluster is not None and second > begin + 6.0
            if rests and is_compared and not is_excused(OF_NODES, run, name, second):
                compared += 1
                if (found := state_of(cluster, name)) != state:
                    differences.append((second, name, state, found))
    cluster.end()
    ours.look_at_events(cluster)

    assert differences == []
    assert compared > 500
    assert len(theirs) > 10
    both = {key: (theirs.get(key), ours.get(key)) for key in {**theirs, **ours}}
    assert [(key, *pair) for key, pair in both.items() if not are_alike(*pair)] == []
