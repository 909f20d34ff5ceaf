# SPDX-License-Identifier: Apache-2.0
"""The flags of the node lifecycle controller."""

from __future__ import annotations

import click
import pytest

from apimachinery.errors import UsageError
from controllers.command.cli_lifecycle import FLAGS, seconds, take_lifecycle_flags
from controllers.command.run import RunOptions, plan
from controllers.node_lifecycle.config import LifecycleConfig


@pytest.mark.parametrize(
    ("text", "meant"),
    [("50", 50.0), ("0.5", 0.5), ("50s", 50.0), ("1m30s", 90.0), ("1h", 3600.0), ("1m0.5s", 60.5), ("250ms", 0.25)],
)
def test_a_time_is_written_plainly_or_as_go_does(text: str, meant: float) -> None:
    assert seconds(text) == meant


@pytest.mark.parametrize("text", ["", "soon", "5 s", "-5s", "1m-2s", "s", "1e3", "nan"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not a duration"):
        seconds(text)


def test_every_flag_reaches_the_configuration() -> None:
    flags = {name.replace("-", "_"): 0.5 if "eviction" in name or "zone" in name else 7.0 for name, *_ in FLAGS}

    config = plan(RunOptions(lifecycle=take_lifecycle_flags({**flags, "workers": None})), in_cluster=False).lifecycle

    assert config == LifecycleConfig.of(flags)
    assert (config.monitor_period, config.graces.monitor, config.graces.startup) == (7.0, 7.0, 7.0)
    assert (config.zones.rate, config.zones.secondary_rate) == (0.5, 0.5)
    assert (config.zones.large, config.zones.threshold) == (7, 0.5)


def test_what_was_not_given_is_upstreams() -> None:
    assert plan(RunOptions(), in_cluster=False).lifecycle == LifecycleConfig()


@pytest.mark.parametrize(
    ("flags", "controllers", "says"),
    [
        ({"node_monitor_grace_period": 0.0}, "*", "grace periods .* must be positive"),
        ({"node_monitor_period": 0.0}, "*", "node monitor period"),
        ({"node_eviction_rate": float("nan")}, "*", "eviction rates"),
        ({"unhealthy_zone_threshold": 2.0}, "*", "unhealthy zone threshold"),
        ({"node_eviction_rate": 1.0}, "node-ttl", "--node-eviction-rate is for node-lifecycle alone"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(flags: dict[str, float], controllers: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        plan(RunOptions(lifecycle=flags, controllers=controllers), in_cluster=False)


@pytest.mark.parametrize("embedded", [True, False])
def test_a_cluster_gets_it_only_by_name(embedded: bool) -> None:
    cluster = {} if embedded else {"kubeconfig": "file"}

    names = plan(RunOptions(controllers="*", **cluster), in_cluster=False).names  # type: ignore[arg-type]

    assert ("node-lifecycle" in names) is embedded
    assert "node-lifecycle" in plan(RunOptions(controllers="node-lifecycle", **cluster), in_cluster=False).names  # type: ignore[arg-type]
