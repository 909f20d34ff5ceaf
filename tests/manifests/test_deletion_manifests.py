# SPDX-License-Identifier: Apache-2.0
"""The manifests of a program with deletion budgets: the role of their record, whatever it is called."""

from __future__ import annotations

from typing import Any

import pytest

from apimachinery.objects import ObjectKey
from apimachinery.system import SystemHost
from controller_runtime.api.builtin_resources import SECRETS
from controller_runtime.deletions import DeletionBudget
from controller_runtime.manifests.bundles import Bundle
from controller_runtime.manifests.facts import facts_of, unconnected_manager
from controller_runtime.manifests.settings import plain_settings
from controller_runtime.program.plan import ProgramOptions, plan_program

THREE = DeletionBudget(SECRETS, most=3)


def rules(record: ObjectKey | None, *, limited: bool = True, name: str = "shop") -> list[dict[str, Any]]:
    """Return the rules for config maps, each with the namespace of its role."""
    manager = unconnected_manager(SystemHost())
    if limited:
        manager.deletions.limit(THREE, record=record)
    settings = plain_settings("shop", namespace="ops", image="shop:1", replicas=1, name=name)
    made = Bundle(facts_of(manager), settings, None).objects()
    return [
        {**rule, "namespace": obj["metadata"]["namespace"]}
        for obj in made
        if obj["kind"] == "Role"
        for rule in obj["rules"]
        if rule["resources"] == ["configmaps"]
    ]


@pytest.mark.parametrize(
    ("record", "name", "names", "namespace"),
    [
        (None, "shop", ["shop-deletions"], "ops"),
        (None, "shop-b", ["shop-b-deletions", "shop-deletions"], "ops"),
        (ObjectKey("mine", "there"), "shop", ["mine"], "there"),
    ],
    ids=["the program's", "of another name", "named"],
)
def test_the_record_has_a_role(record: ObjectKey | None, name: str, names: list[str], namespace: str) -> None:
    maps = {"apiGroups": [""], "resources": ["configmaps"], "namespace": namespace}

    assert rules(record, name=name) == [
        {**maps, "verbs": ["create"]},
        {**maps, "resourceNames": names, "verbs": ["get", "update"]},
    ]


def test_without_budgets_there_is_no_role() -> None:
    assert rules(None, limited=False) == []


def test_a_program_calls_its_record_after_itself() -> None:
    plan = plan_program(ProgramOptions(embedded=True), in_pod=False, lease_name="shop")

    assert plan.record == ObjectKey("shop-deletions", "default")
