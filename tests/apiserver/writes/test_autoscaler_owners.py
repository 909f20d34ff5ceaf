# SPDX-License-Identifier: Apache-2.0
"""Owners of the fields of autoscalers in both API versions, as seen on Kubernetes 1.36.2."""

from __future__ import annotations

from typing import Any

import pytest
from kit.apiserver.asking import Asking

OLD, NEW = (f"/apis/autoscaling/{version}/namespaces/default/horizontalpodautoscalers" for version in ("v1", "v2"))
TARGET = {"scaleTargetRef": {"kind": "Deployment", "name": "d", "apiVersion": "apps/v1"}, "maxReplicas": 3}


def metric(name: str, **target: Any) -> dict[str, Any]:
    return {"type": "Resource", "resource": {"name": name, "target": target}}


CPU = metric("cpu", type="Utilization", averageUtilization=50)
MEMORY = metric("memory", type="AverageValue", averageValue="1Gi")


def autoscaler(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "a"}, "spec": {**TARGET, **spec}}


def owned(obj: dict[str, Any]) -> dict[str, set[str]]:
    """Return the fields of the spec by owner."""
    entries = obj["metadata"]["managedFields"]
    return {entry["manager"]: {name[2:] for name in entry["fieldsV1"]["f:spec"]} for entry in entries}


@pytest.mark.parametrize(
    ("first", "made", "second", "change", "left"),
    [
        pytest.param(
            NEW,
            autoscaler(metrics=[MEMORY, CPU]),
            OLD,
            {"targetCPUUtilizationPercentage": 60},
            {"unknown": {"maxReplicas", "minReplicas", "scaleTargetRef"}, "m": {"targetCPUUtilizationPercentage"}},
            id="the old field is one of the new metrics",
        ),
        pytest.param(
            OLD,
            autoscaler(targetCPUUtilizationPercentage=50),
            NEW,
            {"metrics": [metric("cpu", type="Utilization", averageUtilization=9)]},
            {"unknown": {"maxReplicas", "minReplicas", "scaleTargetRef"}, "m": {"metrics"}},
            id="a new metric is the old field",
        ),
        pytest.param(
            OLD,
            autoscaler(targetCPUUtilizationPercentage=50),
            NEW,
            {"metrics": [CPU, MEMORY]},
            {
                "unknown": {"maxReplicas", "minReplicas", "scaleTargetRef", "targetCPUUtilizationPercentage"},
                "m": {"metrics"},
            },
            id="the old field stays",
        ),
        pytest.param(
            NEW,
            autoscaler(metrics=[CPU, MEMORY]),
            OLD,
            {"maxReplicas": 4},
            {"unknown": {"metrics", "minReplicas", "scaleTargetRef"}, "m": {"maxReplicas"}},
            id="a field of both, and metrics that are stored in another order",
        ),
    ],
)
def test_a_change_in_one_version_takes_the_fields_that_it_changes_in_the_other(
    ask: Asking, first: str, made: dict[str, Any], second: str, change: dict[str, Any], left: dict[str, set[str]]
) -> None:
    ask.ok("POST", first, made)

    status, changed = ask.patch(f"{second}/a", {"spec": change}, fieldManager="m")

    assert (status, owned(changed)) == (200, left)
