# SPDX-License-Identifier: Apache-2.0
"""Configurations that could not work are refused; the message names the fields that contradict each other."""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime.election.config import LeaderElectionConfig


def config(**changes: Any) -> LeaderElectionConfig:
    return LeaderElectionConfig(**{"name": "program", "namespace": "default", **changes})


@pytest.mark.scenario("LE-15", "E-01", "E-02")
@pytest.mark.parametrize(
    ("changes", "says"),
    [
        pytest.param(
            {"lease_duration": 10}, r"lease_duration \(10\) must be greater than renew_deadline \(10\)", id="lease"
        ),
        pytest.param(
            {"retry_period": 8.4},
            r"renew_deadline \(10\) must be greater than jitter \(1.2\) times retry_period \(8.4\)",
            id="retry",
        ),
        pytest.param({"lease_duration": 0}, r"lease_duration \(0\) must be positive", id="no duration"),
        pytest.param({"renew_deadline": -1}, r"renew_deadline \(-1\) must be positive", id="no deadline"),
        pytest.param({"retry_period": 0}, r"retry_period \(0\) must be positive", id="no period"),
        pytest.param({"lease_duration": 15.5}, "must be whole seconds", id="half seconds"),
        pytest.param({"identity": ""}, "identity must not be empty", id="no identity"),
        pytest.param({"name": ""}, "name must not be empty", id="no name"),
        pytest.param({"namespace": ""}, "namespace must not be empty", id="no namespace"),
    ],
)
def test_a_configuration_that_cannot_work_is_refused(changes: dict[str, Any], says: str) -> None:
    """Each message names the fields and how they must relate."""
    with pytest.raises(ValueError, match=says):
        config(**changes)


def test_the_defaults_are_those_of_the_field() -> None:
    defaults = config(retry_period=8)  # 10 is more than 1.2 times 8

    assert (config().lease_duration, config().renew_deadline, config().retry_period) == (15, 10, 2)
    assert defaults.jitter == 1.2
    assert defaults.request_timeout == 5
