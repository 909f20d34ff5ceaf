# SPDX-License-Identifier: Apache-2.0
"""The metrics of the embedded server."""

from __future__ import annotations

import re

from kit.apiserver.asking import Asking
from prometheus_client.parser import text_string_to_metric_families

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def read(ask: Asking) -> dict[str, dict[str, float]]:
    """Return the values of each metric by the text of their labels."""
    response = ask.response("GET", "/metrics")
    assert response.status == 200
    assert response.headers["content-type"].startswith("text/plain; version=0.0.4")
    families = list(text_string_to_metric_families(response.body.decode()))
    return {one.name: {" ".join(sample.labels.values()): sample.value for sample in one.samples} for one in families}


def test_metrics_count_the_objects_of_each_resource_once(ask: Asking) -> None:
    ask.ok("POST", CONFIG_MAPS, {"metadata": {"name": "one"}})
    found = read(ask)["apiserver_resource_objects"]

    assert found[" configmaps"] == 1
    assert found[" namespaces"] == 4
    assert found["autoscaling horizontalpodautoscalers"] == 0
    assert "authorization.k8s.io subjectaccessreviews" not in found


def test_metrics_tell_the_release(ask: Asking) -> None:
    (labels,) = read(ask)["kubernetes_build_info"]
    assert re.fullmatch(r"v1\.\d+\.\d+\+embedded 1 \d+", labels)
