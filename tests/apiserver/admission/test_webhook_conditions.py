# SPDX-License-Identifier: Apache-2.0
"""Match conditions decide whether a webhook is called as on a real server, whose answers are recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kit.apiserver.asking import Asking
from kit.apiserver.webhooks import ROOT, Called, Object, configuration, hook, patches, says

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
ANSWERS = Path(__file__).resolve().parents[2] / "data" / "webhooks" / "conditions-1.36.jsonl"
RECORDED = [json.loads(line) for line in ANSWERS.read_text(encoding="utf-8").splitlines()]

CALLED = [case["expressions"] for case in RECORDED if case["code"] == 500]


def served(called: Called) -> Asking:
    # A real server ends expressions by their costs alone.
    return Asking(APIServer(Simulation(0).host("apiserver"), caller=called, most_expression_steps=1 << 40))


def conditions(*expressions: str) -> list[Object]:
    return [{"name": f"c{index}", "expression": text} for index, text in enumerate(expressions)]


@pytest.mark.scenario("AW-06")
@pytest.mark.parametrize("case", RECORDED, ids=lambda case: f"{case['expressions'][0][:40]} {case['failurePolicy']}")
def test_a_webhook_is_called_skipped_or_the_write_forbidden_as_by_a_real_server(case: Any) -> None:
    called = Called()  # nothing serves the webhook, as when the answers were recorded
    ask = served(called)
    one = hook("hook.example.com", matchConditions=conditions(*case["expressions"]))
    one |= {"name": "hook.example.com", "failurePolicy": case["failurePolicy"]}
    ask.ok("POST", f"{ROOT}/validatingwebhookconfigurations", configuration("Validating", one))
    code, answer = ask("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
    assert code == case["code"]
    assert bool(called.reviews) == (case["expressions"] in CALLED)
    if code == 403:
        assert (answer["message"], answer["reason"], answer["details"]) == (
            case["message"],
            case["reason"],
            case["details"],
        )


def test_a_condition_sees_what_an_earlier_webhook_has_made_of_the_object() -> None:
    called = Called(
        {"add": patches({"op": "add", "path": "/data", "value": {"x": "y"}}), "late": says(), "never": says()}
    )
    ask = served(called)
    hooks = (
        hook("never", matchConditions=conditions("has(object.data)")),
        hook("add"),
        hook("late", matchConditions=conditions("object.data.x == 'y'", "request.operation == 'CREATE'")),
    )
    ask.ok("POST", f"{ROOT}/mutatingwebhookconfigurations", configuration("Mutating", *hooks))
    ask.ok("POST", CONFIG_MAPS, {"metadata": {"name": "a"}})
    assert called.names == ["add", "late"]


def test_the_authorizer_answers_for_the_user_of_the_write() -> None:
    called = Called({"ok": says()})
    ask = served(called)
    asks = "authorizer.requestResource.check('delete').allowed()"
    one = hook("ok", matchConditions=conditions(asks))
    ask.ok("POST", f"{ROOT}/validatingwebhookconfigurations", configuration("Validating", one))
    role = {"metadata": {"name": "r"}, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}]}
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    ask.ok("POST", f"{rbac}/clusterroles", role)
    bound = {
        "metadata": {"name": "r"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "joe"}],
    }
    ask.ok("POST", f"{rbac}/clusterrolebindings", bound)
    ask("POST", CONFIG_MAPS, {"metadata": {"name": "a"}}, headers={"impersonate-user": "joe"})
    assert not called.reviews
    ask("POST", CONFIG_MAPS, {"metadata": {"name": "b"}})
    assert len(called.reviews) == 1
