# SPDX-License-Identifier: Apache-2.0
"""The manifests of a program with webhooks: what registers them, leads to them, and lets their certificates be kept."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
import yaml
from kit.crd.cabins import Cabin, CabinV1Alpha1
from kit.crd.conversions import cabins
from kit.manifests.bundles import IMAGE
from kit.webhooks.certifying import certified

from controller_runtime import Manager, ObjectKey, SystemHost
from controller_runtime.manifests.bundles import Bundle
from controller_runtime.manifests.chart import chart
from controller_runtime.manifests.facts import facts_of, unconnected_manager
from controller_runtime.manifests.settings import plain_settings
from controller_runtime.resources import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, NAMESPACES, PODS, ROLE_BINDINGS, ROLES
from controller_runtime.webhooks import Checks, Converts, Defaults


def setup(manager: Manager) -> None:
    manager.install(Cabin, CabinV1Alpha1)
    manager.webhooks.add(
        Defaults(Cabin, lambda cabin, _: cabin, match_conditions={"small": "object.spec.beds < 3"}),
        Checks(Cabin, lambda *_: None, operations=["DELETE"], failure_policy="Ignore", has_effects=True, timeout=3),
        Checks(PODS, lambda *_: None, object_selector={"matchLabels": {"a": "b"}}),
        Converts(cabins),
    )


def bundle(**options: Any) -> Bundle:
    manager = unconnected_manager(SystemHost())
    setup(manager)
    settings = plain_settings("cabins", namespace="cabins-system", image=IMAGE, replicas=2)
    return Bundle(facts_of(manager), attrs.evolve(settings, has_webhooks=True, **options), None)


def the(kind: str, name: str = "") -> dict[str, Any]:
    [found] = [one for one in bundle().objects() if one["kind"] == kind and name in ("", one["metadata"]["name"])]
    return found


@pytest.mark.scenario("WH-12")
def test_a_webhook_that_must_be_reached_leaves_its_own_namespace_and_that_of_the_system_out() -> None:
    [defaults] = the("MutatingWebhookConfiguration")["webhooks"]
    deleting, pods = the("ValidatingWebhookConfiguration")["webhooks"]

    assert defaults == {
        "name": "defaults.cabins.v1.example.com",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {
            "service": {
                "name": "cabins-webhooks",
                "namespace": "cabins-system",
                "path": "/defaults.cabins.v1.example.com",
                "port": 443,
            }
        },
        "rules": [
            {
                "apiGroups": ["example.com"],
                "apiVersions": ["v1"],
                "resources": ["cabins"],
                "operations": ["CREATE", "UPDATE"],
                "scope": "Namespaced",
            }
        ],
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "timeoutSeconds": 10,
        "namespaceSelector": {
            "matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["cabins-system", "kube-system"]}
            ]
        },
        "matchConditions": [{"name": "small", "expression": "object.spec.beds < 3"}],
    }
    assert "namespaceSelector" not in deleting
    assert (deleting["sideEffects"], deleting["timeoutSeconds"]) == ("NoneOnDryRun", 3)
    assert pods["objectSelector"] == {"matchLabels": {"a": "b"}}


def test_the_service_leads_to_the_port_that_the_program_serves() -> None:
    service = the("Service", "cabins-webhooks")
    [container] = the("Deployment")["spec"]["template"]["spec"]["containers"]

    assert service["spec"]["ports"] == [{"name": "webhooks", "port": 443, "targetPort": "webhooks"}]
    assert {"name": "webhooks", "containerPort": 9443} in container["ports"]
    assert "--webhook-bind-address=:9443" in container["args"]
    assert "--webhook-service=$(POD_NAMESPACE)/cabins-webhooks" in container["args"]


def test_a_definition_that_is_converted_says_where() -> None:
    conversion = the("CustomResourceDefinition")["spec"]["conversion"]

    assert conversion["strategy"] == "Webhook"
    assert conversion["webhook"]["clientConfig"]["service"]["path"] == "/convert"


def test_a_program_without_webhooks_has_none_of_this() -> None:
    manager = unconnected_manager(SystemHost())
    manager.install(Cabin)  # its rule in CEL is in the definition
    settings = plain_settings("cabins", namespace="cabins-system", image=IMAGE, replicas=2)
    text = str(Bundle(facts_of(manager), settings, None).objects())

    assert "webhook" not in text.lower()
    assert "x-kubernetes-validations" in text


def test_a_chart_names_its_release() -> None:
    files = chart(bundle())
    text = files["templates/webhooks.yaml"]

    assert "{{ .Release.Name }}-webhooks" in text
    assert "{{ .Release.Namespace }}" in text
    assert "{{ .Release.Name }}-webhooks" in files["templates/definitions.yaml"]
    assert yaml.safe_load(files["values.yaml"])


def test_the_roles_are_what_the_certificates_need() -> None:
    """A replica that has these rights and no others makes its certificates, and is trusted."""
    import controller_runtime.webhooks.injecting as injecting

    kinds = {"ClusterRole": CLUSTER_ROLES, "ClusterRoleBinding": CLUSTER_ROLE_BINDINGS, "Role": ROLES}
    kinds["RoleBinding"] = ROLE_BINDINGS
    with certified() as run:
        run.user.create(NAMESPACES, {"metadata": {"name": "cabins-system"}})
        for obj in bundle().objects():
            if obj["kind"] in kinds and "webhooks" in obj["metadata"]["name"]:
                run.user.create(kinds[obj["kind"]], obj)
        run.place = attrs.evolve(run.place, name="cabins-webhooks", namespace="cabins-system")
        run.install()
        replica = run.start(
            "a",
            user="system:serviceaccount:cabins-system:cabins",
            targets=(*run.targets, injecting.Target(injecting.MUTATING, "cabins-webhooks")),
        )
        run.settle(5)

        assert replica.keeper.problem == ""
        assert len(run.bundle()) == 1
        secret = ObjectKey("cabins-webhooks-certificates", "cabins-system")
        assert run.data(secret)


@pytest.mark.parametrize("replicas", [1, 2])
def test_every_replica_serves(replicas: int) -> None:
    assert "--webhook-bind-address=:9443" in str(bundle(elects=replicas > 1).objects())
