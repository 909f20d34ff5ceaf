# SPDX-License-Identifier: Apache-2.0
"""Policies that change the kind, the apiVersion or the metadata of objects; a real server's answers are recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kit.apiserver.asking import Asking
from kit.apiserver.webhooks import ROOT

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

DATA = Path(__file__).parents[2] / "data" / "policies" / "mutating-heads-1.36.json"
RECORDED = json.loads(DATA.read_text(encoding="utf-8"))
SHOWN = ("name", "generateName", "labels", "annotations", "finalizers", "ownerReferences")
# In these a real server names the field of its Go struct, and this one the path in the object.
OWN_WORDS = ("into Go struct field ObjectMeta", "parsing time")


def policy(case: dict[str, Any]) -> dict[str, Any]:
    rule = {"apiGroups": [case["group"]], "apiVersions": ["v1"], "operations": ["CREATE"]}
    constraints = {"resourceRules": [{**rule, "resources": [case["resource"]]}]}
    spec = {"reinvocationPolicy": "Never", "failurePolicy": "Fail", "matchConstraints": constraints}
    return {"metadata": {"name": "m"}, "spec": {**spec, "mutations": [case["mutation"]]}}


@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: case["name"])
def test_a_changed_head_is_answered_as_by_a_real_server(sim: Simulation, case: dict[str, Any]) -> None:
    ask = Asking(APIServer(sim.host("server")))
    if case["group"] == "example.com":
        ask.ok("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", RECORDED["definition"])
    ask.ok("POST", f"{ROOT}/mutatingadmissionpolicies", policy(case))
    ask.ok("POST", f"{ROOT}/mutatingadmissionpolicybindings", {"metadata": {"name": "m"}, "spec": {"policyName": "m"}})

    found, expected = json.loads(ask.response("POST", case["path"], case["object"]).body), case["answer"]

    if "code" not in expected:
        found["metadata"] = {name: value for name, value in found["metadata"].items() if name in SHOWN}
        assert found == expected
        return
    assert (found.get("code"), found.get("reason")) == (expected["code"], expected["reason"])
    if not any(words in expected["message"] for words in OWN_WORDS):
        assert found["message"] == expected["message"]
