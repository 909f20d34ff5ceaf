# SPDX-License-Identifier: Apache-2.0
"""A rolling update never leaves its bounds, and always ends: random states, scaled step by step."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apimachinery.objects import ObjectMeta
from controllers.workloads.deployment_plan import in_proportion, roll
from controllers.workloads.deployment_views import Deployment, DeploymentSpec, RollingUpdate, Strategy, replicas_in
from controllers.workloads.replica_set_plan import ReplicaSet, ReplicaSetSpec


def a_deployment(replicas: int, surge: int | str, unavailable: int | str) -> Deployment:
    strategy = Strategy("RollingUpdate", RollingUpdate(max_surge=surge, max_unavailable=unavailable))
    spec = DeploymentSpec(selector={}, template={"spec": {"n": 0}}, replicas=replicas, strategy=strategy)
    return Deployment(ObjectMeta(name="web"), spec)


def a_replica_set(name: str, replicas: int, available: int) -> ReplicaSet:
    spec = ReplicaSetSpec(selector={}, replicas=replicas)
    return ReplicaSet(ObjectMeta(name=name), spec, {"replicas": replicas, "availableReplicas": available})


def with_replicas(replica_set: ReplicaSet, replicas: int) -> ReplicaSet:
    spec = msgspec.structs.replace(replica_set.spec, replicas=replicas)
    status = {"replicas": replicas, "availableReplicas": min(replica_set.counted("availableReplicas"), replicas)}
    return msgspec.structs.replace(replica_set, spec=spec, status=status)


bounds = st.integers(0, 12) | st.integers(0, 100).map(lambda part: f"{part}%")


@given(st.integers(0, 12), bounds, bounds, st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=3))
def test_a_rolling_update_keeps_its_bounds_and_ends(
    replicas: int, surge: int | str, unavailable: int | str, old: list[tuple[int, int]]
) -> None:
    deployment = a_deployment(replicas, surge, unavailable)
    most, least = replicas + deployment.max_surge, replicas - deployment.max_unavailable
    sets = {f"old-{n}": a_replica_set(f"old-{n}", size, min(size, ready)) for n, (size, ready) in enumerate(old)}
    sets["new"] = a_replica_set("new", 0, 0)

    for _ in range(200):
        before = replicas_in(sets.values())
        available = sum(each.counted("availableReplicas") for each in sets.values())
        steps = roll(deployment, sets["new"], [each for name, each in sets.items() if name != "new"])
        if not steps:
            waiting = [n for n, each in sets.items() if each.counted("availableReplicas") < each.spec.replicas]
            if "new" not in waiting:
                break
            sets["new"].status["availableReplicas"] = sets["new"].spec.replicas  # its pods become available
            continue
        for each, size in steps:
            sets[each.metadata.name] = with_replicas(sets[each.metadata.name], size)
        after = replicas_in(sets.values())
        assert after <= max(most, before)
        left = sum(each.counted("availableReplicas") for each in sets.values())
        assert left >= min(least, available), "pods that others rely on were deleted"
    assert {name: each.spec.replicas for name, each in sets.items() if each.spec.replicas} == (
        {"new": replicas} if replicas else {}
    )


@pytest.mark.parametrize(
    ("replicas", "sizes", "expected"),
    [
        pytest.param(10, {"old": 8, "new": 2}, {"old": 8, "new": 2}, id="nothing to do"),
        pytest.param(20, {"old": 8, "new": 2}, {"old": 16, "new": 4}, id="twice as many"),
        pytest.param(5, {"old": 8, "new": 2}, {"old": 4, "new": 1}, id="half of them"),
        pytest.param(0, {"old": 8, "new": 2}, {"old": 0, "new": 0}, id="none"),
    ],
)
def test_a_change_of_the_replicas_is_spread_in_proportion(
    replicas: int, sizes: dict[str, int], expected: dict[str, int]
) -> None:
    deployment = a_deployment(replicas, 0, 1)
    sets: dict[str, Any] = {}
    for name, size in sizes.items():
        made = a_replica_set(name, size, size)
        annotations = {"deployment.kubernetes.io/desired-replicas": "10", "deployment.kubernetes.io/max-replicas": "10"}
        sets[name] = msgspec.structs.replace(made, metadata=ObjectMeta(name=name, annotations=annotations))

    steps = {each.metadata.name: size for each, size in in_proportion(deployment, sets["new"], [sets["old"]])}

    assert {**sizes, **steps} == expected
