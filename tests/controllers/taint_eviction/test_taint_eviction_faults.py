# SPDX-License-Identifier: Apache-2.0
"""Taint eviction with faults: kills, stale caches, conflicts, failed requests, and all of them in any order."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kit.controllers.beating import ERROR
from kit.controllers.evicting import TAINT, UNREACHABLE, Evicting, tolerates

from apimachinery.objects import ObjectKey, timestamp
from controller_runtime.api.resources import PODS
from controller_runtime.testing.faults import CutStream, Fault, LostReply, LostRequest, Refused, SilentStream
from controller_runtime.testing.simulation import Simulation

pytestmark = pytest.mark.once

LOST = {"key": UNREACHABLE, "effect": "NoExecute"}
HANGING = SilentStream(after=2)
"""A watch that sends the initial objects and then stays silent."""


@pytest.fixture
def cluster(sim: Simulation) -> Iterator[Evicting]:
    cluster = Evicting(sim)
    cluster.node()
    cluster.pod("p")
    yield cluster
    cluster.end()


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
@pytest.mark.parametrize("fault", [LostReply(), LostRequest()], ids=["done", "not done"])
def test_a_controller_that_is_killed_in_any_request_leaves_the_same_behind(
    cluster: Evicting, method: str, fault: Fault
) -> None:
    cluster.start()
    cluster.faults[method] = fault
    cluster.taint("n", TAINT)

    cluster.faults.clear()
    cluster.restart()

    pod = cluster.get("p")
    assert "deletionTimestamp" in pod["metadata"]
    assert [one["reason"] for one in pod["status"]["conditions"]] == ["DeletionByTaintManager"]
    is_said = method == "DELETE" or (method == "PATCH" and fault == LostReply())
    assert cluster.asked.count("PATCH p") == (1 if is_said or method == "GET" else 2)
    assert cluster.controller.errors == 0


def test_after_a_restart_the_time_runs_again_from_the_beginning(cluster: Evicting) -> None:
    cluster.start()
    cluster.taint("n", LOST)
    cluster.sim.advance(200.0)

    cluster.restart(down=50.0)
    cluster.sim.advance(299.0)
    assert not cluster.is_leaving("p")

    cluster.sim.advance(1.1)
    assert cluster.is_leaving("p")


def test_a_taint_that_went_while_the_watch_hung_evicts_nobody(cluster: Evicting) -> None:
    cluster.pod("q", tolerates("dedicated", 20))
    cluster.taint("n", TAINT)
    cluster.watches["nodes"] = HANGING
    cluster.start()
    assert "DELETE p" in cluster.asked, "the controller has seen the taint"

    cluster.taint("n")
    cluster.sim.advance(100.0)

    assert not cluster.is_leaving("q")
    assert 3 < cluster.asked.count("GET n") < 10, "it asks the server at the end of each countdown, and starts another"


def at(seconds: int) -> dict[str, str]:
    return {**TAINT, "timeAdded": f"2026-01-01T00:00:{seconds:02d}Z"}


def test_a_taint_that_went_and_came_again_while_the_watch_hung_is_waited_for_anew(cluster: Evicting) -> None:
    first, again = ({**TAINT, "timeAdded": f"2026-01-01T00:00:{second}Z"} for second in ("00", "40"))
    cluster.pod("q", tolerates("dedicated", 50))
    cluster.taint("n", first)
    cluster.watches["nodes"] = HANGING
    cluster.start()
    cluster.sim.advance(35.0)

    cluster.taint("n")
    cluster.sim.advance(5.0)
    cluster.taint("n", again)
    cluster.sim.advance(49.9)
    assert not cluster.is_leaving("q")

    cluster.sim.advance(200.0)  # the watch is given up after 150 s of silence
    assert cluster.is_leaving("q")


def test_a_taint_that_was_seen_to_have_gone_is_not_the_one_that_comes_again(cluster: Evicting) -> None:
    cluster.pod("q", tolerates("dedicated", 50))
    cluster.taint("n", TAINT)
    cluster.watches["nodes"] = HANGING
    cluster.start()

    cluster.taint("n")
    cluster.sim.advance(52.0)  # the countdown has ended, and the server was asked
    cluster.taint("n", TAINT)
    cluster.sim.advance(40.0)

    assert not cluster.is_leaving("q")


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
def test_a_toleration_that_comes_at_the_last_moment_keeps_the_pod(cluster: Evicting, method: str) -> None:
    cluster.pod("q", tolerates("dedicated", 20))
    cluster.start()
    cluster.taint("n", TAINT)

    cluster.before[method] = lambda: cluster.tolerate("q", tolerates("dedicated"))
    cluster.sim.advance(100.0)

    assert not cluster.is_leaving("q")
    assert cluster.events() == ["Cancelling q", "Marking p"]


def test_a_pod_that_was_deleted_is_not_deleted_again_while_the_cache_is_behind(cluster: Evicting) -> None:
    cluster.watches["pods"] = HANGING
    cluster.start()
    cluster.taint("n", TAINT)
    asked = cluster.asked.copy()

    cluster.taint("n", TAINT, LOST)
    cluster.sim.advance(60.0)

    assert cluster.is_leaving("p")
    assert cluster.asked == asked
    assert cluster.events() == ["Marking p"]


def test_a_namesake_that_comes_in_one_change_is_judged_by_itself(cluster: Evicting) -> None:
    cluster.start()
    cluster.pod("q", tolerates("dedicated", 20))
    cluster.taint("n", TAINT)
    cluster.sim.advance(15.0)

    cluster.sim.pause(cluster.host, 1.0)
    cluster.delete("q", grace=0)
    cluster.pod("q", tolerates("dedicated", 20))
    cluster.sim.advance(15.0)
    assert not cluster.is_leaving("q")

    cluster.sim.advance(10.0)
    assert cluster.is_leaving("q")


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
def test_a_taint_or_a_pod_that_changes_between_the_look_and_the_write(cluster: Evicting, method: str) -> None:
    cluster.start()
    labels = {"metadata": {"labels": {"touched": "yes"}}}
    cluster.before[method] = lambda: cluster.world.patch(PODS, ObjectKey("p", "default"), labels)

    cluster.taint("n", TAINT)
    cluster.sim.advance(2.0)

    assert cluster.is_leaving("p")
    assert cluster.get("p")["metadata"]["labels"] == {"touched": "yes"}
    assert cluster.controller.errors == 0
    assert cluster.events() == ["Marking p"]


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
def test_a_pod_that_somebody_else_removes_is_no_error(cluster: Evicting, method: str) -> None:
    cluster.start()
    cluster.before[method] = lambda: cluster.world.delete(PODS, ObjectKey("p", "default"), grace_period_seconds=0)

    cluster.taint("n", TAINT)
    cluster.sim.advance(60.0)

    assert cluster.controller.errors == 0
    assert cluster.events() == []


@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
@pytest.mark.parametrize("fault", [ERROR, Refused(), LostReply()], ids=["500", "refused", "no answer"])
def test_a_failing_request_is_repeated_until_it_succeeds_and_told_once(
    cluster: Evicting, method: str, fault: Fault
) -> None:
    cluster.pod("other")
    cluster.start()
    cluster.faults[method] = fault
    cluster.taint("n", TAINT)
    cluster.sim.advance(100.0)

    cluster.faults.clear()
    cluster.sim.advance(400.0)

    assert cluster.leaving() == ["other", "p"]
    assert set(cluster.events()) <= {"Marking other", "Marking p"}


class World:
    """Changes nodes, watches and the controller as the test asks, and checks each pod that leaves."""

    NODES = ("a", "b")

    def __init__(self, sim: Simulation) -> None:
        self.sim = sim
        self.cluster = Evicting(sim)
        self.tainted: dict[str, float] = {}  # seconds of the simulation at which the node was tainted
        self.left: set[str] = set()
        for node in self.NODES:
            self.cluster.node(node)
            self.cluster.pod(f"{node}-none", node=node)
            self.cluster.pod(f"{node}-20", tolerates("dedicated", 20), node=node)
            self.cluster.pod(f"{node}-ever", tolerates("dedicated"), node=node)
        self.cluster.start()

    def do(self, act: str, node: str, seconds: float) -> None:
        acts: dict[str, Callable[[], object]] = {
            "taint": lambda: self._taint(node),
            "untaint": lambda: self._untaint(node),
            "wait": lambda: self.sim.advance(seconds),
            "kill": lambda: self.cluster.restart(seconds),
            "jump": lambda: self.sim.jump(self.cluster.host, seconds * 1000 - 100_000),
            "hang": lambda: self._restart_with(SilentStream(after=6 + int(seconds) % 4)),
            "cut": lambda: self._restart_with(CutStream(after=int(seconds) % 10)),
            "fail": lambda: self.cluster.faults.update(DELETE=ERROR, GET=LostReply()),
            "mend": self.mend,
        }
        acts[act]()
        self.sim.settle()
        self.look()

    def mend(self) -> None:
        self.cluster.watches.clear()
        self.cluster.faults.clear()

    def _restart_with(self, fault: Fault) -> None:
        self.cluster.watches = dict.fromkeys(("nodes", "pods"), fault)
        self.cluster.restart()

    def look(self) -> None:
        """Check that each pod that left since the last call had to leave."""
        leaving = {*self.cluster.leaving()}
        for pod in leaving - self.left:
            assert pod[0] in self.tainted, f"{pod} was evicted from a node without a taint"
            assert not pod.endswith("-ever"), f"{pod} was evicted though it tolerates the taint"
            borne = self.sim.time - self.tainted[pod[0]]
            # `timeAdded` has whole seconds, so a countdown may be up to one second short.
            assert not pod.endswith("-20") or borne > 19.0, f"{pod} was evicted after {borne:.1f} s"
        self.left = leaving

    def _taint(self, node: str) -> None:
        self.tainted[node] = self.sim.time
        self.cluster.taint(node, {**TAINT, "timeAdded": timestamp(self.cluster.server_host.now())})

    def _untaint(self, node: str) -> None:
        self.tainted.pop(node, None)
        self.cluster.taint(node)


ACTS = st.sampled_from(["taint", "untaint", "wait", "kill", "jump", "hang", "cut", "fail", "mend"])


@settings(max_examples=25)
@given(
    st.lists(st.tuples(ACTS, st.sampled_from(World.NODES), st.floats(0, 200)), max_size=12),
    st.integers(0, 2**16),
)
def test_nobody_leaves_without_a_taint_or_too_soon_and_who_has_to_leaves(
    acts: list[tuple[str, str, float]], seed: int
) -> None:
    with Simulation(seed) as sim:
        world = World(sim)
        for act in acts:
            world.do(*act)

        world.mend()
        world.cluster.restart()  # as an operator does if the caches do not fill
        for _ in range(10):
            sim.advance(40.0)
            world.look()

        due = {f"{node}-{kind}" for node in world.tainted for kind in ("none", "20")}
        assert due <= world.left
        world.cluster.end()
