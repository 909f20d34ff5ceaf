# SPDX-License-Identifier: Apache-2.0
"""Operators whose loops were reported in public, in a few lines each, are found, and what mended them is quiet."""

from __future__ import annotations

import pytest
from kit.apiserver.defining import definition, version
from kit.controllers.published_loops import KEY, LOOPS, THINGS, Loop, controllers_of

from controller_runtime.api.builtin_resources import CUSTOM_RESOURCE_DEFINITIONS
from controller_runtime.testing import EmbeddedCluster, Simulation
from controller_runtime.testing.panics import ControllersWakeThemselves


@pytest.fixture
def with_a_thing(cluster: EmbeddedCluster) -> EmbeddedCluster:
    cluster.user.create(CUSTOM_RESOURCE_DEFINITIONS, definition(version(subresources={"status": {}})))
    cluster.user.create(THINGS, {"metadata": {"name": KEY.name, "namespace": KEY.namespace}, "spec": {"size": 1}})
    return cluster


@pytest.mark.parametrize("loop", LOOPS, ids=str)
def test_a_loop_is_found_within_a_minute_with_its_controllers_and_its_field(
    simulation: Simulation, with_a_thing: EmbeddedCluster, loop: Loop
) -> None:
    with_a_thing.run(lambda manager: controllers_of(manager, loop.broken))
    simulation.advance(60.0)

    found = with_a_thing.manager.self_wakes.found()
    assert {name for each in found for name in each.controllers} == {f"loop-{n}" for n, _ in enumerate(loop.broken)}
    assert any(field.startswith(loop.field) for each in found for field in each.fields)
    assert {each.object for each in found} == {"widgets/default/a"}
    with pytest.raises(ControllersWakeThemselves):
        with_a_thing.raise_panics()


@pytest.mark.parametrize("loop", LOOPS, ids=str)
def test_the_mended_one_is_quiet(simulation: Simulation, with_a_thing: EmbeddedCluster, loop: Loop) -> None:
    with_a_thing.run(lambda manager: controllers_of(manager, loop.mended))
    simulation.advance(60.0)

    counts = [with_a_thing.manager.self_wakes.count(one.name) for one in with_a_thing.manager.controllers]
    assert (with_a_thing.manager.self_wakes.found(), sum(counts)) == ([], 0)
