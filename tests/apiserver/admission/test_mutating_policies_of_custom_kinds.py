# SPDX-License-Identifier: Apache-2.0
"""Changes that policies make to custom objects are taken or refused as by a real server, whose answers are recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from kit.apiserver.asking import Asking

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

ROOT = "/apis/admissionregistration.k8s.io/v1"
CABINS = "/apis/example.com/v1/namespaces/default/cabins"
HUT = {"apiVersion": "example.com/v1", "kind": "Cabin", "metadata": {"name": "hut"}, "spec": {"beds": 1}}
DATA = Path(__file__).parents[2] / "data" / "policies" / "mutating-custom-1.36.json"
RECORDED = json.loads(DATA.read_text(encoding="utf-8"))
# They show the whole object, which has managed fields by then on a real server.
SHOWN = ("kind removed", "kind null")


@pytest.mark.scenario("AW-16")
@pytest.mark.parametrize("case", RECORDED["cases"], ids=lambda case: case["name"])
def test_a_changed_custom_object_is_answered_as_by_a_real_server(sim: Simulation, case: dict[str, Any]) -> None:
    ask = Asking(APIServer(sim.host("server")))
    ask.ok("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", RECORDED["definition"])
    policy = {**RECORDED["policy"], "spec": {**RECORDED["policy"]["spec"], "mutations": [case["mutation"]]}}
    ask.ok("POST", f"{ROOT}/mutatingadmissionpolicies", policy)
    binding = {"metadata": {"name": "m"}, "spec": {"policyName": "m"}}
    ask.ok("POST", f"{ROOT}/mutatingadmissionpolicybindings", binding)

    found = json.loads(ask.response("POST", CABINS, HUT).body)

    expected = case["answer"]
    if "code" in expected:
        assert (found.get("code"), found.get("reason")) == (expected["code"], expected["reason"])
        length = expected["message"].index("{") if case["name"] in SHOWN else None
        assert found["message"][:length] == expected["message"][:length]
        return
    names = ("name", "namespace", "labels", "generateName")
    found["metadata"] = {name: value for name, value in found["metadata"].items() if name in names}
    assert found == expected
