# SPDX-License-Identifier: Apache-2.0
"""A label selector in an object becomes the text that lists and watches take."""

from __future__ import annotations

from typing import Any

import pytest
from kubernetes.client import V1LabelSelector, V1LabelSelectorRequirement

from controller_runtime.api.resources import NODES
from controller_runtime.client.label_selectors import format_label_selector
from controller_runtime.testing import EmbeddedCluster

EXPRESSIONS = [
    ("In", ["b", "a"], "tier in (a,b)"),
    ("NotIn", ["a"], "tier notin (a)"),
    ("Exists", None, "tier"),
    ("DoesNotExist", None, "!tier"),
]


@pytest.mark.parametrize(("operator", "values", "text"), EXPRESSIONS)
def test_each_operator_has_its_text(operator: str, values: list[str] | None, text: str) -> None:
    plain: dict[str, Any] = {"key": "tier", "operator": operator, "values": values}
    model = V1LabelSelectorRequirement(key="tier", operator=operator, values=values)

    assert format_label_selector({"matchExpressions": [plain]}) == text
    assert format_label_selector(V1LabelSelector(match_expressions=[model])) == text


def test_all_requirements_are_in_the_text() -> None:
    selector = V1LabelSelector(
        match_labels={"app": "web"}, match_expressions=[V1LabelSelectorRequirement(key="app", operator="Exists")]
    )

    assert format_label_selector(selector) == "app,app=web"


def test_an_empty_selector_selects_everything_and_an_absent_one_has_no_text() -> None:
    assert format_label_selector(V1LabelSelector()) == ""
    assert format_label_selector({}) == ""
    with pytest.raises(TypeError, match="selects nothing"):
        format_label_selector(None)  # type: ignore[arg-type]


def test_an_unknown_operator_is_refused() -> None:
    with pytest.raises(ValueError, match="'Gt' is not an operator of matchExpressions"):
        format_label_selector({"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]})


@pytest.mark.parametrize(("operator", "values", "_text"), EXPRESSIONS)
def test_the_server_takes_the_text(cluster: EmbeddedCluster, operator: str, values: Any, _text: str) -> None:
    cluster.start()
    for name, labels in (("a", {"tier": "a"}), ("c", {"tier": "c"}), ("none", {})):
        cluster.user.create(NODES, {"metadata": {"name": name, "labels": labels}})

    text = format_label_selector({"matchExpressions": [{"key": "tier", "operator": operator, "values": values}]})

    found = {node["metadata"]["name"] for node in cluster.user.list(NODES, label_selector=text, view=dict)}
    wanted = {"In": {"a"}, "NotIn": {"c", "none"}, "Exists": {"a", "c"}, "DoesNotExist": {"none"}}
    assert found == wanted[operator]
