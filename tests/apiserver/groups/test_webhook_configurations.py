# SPDX-License-Identifier: Apache-2.0
"""Configurations of admission webhooks: stored and refused as by a real server, whose answers are recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kit.apiserver.asking import Asking
from kit.contract.engines import WITH_RE2

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

ROOT = "/apis/admissionregistration.k8s.io/v1"
ANSWERS = Path(__file__).resolve().parents[2] / "data" / "webhooks" / "configurations-1.36.jsonl"
RECORDED = [json.loads(line) for line in ANSWERS.read_text(encoding="utf-8").splitlines()]
HOOK = {
    "name": "hook.example.com",
    "clientConfig": {"url": "https://localhost:7778/x", "caBundle": "Y2E="},
    "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}
# Cases whose message shows a type of Go.
DIFFERENT = ("unknown type", "ca no base64")


@pytest.fixture(scope="module")
def ask() -> Asking:
    return Asking(APIServer(Simulation(0).host("apiserver")))


def created(ask: Asking, kind: str, *hooks: dict[str, Any], name: str = "c") -> tuple[int, Any]:
    path = f"{ROOT}/{kind.lower()}s"
    ask("DELETE", f"{path}/{name}")
    return ask("POST", path, {"metadata": {"name": name}, "webhooks": list(hooks)})


@pytest.mark.parametrize(
    "case",
    [pytest.param(one, id=one["label"], marks=WITH_RE2 if one["label"] == "mc regex" else ()) for one in RECORDED],
)
def test_a_configuration_is_accepted_or_refused_in_the_words_of_a_real_server(ask: Asking, case: Any) -> None:
    changed = {**HOOK, **case["hook"]}
    hook = {name: value for name, value in changed.items() if value is not None}
    hook["rules"] = [{k: v for k, v in rule.items() if v is not None} for rule in hook.get("rules", ())]
    code, answer = created(ask, case["kind"], *[hook] * case["n"])
    assert code == case["code"]
    if code != 201 and case["label"] not in DIFFERENT:
        assert answer["message"] == case["message"]
        assert answer["details"]["causes"] == case["causes"]


@pytest.mark.parametrize("kind", ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"])
def test_defaults_are_filled_in_and_generations_counted(ask: Asking, kind: str) -> None:
    by_service = {**HOOK, "clientConfig": {"service": {"name": "s", "namespace": "n"}}}
    code, stored = created(ask, kind, by_service)
    assert code == 201, stored
    hook = stored["webhooks"][0]
    wanted = {"failurePolicy": "Fail", "matchPolicy": "Equivalent", "timeoutSeconds": 10}
    wanted |= {"namespaceSelector": {}, "objectSelector": {}}
    wanted |= {"reinvocationPolicy": "Never"} if kind.startswith("Mutating") else {}
    assert {name: hook.get(name) for name in wanted} == wanted
    assert (hook["rules"][0]["scope"], hook["clientConfig"]["service"]["port"]) == ("*", 443)
    assert stored["metadata"]["generation"] == 1
    path = f"{ROOT}/{kind.lower()}s/c"
    assert ask("PUT", path, {**stored, "webhooks": [HOOK]})[1]["metadata"]["generation"] == 2
    assert ask("PUT", path, {"metadata": {"name": "c"}, "webhooks": [HOOK]})[0] == 422


def test_a_table_shows_the_number_of_webhooks(ask: Asking) -> None:
    created(ask, "ValidatingWebhookConfiguration", HOOK, {**HOOK, "name": "b.example.com"})
    table = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    _, found = ask("GET", f"{ROOT}/validatingwebhookconfigurations", headers=table)
    assert [row["cells"] for row in found["rows"]] == [["c", 2, "0s"]]
