# SPDX-License-Identifier: Apache-2.0
"""The names of a ring and of its members: the rules of the API are checked when they are given, not by each turn."""

from __future__ import annotations

import pytest

from apimachinery.names import subdomain_errors
from controller_runtime.ring.config import LONGEST, RingConfig
from controller_runtime.testing.simulation import Simulation

PLACE = "default"


@pytest.mark.parametrize("field", ["name", "identity"])
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        pytest.param("My_Ring", "must consist of a-z, 0-9", id="capitals"),
        pytest.param("ring-", "must consist of a-z, 0-9", id="a dash at the end"),
        pytest.param("", "must consist of a-z, 0-9", id="empty"),
        pytest.param("r" * 64, "has 64 characters, and may have 63", id="long"),
    ],
)
def test_a_name_that_cannot_name_a_lease_is_refused_in_one_line(field: str, value: str, reason: str) -> None:
    with pytest.raises(ValueError, match=f"cannot name a lease: it {reason}") as refused:
        RingConfig(**{"namespace": PLACE, "name": "ring", field: value})
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("machine", ["MyMac_Book.local", "r0#1", "-", "x" * 300])
def test_the_name_of_any_host_is_made_to_fit_into_the_name_of_a_lease(sim: Simulation, machine: str) -> None:
    identity = RingConfig(name="r" * LONGEST, namespace=PLACE).named_by(sim.host(machine)).identity

    assert identity is not None
    assert not subdomain_errors(identity)


def test_two_runs_of_one_identity_have_leases_of_their_own(sim: Simulation) -> None:
    host, config = sim.host("web-0"), RingConfig(name="ring", namespace=PLACE, identity="web-0")

    first, second = (config.named_by(host).identity or "" for _ in range(2))

    assert first != second
    assert first.startswith("web-0-")
