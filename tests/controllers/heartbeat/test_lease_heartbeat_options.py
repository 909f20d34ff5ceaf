# SPDX-License-Identifier: Apache-2.0
"""The options of a lease heartbeat: names, values that are refused, no client, deletion at start and stop."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from kit.controllers.beating import ERROR, OPTIONS, Beating

from apimachinery.objects import ObjectKey
from apimachinery.stop import spawn
from controller_runtime.api.resources import LEASES
from controller_runtime.testing.cluster import EmbeddedCluster
from controller_runtime.testing.faults import Delayed
from controller_runtime.testing.objects import a_lease
from controller_runtime.testing.simulation import Simulation
from controllers.heartbeat.lease_heartbeat import LeaseHeartbeat

LEASE = ObjectKey("beat", "default")


@pytest.mark.scenario("A-01")
def test_without_a_client_it_returns_at_once(sim: Simulation) -> None:
    """Without a client the run ends before any time has passed."""
    beating = Beating(sim, client=False)

    beating.start()

    assert beating.thread.join_until(beating.host.monotonic())
    assert beating.methods() == []


@pytest.mark.scenario("A-02")
def test_stopped_before_it_starts_it_asks_nothing(sim: Simulation) -> None:
    """A run whose stop is set already makes no request."""
    beating = Beating(sim, delete_on_start_and_stop=True)
    beating.stop.set()

    beating.start()

    assert beating.methods() == []
    beating.end()


@pytest.mark.scenario("A-28")
@pytest.mark.scenario("A-30")
@pytest.mark.parametrize(
    ("stale", "fault"),
    [
        pytest.param(True, None, id="a stale lease is deleted"),
        pytest.param(False, None, id="nothing to delete"),
        pytest.param(True, ERROR, id="A-30 it cannot be deleted"),
    ],
)
def test_asked_to_it_deletes_the_lease_before_the_first_pass(sim: Simulation, stale: bool, fault: Any) -> None:
    """With `delete_on_start_and_stop`, DELETE comes before the first read, and its outcome does not matter."""
    beating = Beating(sim, delete_on_start_and_stop=True)
    if stale:
        beating.world.create(LEASES, a_lease("beat", holder="old"))
    beating.will("DELETE", fault)

    beating.start()

    assert beating.methods() == ["DELETE", "GET", "PUT" if fault else "POST"]
    assert beating.spec()["holderIdentity"] == ("old" if fault else "me")
    beating.end()


@pytest.mark.scenario("A-29")
def test_the_lease_is_deleted_at_the_end_after_the_renewal_in_hand(sim: Simulation) -> None:
    """Stopped during a renewal, it deletes the lease once that has ended, and writes nothing after that."""
    beating = Beating(sim, delete_on_start_and_stop=True)
    beating.start()
    beating.methods()
    beating.will("PUT", Delayed(4.0))
    sim.advance(10.5)

    spawn(beating.host, beating.stop, "stopper", beating.stop.set)
    sim.advance(60.0)

    assert beating.gaps() == [pytest.approx(4.0, abs=0.5)]
    assert beating.methods() == ["PUT", "DELETE"]
    assert beating.lease() is None
    beating.end()


def test_the_older_name_of_the_lease_is_the_holders(sim: Simulation) -> None:
    host = sim.host("h")

    heartbeat = LeaseHeartbeat(host, None, **{**OPTIONS, "lease_name": None})

    assert heartbeat.key == ObjectKey("me", "default")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        pytest.param({"holder_identity": ""}, "needs a holder", id="no holder"),
        pytest.param(
            {"holder_identity": "", "lease_name": None}, "'' cannot be the name of a lease|needs a holder", id="nothing"
        ),
        pytest.param({"lease_namespace": ""}, "'' cannot be the name of a namespace", id="no namespace"),
        pytest.param({"lease_namespace": "a.b"}, "'a.b' cannot be the name of a namespace", id="no label"),
        pytest.param({"lease_name": ""}, "'' cannot be the name of a lease", id="empty name"),
        pytest.param({"lease_name": "a/b"}, "'a/b' cannot be the name of a lease", id="a path"),
        pytest.param({"lease_name": "x" * 254}, "no more than 253 characters", id="long name"),
        pytest.param(
            {"holder_identity": "Me_1", "lease_name": None},
            "'Me_1' cannot be the name of a lease",
            id="holder as a name",
        ),
        pytest.param({"lease_duration_seconds": 0}, "must be positive and below", id="no duration"),
        pytest.param({"renew_interval": 0.0}, "must be positive and below", id="no interval"),
        pytest.param({"renew_interval": 40.0}, "must be positive and below", id="as long as the duration"),
        pytest.param({"renew_interval": float("nan")}, "must be positive and below", id="not a number"),
    ],
)
def test_what_makes_no_sense_is_refused(sim: Simulation, wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        LeaseHeartbeat(sim.host("h"), None, **{**OPTIONS, **wrong})


def test_a_holder_may_be_any_text_where_the_lease_has_a_name_of_its_own(sim: Simulation) -> None:
    heartbeat = LeaseHeartbeat(sim.host("h"), None, **{**OPTIONS, "holder_identity": "Me_1 (pid 7)"})

    assert heartbeat.key == LEASE


def test_the_guides_code_runs_with_a_manager(sim: Simulation) -> None:
    guide = (Path(__file__).parents[3] / "docs" / "heartbeat.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", guide, re.DOTALL)

    with EmbeddedCluster(sim.host("guide")) as cluster:
        exec(code, {"manager": cluster.manager})
        cluster.start()
        sim.advance(11.0)

        lease = cluster.client.get(LEASES, ObjectKey("worker-7", "default"), dict)

    assert lease["spec"]["holderIdentity"] == "worker-7"
    assert cluster.manager.transport.counters().answers[("200", "PUT")] == 1
