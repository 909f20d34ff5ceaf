# SPDX-License-Identifier: Apache-2.0
"""The post-process of a lease heartbeat, and the writes that its failure prevents, by either rule of Kubernetes."""

from __future__ import annotations

from typing import Any

import pytest
from kit.controllers.beating import Beating, PostProcess

from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import LEASES
from controller_runtime.testing.simulation import Simulation
from controllers.heartbeat.lease_heartbeat import PostProcessFailure

UPSTREAM_1_29 = PostProcessFailure.BLOCKS_CREATE_AND_UPDATE
LEASE = ObjectKey("beat", "default")


@pytest.mark.scenario("A-19")
@pytest.mark.parametrize("rule", PostProcessFailure, ids=lambda rule: rule.value)
def test_a_failing_post_process_keeps_the_lease_from_being_made(sim: Simulation, rule: PostProcessFailure) -> None:
    """A missing lease is read once in each pass and not created, without a pause in between."""
    beating = Beating(sim, new_lease_post_process=PostProcess(1000), post_process_failure=rule)

    beating.start(25.0)

    assert beating.methods() == ["GET"] * 3
    assert beating.lease() is None
    beating.end()


@pytest.mark.scenario("A-20")
def test_a_failing_post_process_blocks_renewals_by_the_rule_of_1_29(sim: Simulation) -> None:
    """No renewal is sent; the hook is called for four failures, the lease is read, and it is called for four more."""
    post_process = PostProcess(0)
    beating = Beating(sim, new_lease_post_process=post_process, post_process_failure=UPSTREAM_1_29)
    beating.start()
    beating.methods()
    post_process.failures = 1000

    sim.advance(10.4)

    assert beating.methods() == ["GET"]
    assert (beating.hooks, post_process.calls) == (8, 11)
    beating.end()


def test_a_failing_post_process_lets_renewals_through_by_the_older_rule(
    sim: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    post_process = PostProcess(0)
    beating = Beating(sim, new_lease_post_process=post_process)
    beating.start()
    beating.world.patch(LEASES, LEASE, {"metadata": {"labels": None}})
    beating.methods()
    post_process.failures = 1000

    sim.advance(21.0)

    assert beating.methods() == ["PUT", "GET", "PUT", "PUT"], "the first meets the conflict with our patch"
    assert beating.hooks == 0
    lease = beating.lease()
    assert lease is not None
    assert lease["metadata"]["labels"] == {"edited": "yes"}, "it is sent as far as it was edited"
    assert caplog.text.count("WARNING") == 1, "told once"
    beating.end()


@pytest.mark.scenario("A-21")
def test_a_post_process_that_works_the_second_time_makes_the_lease_in_the_second_pass(sim: Simulation) -> None:
    """A post-process that fails once delays the creation of the lease by one pass."""
    beating = Beating(sim, new_lease_post_process=PostProcess(1))

    beating.start(9.0)
    assert beating.lease() is None

    sim.advance(2.0)
    assert beating.lease() is not None
    beating.end()


def test_a_bug_in_a_hook_is_logged_and_the_lease_is_kept(sim: Simulation, caplog: pytest.LogCaptureFixture) -> None:
    def broken(lease: dict[str, Any]) -> None:
        if beating.host.now() < deadline:
            raise ZeroDivisionError("a bug")

    beating = Beating(sim, new_lease_post_process=broken)
    sim.advance(1.0)
    deadline = beating.host.now().replace(second=5)

    beating.start(20.0)

    assert "a bug" in caplog.text
    assert beating.lease() is not None
    beating.end()
