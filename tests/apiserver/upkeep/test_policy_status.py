# SPDX-License-Identifier: Apache-2.0
"""The status of policies, as the controller manager of a real cluster (1.36.2) writes it; its answers are recorded."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from kit.apiserver.asking import Asking

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer
from embedded_apiserver.upkeep.upkeep import Upkeep

POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
DATA = Path(__file__).parents[2] / "data" / "policies" / "type-checking-1.36.json"
RECORDED = json.loads(DATA.read_text(encoding="utf-8"))
CASES = {case["policy"]["metadata"]["name"]: case for case in RECORDED["cases"]}
MANAGER = "validatingadmissionpolicy-status"


@pytest.fixture(scope="module")
def checked() -> dict[str, Any]:
    """Return all recorded policies after the upkeep of a server has seen them, by name."""
    with Simulation(0) as sim:
        ask = Asking(APIServer(sim.host("server")))
        ask.ok("POST", DEFINITIONS, RECORDED["definition"])
        for case in CASES.values():
            ask.ok("POST", POLICIES, case["policy"])
        assert Upkeep(sim.host("upkeep"), ask.server).settle()
        return {one["metadata"]["name"]: one for one in ask.ok("GET", POLICIES)["items"]}


@pytest.mark.parametrize("name", CASES)
def test_expressions_are_checked_as_by_a_real_controller_manager(checked: dict[str, Any], name: str) -> None:
    # The names of types end in a number that is another one each time.
    status = json.loads(re.sub(r"\b([A-Z][A-Za-z]+)\d{5,}", r"\1#", json.dumps(checked[name]["status"])))

    assert status == CASES[name]["status"]


def test_a_status_is_owned_by_its_controller(checked: dict[str, Any]) -> None:
    (entry,) = [one for one in checked["fine"]["metadata"]["managedFields"] if one["manager"] == MANAGER]

    assert (entry["operation"], entry["subresource"]) == ("Apply", "status")
    assert entry["fieldsV1"] == {"f:status": {"f:observedGeneration": {}, "f:typeChecking": {}}}


def test_a_policy_is_checked_again_when_its_spec_changes_and_only_then(sim: Simulation) -> None:
    ask = Asking(APIServer(sim.host("server")))
    upkeep, path = Upkeep(sim.host("upkeep"), ask.server), f"{POLICIES}/fine"
    ask.ok("POST", POLICIES, CASES["fine"]["policy"])
    assert upkeep.settle()
    first = ask.ok("GET", path)
    assert first["status"] == {"observedGeneration": 1, "typeChecking": {}}

    assert upkeep.settle()
    assert ask.ok("GET", path)["metadata"]["resourceVersion"] == first["metadata"]["resourceVersion"]

    ask.ok("PUT", path, {**first, "spec": CASES["no-such-field"]["policy"]["spec"]})
    assert upkeep.settle()
    status = ask.ok("GET", path)["status"]
    assert status["observedGeneration"] == 2
    assert [one["fieldRef"] for one in status["typeChecking"]["expressionWarnings"]] == [
        "spec.validations[0].expression"
    ]


@pytest.mark.parametrize("case", RECORDED["refusals"], ids=lambda case: f"{case['variables']}{case['expression']}")
def test_fields_of_values_without_any_are_refused_as_by_a_real_server(ask: Asking, case: dict[str, Any]) -> None:
    policy = json.loads(json.dumps(CASES["fine"]["policy"]))
    policy["spec"] |= {"validations": [{"expression": case["expression"]}], "variables": case["variables"]}

    answer = json.loads(ask.response("POST", POLICIES, policy).body)

    assert answer.get("message", "").partition("compilation failed: ")[2] == case["refused"]
