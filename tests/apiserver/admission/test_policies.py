# SPDX-License-Identifier: Apache-2.0
"""Policies judge writes as those of a real server do, whose answers to the same scenarios are recorded."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from kit.apiserver.asking import MERGE, Asking

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

ROOT = "/apis/admissionregistration.k8s.io/v1"
ANSWERS = Path(__file__).resolve().parents[2] / "data" / "policies"
RECORDED = [
    json.loads(line)
    for name in ("scenarios-1.36.jsonl", "mutating-scenarios-1.36.jsonl")
    for line in (ANSWERS / name).read_text(encoding="utf-8").splitlines()
]
PATHS = {
    "MutatingAdmissionPolicy": f"{ROOT}/mutatingadmissionpolicies",
    "MutatingAdmissionPolicyBinding": f"{ROOT}/mutatingadmissionpolicybindings",
    "ConfigMap": "/api/v1/namespaces/default/configmaps",
    "ValidatingAdmissionPolicy": f"{ROOT}/validatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": f"{ROOT}/validatingadmissionpolicybindings",
}
# Their messages show types of Go, and the name of no field.
IN_OWN_WORDS = ("a patch of a wrong type", "a broken quantity")
GENERATED = re.compile(r"gen-[a-z0-9]{5}")


@pytest.fixture
def ask() -> Asking:
    ask = Asking(APIServer(Simulation(0).host("apiserver")))
    for name in ("default", "test"):
        ask("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": {"environment": "test"}}})
    return ask


def answered(ask: Asking, method: str, path: str, obj: Any) -> dict[str, Any]:
    """Make a request; return its answer in the form of the recordings."""
    headers = {"content-type": MERGE} if method == "PATCH" else {}
    response = ask.response(method, path, obj, headers=headers)
    body = json.loads(response.body)
    is_status = body["kind"] == "Status"
    shown = None if is_status else {name: value for name, value in body.items() if name not in ("metadata", "status")}
    if shown is not None:
        metadata = {name: body["metadata"].get(name) for name in ("name", "labels", "annotations")}
        shown["metadata"] = {name: value for name, value in metadata.items() if value}
    found = {
        "shown": shown,
        "code": response.status,
        "message": body.get("message") if is_status else None,
        "reason": body.get("reason") if is_status else None,
        "details": body.get("details") if response.status >= 400 else None,
        "warnings": re.findall(r'299 - "(.*?)"(?:, |$)', response.headers.get("warning", "")),
    }
    return dict(json.loads(GENERATED.sub("gen-name", json.dumps(found))))


@pytest.mark.scenario("AW-15")
@pytest.mark.parametrize("scenario", RECORDED, ids=lambda scenario: scenario["name"])
def test_a_write_is_answered_as_by_a_real_server(ask: Asking, scenario: Any) -> None:
    for obj in scenario["objects"]:
        if obj["kind"] == "ConfigMap":
            ask.ok("POST", PATHS[obj["kind"]], obj)
    for obj in scenario["objects"]:
        if obj["kind"] != "ConfigMap":
            ask.ok("POST", PATHS[obj["kind"]], obj)
    found = [answered(ask, *request) for request in scenario["requests"]]
    wanted = json.loads(GENERATED.sub("gen-name", json.dumps(scenario["answers"])))
    if "shown" not in wanted[0]:  # recorded for policies that change objects
        found = [{name: value for name, value in answer.items() if name != "shown"} for answer in found]
    if scenario["name"] in IN_OWN_WORDS:
        found, wanted = ([one["code"] for one in answers] for answers in (found, wanted))
    assert found == wanted


def test_parameters_without_a_namespace_are_those_of_the_namespace_of_the_object(ask: Asking) -> None:
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["secrets"]}]
    policy = {
        "metadata": {"name": "own"},
        "spec": {
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "matchConstraints": {"resourceRules": rules},
            "validations": [{"expression": "object.metadata.name != params.data.no"}],
        },
    }
    ask.ok("POST", PATHS["ValidatingAdmissionPolicy"], policy)
    ref = {"name": "mine", "parameterNotFoundAction": "Allow"}
    binding = {"policyName": "own", "validationActions": ["Deny"], "paramRef": ref}
    ask.ok("POST", PATHS["ValidatingAdmissionPolicyBinding"], {"metadata": {"name": "own"}, "spec": binding})
    ask.ok("POST", "/api/v1/namespaces/test/configmaps", {"metadata": {"name": "mine"}, "data": {"no": "x"}})
    assert ask("POST", "/api/v1/namespaces/test/secrets", {"metadata": {"name": "x"}})[0] == 422
    assert ask("POST", "/api/v1/namespaces/test/secrets", {"metadata": {"name": "y"}})[0] == 201
    assert ask("POST", "/api/v1/namespaces/default/secrets", {"metadata": {"name": "x"}})[0] == 201


def test_policies_are_judged_by_none(ask: Asking) -> None:
    rules = [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]
    policy = {
        "metadata": {"name": "no"},
        "spec": {"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": "false"}]},
    }
    ask.ok("POST", PATHS["ValidatingAdmissionPolicy"], policy)
    binding = {"metadata": {"name": "no"}, "spec": {"policyName": "no", "validationActions": ["Deny"]}}
    ask.ok("POST", PATHS["ValidatingAdmissionPolicyBinding"], binding)
    assert ask("POST", PATHS["ConfigMap"], {"metadata": {"name": "x"}})[0] == 422
    ask.ok("DELETE", f"{PATHS['ValidatingAdmissionPolicyBinding']}/no")
    assert ask("POST", PATHS["ConfigMap"], {"metadata": {"name": "x"}})[0] == 201
