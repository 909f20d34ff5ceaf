# SPDX-License-Identifier: Apache-2.0
"""A request whose expressions would take too many steps is refused, with the option that changes the limit."""

from __future__ import annotations

from typing import Any

import pytest
from kit.apiserver.asking import Asking

from apimachinery.system import SystemHost
from embedded_apiserver.cel.meter import MOST_STEPS
from embedded_apiserver.server import APIServer

ROOT = "/apis/admissionregistration.k8s.io/v1"
MAPS = "/api/v1/namespaces/default/configmaps"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["configmaps"]}


def bind(ask: Asking, name: str, expression: str, **spec: Any) -> None:
    """Store a policy of config maps and its binding."""
    constraints = {"resourceRules": [RULE]}
    policy = {"matchConstraints": constraints, "validations": [{"expression": expression}], **spec}
    binding = {"policyName": name, "validationActions": ["Deny"]}
    for plural, made in (("validatingadmissionpolicies", policy), ("validatingadmissionpolicybindings", binding)):
        assert ask("POST", f"{ROOT}/{plural}", {"metadata": {"name": name}, "spec": made})[0] == 201


def asking(**options: Any) -> Asking:
    return Asking(APIServer(SystemHost(), **options))


def write(ask: Asking, size: int) -> tuple[int, Any]:
    """Create a config map with a text of so many characters."""
    return ask("POST", MAPS, {"metadata": {"generateName": "a"}, "data": {"a": "a" * size}})


@pytest.mark.parametrize("failure_policy", ["Fail", "Ignore"])
def test_a_write_is_refused_whatever_the_policy_does_with_failures(failure_policy: str) -> None:
    ask = asking()
    bind(ask, "p", "object.data.a.replace('a', object.data.a) != ''", failurePolicy=failure_policy)

    code, refusal = write(ask, 20_000)

    assert code == 413
    assert refusal["reason"] == "RequestEntityTooLarge"
    assert f"limit is {MOST_STEPS} steps" in refusal["message"]
    assert "--most-expression-steps" in refusal["message"]
    assert ask("GET", MAPS)[1]["items"] == []


def test_policies_share_the_steps_of_a_request() -> None:
    ask = asking()
    for number in range(5):
        bind(ask, f"p{number}", "object.data.a.split('').all(x, x == 'a')")

    assert write(ask, 1_000)[0] == 201
    assert write(ask, 60_000)[0] == 413


def test_the_limit_is_an_option_of_the_server() -> None:
    ask = asking(most_expression_steps=20_000)
    bind(ask, "p", "object.data.a.split('').all(x, x == 'a')")

    assert write(ask, 100)[0] == 201
    assert "limit is 20000 steps" in write(ask, 10_000)[1]["message"]


def test_rules_of_a_custom_resource_are_counted_too() -> None:
    ask = asking()
    text = {"type": "string", "maxLength": 30_000}
    rules = [{"rule": "self.a.replace('a', self.a) != ''"}]
    spec = {"type": "object", "properties": {"a": text}, "x-kubernetes-validations": rules}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    names = {"plural": "widgets", "kind": "Widget"}
    content = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    assert ask("POST", DEFINITIONS, {"metadata": {"name": "widgets.example.com"}, "spec": content})[0] == 201

    def create(size: int) -> int:
        head = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"generateName": "a"}}
        return ask("POST", WIDGETS, {**head, "spec": {"a": "a" * size}})[0]

    assert create(1_000) == 201
    assert create(30_000) == 413


def test_expressions_that_take_long_to_compile_are_refused_and_compiled_again_without_a_count() -> None:
    ask = asking()
    longest = " || ".join(["object.data.a != ''"] * 2_000)
    spec = {"matchConstraints": {"resourceRules": [RULE]}, "validations": [{"expression": longest}] * 2}
    code, _ = ask("POST", f"{ROOT}/validatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": spec})
    assert code == 413

    for number in range(2):
        bind(ask, f"p{number}", longest)

    assert write(ask, 10)[0] == 201
