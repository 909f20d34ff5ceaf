# SPDX-License-Identifier: Apache-2.0
"""Policies of admission and their bindings: stored and refused as by a real server, whose answers are recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kit.apiserver.asking import Asking

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

ROOT = "/apis/admissionregistration.k8s.io/v1"
ANSWERS = Path(__file__).resolve().parents[2] / "data" / "policies"
RECORDED = [
    json.loads(line)
    for name in ("writes-1.36.jsonl", "mutating-writes-1.36.jsonl")
    for line in (ANSWERS / name).read_text(encoding="utf-8").splitlines()
]
TABLES = json.loads((ANSWERS / "tables-1.36.json").read_text(encoding="utf-8"))
PLURALS = {
    "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": "mutatingadmissionpolicybindings",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
}


@pytest.fixture(scope="module")
def ask() -> Asking:
    return Asking(APIServer(Simulation(0).host("apiserver")))


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: json.dumps(case["sent"]["spec"])[-60:])
def test_a_policy_is_stored_or_refused_as_by_a_real_server(ask: Asking, case: Any) -> None:
    sent, answer = case["sent"], case["answer"]
    path = f"{ROOT}/{PLURALS[sent['kind']]}"
    ask("DELETE", f"{path}/a")
    code, found = ask("POST", path, sent)
    if "message" in answer:
        assert (code, found["message"]) == (answer["code"], answer["message"])
        assert found["details"] == answer["details"]
    else:
        shown = {name: value for name, value in found.items() if name != "metadata"}
        assert shown == {name: value for name, value in answer.items() if name != "metadata"}
        assert found["metadata"]["generation"] == 1


@pytest.mark.parametrize("resource", TABLES)
def test_a_table_shows_what_a_real_server_shows(resource: str) -> None:
    ask, recorded = Asking(APIServer(Simulation(0).host("apiserver"))), TABLES[resource]
    for obj in recorded["objects"]:
        ask.ok("POST", f"{ROOT}/{resource}", obj)
    table = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    _, found = ask("GET", f"{ROOT}/{resource}", headers=table)
    assert [row["cells"][:-1] for row in found["rows"]] == recorded["cells"]


def test_a_changed_spec_is_a_new_generation() -> None:
    ask = Asking(APIServer(Simulation(0).host("apiserver")))
    for kind, spec in (
        ("mutatingadmissionpolicies", {"failurePolicy": "Ignore"}),
        ("mutatingadmissionpolicybindings", {"policyName": "o"}),
    ):
        path = f"{ROOT}/{kind}"
        made = ask.ok("POST", path, TABLES[kind]["objects"][0])
        name = made["metadata"]["name"]
        same = ask.ok("PUT", f"{path}/{name}", {**made, "metadata": {**made["metadata"], "labels": {"a": "b"}}})
        changed = ask.ok("PUT", f"{path}/{name}", {**same, "spec": {**same["spec"], **spec}})
        assert [one["metadata"]["generation"] for one in (made, same, changed)] == [1, 1, 2]
