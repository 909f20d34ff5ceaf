# SPDX-License-Identifier: Apache-2.0
"""Policies that change objects, beside webhooks, custom kinds and other policies."""

from __future__ import annotations

from typing import Any

import pytest
from kit.apiserver.asking import Asking
from kit.apiserver.webhooks import CONFIG_MAPS, ROOT, Called, Object, configuration, hook, patches, says

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

PATH = "/api/v1/namespaces/default/configmaps"
RULE = {**CONFIG_MAPS, "operations": ["CREATE", "UPDATE"]}


class Served:
    """A server with policies, and the webhooks that it calls."""

    def __init__(self) -> None:
        self.called = Called({"ok": says(), "add": patches({"op": "add", "path": "/data/w", "value": "x"})})
        self.ask = Asking(APIServer(Simulation(0).host("apiserver"), caller=self.called))

    def configure(self, *hooks: Object) -> None:
        self.ask.ok("POST", f"{ROOT}/mutatingwebhookconfigurations", configuration("Mutating", *hooks))

    def bind(self, name: str, expression: str, rule: Object = RULE, again: str = "Never", **fields: Any) -> None:
        mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}
        if expression.startswith("["):
            mutation = {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}
        spec = {
            "matchConstraints": {"resourceRules": [rule]},
            "reinvocationPolicy": again,
            "mutations": [mutation],
            **fields,
        }
        self.ask.ok("POST", f"{ROOT}/mutatingadmissionpolicies", {"metadata": {"name": name}, "spec": spec})
        binding = {"metadata": {"name": name}, "spec": {"policyName": name}}
        self.ask.ok("POST", f"{ROOT}/mutatingadmissionpolicybindings", binding)

    def create(self, name: str = "a", **fields: Any) -> Any:
        return self.ask.ok("POST", PATH, {"metadata": {"name": name}, **fields})


@pytest.fixture
def served() -> Served:
    return Served()


def test_webhooks_see_what_policies_have_changed(served: Served) -> None:
    served.bind("p", "Object{data: {'p': 'x'}}")
    served.configure(hook("add"), hook("ok"))
    assert served.create()["data"] == {"p": "x", "w": "x"}
    shown = [review["request"]["object"]["data"] for review in served.called.reviews]
    assert shown == [{"p": "x"}, {"p": "x", "w": "x"}]


@pytest.mark.parametrize(("again", "size"), [("Never", "0"), ("IfNeeded", "2")])
def test_a_policy_is_applied_again_to_what_a_webhook_has_changed_if_it_asks_for_it(
    served: Served, again: str, size: str
) -> None:
    served.bind("p", "Object{data: {'size': string(has(object.data) ? size(object.data) : 0)}}", again=again)
    served.configure(hook("add"))
    assert served.create()["data"] == {"size": size, "w": "x"}
    assert served.called.names == ["add"]


def test_a_webhook_is_called_again_if_a_policy_changes_the_object_after_it(served: Served) -> None:
    served.bind("p", "Object{data: {'seen': string(object.?data.w.hasValue())}}", again="IfNeeded")
    served.configure(hook("ok", reinvocationPolicy="IfNeeded"), hook("add"))
    assert served.create()["data"] == {"seen": "true", "w": "x"}
    assert served.called.names == ["ok", "add", "ok"]


def test_a_webhook_is_called_again_if_a_policy_changes_the_object_in_the_second_round(served: Served) -> None:
    served.bind("p", "Object{data: {'seen': string(object.?data.w.hasValue())}}", again="IfNeeded")
    served.configure(hook("add", reinvocationPolicy="IfNeeded"))
    assert served.create()["data"] == {"seen": "true", "w": "x"}
    assert served.called.names == ["add", "add"]


def test_a_policy_that_failed_and_is_ignored_is_applied_to_what_a_webhook_has_changed(served: Served) -> None:
    served.bind("p", "Object{data: {'seen': object.data.w}}", again="IfNeeded", failurePolicy="Ignore")
    served.configure(hook("add"))
    assert served.create(data={"a": "b"})["data"] == {"a": "b", "seen": "x", "w": "x"}


def test_policies_are_changed_by_none(served: Served) -> None:
    everything = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE"], "resources": ["*"]}
    served.bind("all", "Object{metadata: Object.metadata{labels: {'a': 'b'}}}", everything)
    served.bind("later", "Object{}", {**RULE, "resources": ["secrets"]})
    assert "labels" not in served.ask.ok("GET", f"{ROOT}/mutatingadmissionpolicies/later")["metadata"]
    assert served.create()["metadata"]["labels"] == {"a": "b"}


def test_changes_are_judged_by_validating_policies(served: Served) -> None:
    served.bind("p", "Object{data: {'p': 'x'}}")
    spec = {"matchConstraints": {"resourceRules": [RULE]}, "validations": [{"expression": "object.data.p != 'x'"}]}
    served.ask.ok("POST", f"{ROOT}/validatingadmissionpolicies", {"metadata": {"name": "v"}, "spec": spec})
    binding = {"policyName": "v", "validationActions": ["Warn"]}
    served.ask.ok("POST", f"{ROOT}/validatingadmissionpolicybindings", {"metadata": {"name": "v"}, "spec": binding})
    response = served.ask.response("POST", PATH, {"metadata": {"name": "a"}})
    assert (response.status, "failed expression: object.data.p" in response.headers["warning"]) == (201, True)


SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "properties": {
                "tags": {"type": "array", "items": {"type": "string"}},
                "doors": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "items": {
                        "type": "object",
                        "required": ["name"],
                        "properties": {"name": {"type": "string"}, "state": {"type": "string", "default": "shut"}},
                    },
                },
            },
        }
    },
}


@pytest.mark.parametrize(
    ("expression", "code", "found"),
    [
        pytest.param(
            "Object{spec: Object.spec{doors: [Object.spec.doors{name: 'x'}]}}",
            201,
            [{"name": "y", "state": "open"}, {"name": "x", "state": "shut"}],
            id="merged by keys, with defaults",
        ),
        pytest.param(
            "[JSONPatch{op: 'add', path: '/spec/windows', value: 1}]",
            201,
            [{"name": "y", "state": "open"}],
            id="a patch with a field that is unknown",
        ),
        pytest.param(
            "Object{spec: Object.spec{windows: 1}}",
            403,
            "failed to convert patch object to typed object: .spec.windows: field not declared in schema",
            id="a field that is unknown",
        ),
        pytest.param(
            "Object{spec: Object.spec{tags: ['a']}}",
            403,
            "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: .spec.tags",
            id="a list with one owner",
        ),
    ],
)
def test_custom_objects_are_changed_by_their_schema(served: Served, expression: str, code: int, found: Any) -> None:
    """A real server answers the same."""
    versions = [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}]
    spec = {"group": "x.io", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"}, "versions": versions}
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    served.ask.ok("POST", path, {"metadata": {"name": "foos.x.io"}, "spec": spec})
    served.bind("p", expression, {**RULE, "apiGroups": ["x.io"], "resources": ["foos"]})
    foo = {"apiVersion": "x.io/v1", "kind": "Foo", "metadata": {"name": "f"}}
    doors = [{"name": "y", "state": "open"}]
    told, answer = served.ask("POST", "/apis/x.io/v1/namespaces/default/foos", {**foo, "spec": {"doors": doors}})
    assert told == code
    if code == 201:
        assert answer["spec"] == {"doors": found}
    else:
        assert answer["message"] == f"policy 'p' with binding 'p' denied request: error applying patch: {found}"
