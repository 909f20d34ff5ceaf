# SPDX-License-Identifier: Apache-2.0
"""Policies of admission and their bindings: stored and refused as by a real server, whose answers are recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kit.asking import Asking

from controller_runtime.apiserver.server import APIServer
from controller_runtime.testing.simulation import Simulation

ROOT = "/apis/admissionregistration.k8s.io/v1"
ANSWERS = Path(__file__).resolve().parents[2] / "data" / "policies"
RECORDED = [
    json.loads(line)
    for name in ("writes-1.36.jsonl", "mutating-writes-1.36.jsonl")
    for line in (ANSWERS / name).read_text(encoding="utf-8").splitlines()
]
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
