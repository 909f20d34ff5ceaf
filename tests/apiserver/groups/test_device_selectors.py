# SPDX-License-Identifier: Apache-2.0
"""The expressions that choose devices are compiled; what a real server says of those that do not."""

from __future__ import annotations

import pytest
from kit.apiserver.asking import Asking

CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
ATTRIBUTES = 'device.attributes["gpu.example.com"]'

_LOOP = "device.attributes.all({}, {})"
_NESTED = _LOOP.format("a", _LOOP.format("b", _LOOP.format("c", _LOOP.format("d", "a == d"))))


def _refused(ask: Asking, expression: str) -> str:
    body = {"metadata": {"name": "c"}, "spec": {"selectors": [{"cel": {"expression": expression}}]}}
    status, told = ask("POST", CLASSES, body)
    assert status in (201, 422), told
    return "" if status == 201 else str(told["details"]["causes"][0]["message"])


@pytest.mark.parametrize(
    "expression",
    [
        'device.driver == "gpu.example.com"',
        f"{ATTRIBUTES}.isBig",
        f'{ATTRIBUTES}.model == "a100" && device.allowMultipleAllocations',
        f'cel.bind(gpu, {ATTRIBUTES}, gpu.model.matches("^a.*") && gpu.version.isGreaterThan(semver("1.0.0")))',
        'device.capacity["gpu.example.com"].memory.compareTo(quantity("1Gi")) > 0',
    ],
)
def test_an_expression_that_compiles_is_accepted(ask: Asking, expression: str) -> None:
    assert _refused(ask, expression) == ""


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("1", "must evaluate to bool or the unknown type, not int"),
        ("dyn(1)", "must evaluate to bool or the unknown type, not dyn"),
        ("", "compilation failed: ERROR: <input>:1:0: Syntax error: mismatched input '<EOF>'"),
        ("gpu == 1", "compilation failed: ERROR: <input>:1:1: undeclared reference to 'gpu'"),
        ("device.memory > 1", "compilation failed: ERROR: <input>:1:7: undefined field 'memory'"),
        ("cel.bind(1, 2, true)", "cel.bind() variable names must be simple identifiers"),
        (_NESTED, "too complex, exceeds cost limit"),
    ],
)
def test_another_one_is_refused(ask: Asking, expression: str, told: str) -> None:
    assert told in _refused(ask, expression)


def test_rules_of_definitions_have_no_names_for_parts(ask: Asking) -> None:
    rule = {"rule": "cel.bind(a, 1, a == 1)"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-validations": [rule]}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": "as", "kind": "A", "singular": "a", "listKind": "AList"}
    spec = {"group": "example.com", "scope": "Cluster", "names": names, "versions": [version]}
    definition = {"metadata": {"name": "as.example.com"}, "spec": spec}

    status, told = ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)

    assert (status, "undeclared reference to 'cel'" in told["message"]) == (422, True)
