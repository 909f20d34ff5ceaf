# SPDX-License-Identifier: Apache-2.0
"""Which webhooks are called for a write, in which order, and what they are shown."""

from __future__ import annotations

from typing import Any

import pytest
from kit.apiserver.asking import MERGE, Asking, pod
from kit.apiserver.webhooks import CONFIG_MAPS, ROOT, Called, Object, configuration, hook, patches, says

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.server import APIServer

NS = "/api/v1/namespaces/default"
ANY_RULE = {"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}


def rule(**fields: Any) -> list[Object]:
    return [{**CONFIG_MAPS, **fields}]


class Served:
    """A server, and the webhooks that it calls."""

    def __init__(self, **options: Any) -> None:
        self.called = Called({"ok": says(), "add": patches({"op": "add", "path": "/data", "value": {"x": "y"}})})
        self.ask = Asking(APIServer(Simulation(0).host("apiserver"), caller=self.called, **options))

    def configure(self, kind: str, *hooks: Object, name: str = "c") -> None:
        code, answer = self.ask(
            "POST", f"{ROOT}/{kind.lower()}webhookconfigurations", configuration(kind, *hooks, name=name)
        )
        assert code == 201, answer

    def create(self, name: str = "a", **fields: Any) -> tuple[int, Any]:
        obj = {"metadata": {"name": name, **fields.pop("metadata", {})}, **fields}
        return self.ask("POST", f"{NS}/configmaps", obj)


@pytest.fixture
def served() -> Served:
    return Served()


LABELLED = {"labels": {"tier": "a"}}
SELECTED = {"matchLabels": {"tier": "a"}}


@pytest.mark.scenario("AW-01")
@pytest.mark.parametrize(
    ("fields", "metadata", "is_called"),
    [
        pytest.param({"rules": rule()}, {}, True, id="a rule that names the kind"),
        pytest.param({"rules": rule(resources=["*"])}, {}, True, id="any resource"),
        pytest.param({"rules": rule(resources=["pods"])}, {}, False, id="another resource"),
        pytest.param({"rules": rule(resources=["configmaps/status"])}, {}, False, id="a subresource"),
        pytest.param({"rules": rule(operations=["UPDATE", "DELETE"])}, {}, False, id="another operation"),
        pytest.param({"rules": rule(apiGroups=["apps"])}, {}, False, id="another group"),
        pytest.param({"rules": rule(apiVersions=["v2"])}, {}, False, id="another version"),
        pytest.param({"rules": rule(scope="Cluster")}, {}, False, id="cluster-scoped kinds"),
        pytest.param({"rules": rule(scope="Namespaced")}, {}, True, id="namespaced kinds"),
        pytest.param({"rules": [*rule(resources=["pods"]), *rule()]}, {}, True, id="the second rule"),
        pytest.param({"objectSelector": SELECTED}, {}, False, id="objects with labels"),
        pytest.param({"objectSelector": SELECTED}, LABELLED, True, id="an object with the labels"),
        pytest.param({"namespaceSelector": SELECTED}, LABELLED, False, id="namespaces with labels"),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}},
            {},
            True,
            id="the namespace",
        ),
    ],
)
@pytest.mark.parametrize("kind", ["Mutating", "Validating"])
def test_a_webhook_sees_the_writes_that_its_rules_and_selectors_name(
    served: Served, kind: str, fields: Object, metadata: Object, is_called: bool
) -> None:
    served.configure(kind, hook("ok", **fields))
    assert served.create(metadata=metadata)[0] == 201
    assert bool(served.called.reviews) == is_called


def test_each_write_is_judged_by_the_present_labels_of_its_own_namespace(served: Served) -> None:
    served.configure("Validating", hook("ok", namespaceSelector=SELECTED))
    served.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "other", **LABELLED}})
    called = []
    for place, labels in ((NS, {}), ("/api/v1/namespaces/other", {}), (NS, {"tier": "a"}), (NS, {"tier": None})):
        if labels:
            served.ask("PATCH", NS, {"metadata": {"labels": labels}}, headers={"content-type": MERGE})
        for _ in range(2):
            assert served.ask("POST", f"{place}/configmaps", {"metadata": {"generateName": "a"}})[0] == 201
        called.append(len(served.called.reviews))
    assert called == [0, 2, 4, 4]


def test_an_object_that_is_no_longer_selected_is_shown_once_more(served: Served) -> None:
    served.configure("Validating", hook("ok", objectSelector=SELECTED))
    served.create(metadata=LABELLED)
    for _ in range(2):
        served.ask("PATCH", f"{NS}/configmaps/a", {"metadata": {"labels": None}}, headers={"content-type": MERGE})
    assert [one["request"]["operation"] for one in served.called.reviews] == ["CREATE", "UPDATE"]


@pytest.mark.scenario("AW-02")
def test_webhooks_are_called_by_the_names_of_their_configurations_mutating_ones_first(served: Served) -> None:
    served.called.webhooks |= dict.fromkeys(("m1", "m2", "m3", "v1"), says())
    served.configure("Validating", hook("v1"), name="a")
    served.configure("Mutating", hook("m2"), hook("m3"), name="b")
    served.configure("Mutating", hook("m1"), name="a")
    served.create()
    assert served.called.names == ["m1", "m2", "m3", "v1"]


@pytest.mark.scenario("AW-03")
def test_a_webhook_is_called_again_if_a_later_one_changed_the_object_and_it_asks_for_it(served: Served) -> None:
    served.called.webhooks |= {"first": says(), "never": says()}
    served.configure(
        "Mutating",
        hook("first", reinvocationPolicy="IfNeeded"),
        hook("never"),
        hook("add", reinvocationPolicy="IfNeeded"),
    )
    code, made = served.create()
    assert (code, made["data"]) == (201, {"x": "y"})
    assert served.called.names == ["first", "never", "add", "first"]
    assert served.called.reviews[-1]["request"]["object"]["data"] == {"x": "y"}


def test_a_change_by_a_webhook_is_seen_by_validating_ones_and_by_the_rules_of_the_kind(served: Served) -> None:
    served.configure("Mutating", hook("add"))
    served.configure("Validating", hook("ok"))
    assert served.create()[1]["data"] == {"x": "y"}
    shown = [review["request"]["object"] for review in served.called.reviews]
    assert [one.get("data") for one in shown] == [None, {"x": "y"}]
    assert ["uid" in one["metadata"] for one in shown] == [False, True]


def test_deletions_are_shown_with_the_old_object_alone(served: Served) -> None:
    served.configure("Validating", hook("ok", rules=rule(operations=["DELETE"])))
    for name in ("a", "b", "c"):
        served.create(name)
    served.ask("DELETE", f"{NS}/configmaps/a", {"propagationPolicy": "Background"})
    served.ask("DELETE", f"{NS}/configmaps")
    requests = [review["request"] for review in served.called.reviews]
    assert [(one["operation"], one["object"], one["oldObject"]["metadata"]["name"]) for one in requests] == [
        ("DELETE", None, "a"),
        ("DELETE", None, "b"),
        ("DELETE", None, "c"),
    ]
    assert requests[0]["options"] == {
        "kind": "DeleteOptions",
        "apiVersion": "meta.k8s.io/v1",
        "propagationPolicy": "Background",
    }
    served.called.webhooks["ok"] = says(False, status={"message": "it is needed"})
    served.create("d")
    code, answer = served.ask("DELETE", f"{NS}/configmaps/d")
    assert (code, answer["message"]) == (
        400,
        'admission webhook "ok.hooks.example.com" denied the request: it is needed',
    )
    assert served.ask("GET", f"{NS}/configmaps/d")[0] == 200


@pytest.mark.scenario("AW-05")
def test_a_review_tells_of_the_user_the_options_and_a_dry_run(served: Served) -> None:
    served.configure("Validating", hook("ok"))
    user = {"impersonate-user": "joe", "impersonate-group": "system:masters", "impersonate-extra-a": "b"}
    query = {"dryRun": "All", "fieldManager": "m", "fieldValidation": "Strict"}
    code, _ = served.ask("POST", f"{NS}/configmaps", {"metadata": {"name": "a"}}, headers=user, **query)
    assert code == 201
    request = served.called.reviews[0]["request"]
    assert request["userInfo"] == {
        "username": "joe",
        "groups": ["system:masters", "system:authenticated"],
        "extra": {"a": ["b"]},
    }
    assert (request["dryRun"], request["name"], request["namespace"]) == (True, "a", "default")
    assert request["options"] == {
        "kind": "CreateOptions",
        "apiVersion": "meta.k8s.io/v1",
        "dryRun": ["All"],
        "fieldManager": "m",
        "fieldValidation": "Strict",
    }
    assert dict(served.called.requests[0].query) == {"timeout": "10s"}


def test_subresources_are_shown_as_what_is_sent_there(served: Served) -> None:
    deployments = "/apis/apps/v1/namespaces/default/deployments"
    template = {"metadata": {"labels": {"a": "b"}}, "spec": pod("x")["spec"]}
    served.ask(
        "POST",
        deployments,
        {"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}},
    )
    served.ask("POST", f"{NS}/pods", pod("p"))
    served.called.webhooks["more"] = patches({"op": "replace", "path": "/spec/replicas", "value": 5})
    served.configure("Mutating", hook("more", rules=[{**ANY_RULE, "resources": ["*/scale"]}]))
    served.configure("Validating", hook("ok", rules=[ANY_RULE]))
    merge = {"content-type": MERGE}
    assert served.ask("PATCH", f"{deployments}/d/scale", {"spec": {"replicas": 3}}, headers=merge)[1]["spec"] == {
        "replicas": 5
    }
    served.ask("PATCH", f"{deployments}/d/status", {"status": {"replicas": 3}}, headers=merge)
    served.ask("POST", f"{NS}/pods/p/binding", {"metadata": {"name": "p"}, "target": {"name": "n"}})
    served.ask("POST", f"{NS}/pods/p/eviction", {"metadata": {"name": "p"}})
    served.ask("POST", f"{NS}/serviceaccounts", {"metadata": {"name": "s"}})
    served.ask("POST", f"{NS}/serviceaccounts/s/token", {"spec": {}})
    seen = [review["request"] for review in served.called.reviews]
    assert [(one["kind"]["kind"], one["resource"]["resource"], one.get("subResource", "")) for one in seen] == [
        ("Scale", "deployments", "scale"),
        ("Scale", "deployments", "scale"),
        ("Deployment", "deployments", "status"),
        ("Binding", "pods", "binding"),
        ("Eviction", "pods", "eviction"),
        ("Pod", "pods", ""),
        ("ServiceAccount", "serviceaccounts", ""),
        ("TokenRequest", "serviceaccounts", "token"),
    ]
    assert seen[1]["object"]["spec"] == {"replicas": 5}


def test_the_namespace_of_a_namespace_is_the_one_it_is(served: Served) -> None:
    served.configure("Validating", hook("ok", rules=rule(resources=["namespaces"]), namespaceSelector=SELECTED))
    served.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "n", **LABELLED}})
    request = served.called.reviews[0]["request"]
    assert (request["name"], request["namespace"]) == ("n", "n")


@pytest.mark.scenario("AW-04")
def test_a_custom_object_is_shown_in_the_version_that_a_rule_names_unless_it_must_match_exactly(served: Served) -> None:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [{"name": name, "served": True, "storage": name == "v1", "schema": schema} for name in ("v1", "v2")]
    names = {"plural": "foos", "kind": "Foo"}
    served.ask(
        "POST",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        {
            "metadata": {"name": "foos.x.io"},
            "spec": {"group": "x.io", "scope": "Namespaced", "names": names, "versions": versions},
        },
    )
    of_v1 = rule(apiGroups=["x.io"], resources=["foos"])
    served.called.webhooks["exact"] = says()
    served.called.webhooks["mark"] = patches({"op": "add", "path": "/spec", "value": 1})
    served.configure("Mutating", hook("mark", rules=of_v1))
    served.configure("Validating", hook("ok", rules=of_v1), hook("exact", rules=of_v1, matchPolicy="Exact"))
    foo = {"apiVersion": "x.io/v2", "kind": "Foo", "metadata": {"name": "f"}}
    code, made = served.ask("POST", "/apis/x.io/v2/namespaces/default/foos", foo)
    assert (code, made["spec"], made["apiVersion"]) == (201, 1, "x.io/v2")
    assert served.called.names == ["mark", "ok"]
    request = served.called.reviews[1]["request"]
    assert (request["kind"]["version"], request["requestKind"]["version"]) == ("v1", "v2")
    assert request["object"]["apiVersion"] == "x.io/v1"


def test_configurations_are_not_shown_to_webhooks(served: Served) -> None:
    served.configure("Validating", hook("nowhere", rules=[ANY_RULE]))
    served.configure("Mutating", hook("nowhere", rules=[ANY_RULE]))
    assert not served.called.reviews
    assert served.ask("DELETE", f"{ROOT}/mutatingwebhookconfigurations/c")[0] == 200
    assert served.create()[0] == 500


def test_steps_that_are_switched_off_call_nothing() -> None:
    served = Served(disable_admission_plugins=("MutatingAdmissionWebhook",))
    served.configure("Mutating", hook("add"))
    served.configure("Validating", hook("ok"))
    assert "data" not in served.create()[1]
    assert served.called.names == ["ok"]


def test_all_validating_webhooks_are_called_and_the_first_refusal_counts(served: Served) -> None:
    served.called.webhooks |= {"no": says(False, warnings=["w1"]), "warns": says(warnings=["w2"])}
    served.configure("Validating", hook("no"), hook("nowhere"), hook("warns"))
    obj = {"metadata": {"name": "a"}}
    response = served.ask.response("POST", f"{NS}/configmaps", obj)
    assert response.status == 400
    assert response.headers["warning"] == '299 - "w1", 299 - "w2"'


def test_quotas_count_what_webhooks_have_let_through(served: Served) -> None:
    served.ask("POST", f"{NS}/resourcequotas", {"metadata": {"name": "q"}, "spec": {"hard": {"configmaps": "1"}}})
    served.called.webhooks["no"] = says(False)
    served.configure("Validating", hook("no", objectSelector=SELECTED), hook("ok"))
    assert served.create("a", metadata=LABELLED)[0] == 400
    assert served.create("b")[0] == 201
    assert served.create("c")[0] == 403
    assert served.called.names == ["no", "ok", "ok", "ok"]
    assert served.ask("GET", f"{NS}/resourcequotas/q")[1]["status"]["used"] == {"configmaps": "1"}
