# SPDX-License-Identifier: Apache-2.0
"""The chain of admission: what each step does, and that it does nothing once it is switched off by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from kit.apiserver.asking import NODES, PODS, Asking, node, pod
from kit.apiserver.signing_requests import signing_request
from kit.apiserver.webhooks import ROOT, configuration, hook

from apimachinery.errors import UsageError
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.admission.chain import STEPS
from embedded_apiserver.admission.names import NAMES, OFF_BY_DEFAULT
from embedded_apiserver.server import APIServer

CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
LIMITS = "/api/v1/namespaces/default/limitranges"
QUOTAS = "/api/v1/namespaces/default/resourcequotas"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
INGRESSES = "/apis/networking.k8s.io/v1"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
CLAIM = {
    "metadata": {"name": "c"},
    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
}


def _limited(ask: Asking) -> Any:
    ask.ok("POST", LIMITS, {"metadata": {"name": "l"}, "spec": {"limits": [{"type": "Pod", "max": {"cpu": "1"}}]}})
    return ask("POST", PODS, pod("p"))[0]


def _counted(ask: Asking) -> Any:
    ask.ok("POST", QUOTAS, {"metadata": {"name": "q"}, "spec": {"hard": {"pods": "0"}}})
    return ask("POST", PODS, pod("p"))[0]


def _accounted(ask: Asking) -> Any:
    ask.ok("POST", ACCOUNTS, {"metadata": {"name": "default"}})
    return "volumeMounts" in ask.ok("POST", PODS, pod("p"))["spec"]["containers"][0]


def _called(ask: Asking, kind: str) -> Any:
    ask.ok("POST", f"{ROOT}/{kind.lower()}webhookconfigurations", configuration(kind, hook("nowhere")))
    return ask("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "c"}})[0]


def _judged(ask: Asking) -> Any:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    constraints = {"resourceRules": [rule]}
    spec = {"matchConstraints": constraints, "validations": [{"expression": "false"}]}
    ask.ok("POST", f"{ROOT}/validatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": spec})
    binding = {"policyName": "p", "validationActions": ["Deny"]}
    ask.ok("POST", f"{ROOT}/validatingadmissionpolicybindings", {"metadata": {"name": "b"}, "spec": binding})
    return ask("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "c"}})[0]


def _mutated(ask: Asking) -> Any:
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{data: {'a': 'b'}}"}}
    spec = {"matchConstraints": {"resourceRules": [rule]}, "reinvocationPolicy": "Never", "mutations": [mutation]}
    ask.ok("POST", f"{ROOT}/mutatingadmissionpolicies", {"metadata": {"name": "p"}, "spec": spec})
    ask.ok("POST", f"{ROOT}/mutatingadmissionpolicybindings", {"metadata": {"name": "b"}, "spec": {"policyName": "p"}})
    return ask("POST", "/api/v1/namespaces/default/configmaps", {"metadata": {"name": "c"}})[1].get("data")


def _secured(ask: Asking) -> Any:
    ask.patch(
        "/api/v1/namespaces/default", {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "baseline"}}}
    )
    return ask("POST", PODS, pod("p", hostNetwork=True))[0]


def _stored_in(ask: Asking) -> Any:
    for name, is_default in (("a", "true"), ("b", "false"), ("c", "true")):
        annotations = {"storageclass.kubernetes.io/is-default-class": is_default}
        ask.ok("POST", CLASSES, {"metadata": {"name": name, "annotations": annotations}, "provisioner": "p"})
    return ask.ok("POST", CLAIMS, CLAIM)["spec"].get("storageClassName")


def _reached_by(ask: Asking) -> Any:
    annotations = {"ingressclass.kubernetes.io/is-default-class": "true"}
    body = {"metadata": {"name": "a", "annotations": annotations}, "spec": {"controller": "example.com/c"}}
    ask.ok("POST", f"{INGRESSES}/ingressclasses", body)
    backend = {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}
    path = f"{INGRESSES}/namespaces/default/ingresses"
    return ask.ok("POST", path, {"metadata": {"name": "i"}, "spec": backend})["spec"].get("ingressClassName")


def _grown(ask: Asking) -> Any:
    ask.ok("POST", CLASSES, {"metadata": {"name": "a"}, "provisioner": "p", "allowVolumeExpansion": False})
    path = f"{CLAIMS}/c"
    ask.ok("POST", CLAIMS, {**CLAIM, "spec": {**CLAIM["spec"], "storageClassName": "a", "volumeName": "v"}})
    ask.patch(f"{path}/status", {"status": {"phase": "Bound"}})
    return ask.patch(path, {"spec": {"resources": {"requests": {"storage": "2Gi"}}}})[0]


def _requested(ask: Asking, organization: str = "dev") -> tuple[int, Any]:
    spec = {"request": signing_request(organization), "usages": ["client auth"]}
    body = {"metadata": {"name": "r"}, "spec": {**spec, "signerName": "kubernetes.io/kube-apiserver-client"}}
    return ask("POST", REQUESTS, body)


def _decided(ask: Asking, part: str, condition: str) -> Any:
    """Return how the decision of a user ends whose role allows the write, and names no signer."""
    roles = "/apis/rbac.authorization.k8s.io/v1"
    rule = {"apiGroups": ["certificates.k8s.io"], "resources": [f"certificatesigningrequests/{part}"], "verbs": ["*"]}
    ask.ok("POST", f"{roles}/clusterroles", {"metadata": {"name": "r"}, "rules": [rule]})
    subjects = [{"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}]
    named = {"kind": "ClusterRole", "name": "r", "apiGroup": "rbac.authorization.k8s.io"}
    bound = {"metadata": {"name": "b"}, "roleRef": named, "subjects": subjects}
    ask.ok("POST", f"{roles}/clusterrolebindings", bound)
    made = _requested(ask)[1]
    status = {"conditions": [{"type": condition, "status": "True"}]}
    as_jane = {"impersonate-user": "jane"}
    return ask("PUT", f"{REQUESTS}/r/{part}", {**made, "status": status}, headers=as_jane)[0]


# By step: a request, its answer with the step, and the answer without it.
DOES: dict[str, tuple[Callable[[Asking], Any], Any, Any]] = {
    "NamespaceLifecycle": (
        lambda ask: ask("POST", "/api/v1/namespaces/nowhere/configmaps", {"metadata": {"name": "c"}})[0],
        404,
        201,
    ),
    "LimitRanger": (_limited, 403, 201),
    "ServiceAccount": (_accounted, True, False),
    "TaintNodesByCondition": (lambda ask: "spec" in ask.ok("POST", NODES, node("n")) and taints(ask), 1, 0),
    "PodSecurity": (_secured, 403, 201),
    "Priority": (lambda ask: ask("POST", PODS, pod("p", priorityClassName="none"))[0], 403, 201),
    "DefaultTolerationSeconds": (lambda ask: len(ask.ok("POST", PODS, pod("p"))["spec"].get("tolerations", ())), 2, 0),
    "DefaultStorageClass": (_stored_in, "a", None),
    "StorageObjectInUseProtection": (
        lambda ask: ask.ok("POST", CLAIMS, CLAIM)["metadata"].get("finalizers"),
        ["kubernetes.io/pvc-protection"],
        None,
    ),
    "PersistentVolumeClaimResize": (_grown, 403, 200),
    "RuntimeClass": (lambda ask: ask("POST", PODS, pod("p", runtimeClassName="none"))[0], 403, 201),
    "CertificateApproval": (lambda ask: _decided(ask, "approval", "Approved"), 403, 200),
    "CertificateSigning": (lambda ask: _decided(ask, "status", "Failed"), 403, 200),
    "CertificateSubjectRestriction": (lambda ask: _requested(ask, "system:masters")[0], 403, 201),
    "DefaultIngressClass": (_reached_by, "a", None),
    "MutatingAdmissionPolicy": (_mutated, {"a": "b"}, None),
    "MutatingAdmissionWebhook": (lambda ask: _called(ask, "Mutating"), 500, 201),
    "ValidatingAdmissionPolicy": (_judged, 422, 201),
    "ValidatingAdmissionWebhook": (lambda ask: _called(ask, "Validating"), 500, 201),
    "ResourceQuota": (_counted, 403, 201),
}


def taints(ask: Asking) -> int:
    return len(ask.ok("GET", f"{NODES}/n")["spec"].get("taints", ()))


def _asking(sim: Simulation, enabled: tuple[str, ...] = (), disabled: tuple[str, ...] = ()) -> Asking:
    server = APIServer(
        sim.host(f"s{enabled}{disabled}"), enable_admission_plugins=enabled, disable_admission_plugins=disabled
    )
    return Asking(server)


def test_each_step_is_tested() -> None:
    assert tuple(DOES) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_step_acts_unless_it_is_switched_off(sim: Simulation, name: str) -> None:
    look, on, off = DOES[name]
    enabled = (name,) if name in OFF_BY_DEFAULT else ()

    assert look(_asking(sim, enabled)) == on
    assert look(_asking(sim, disabled=() if enabled else (name,))) == off


@pytest.mark.parametrize(
    ("enabled", "disabled", "told"),
    [
        pytest.param((), ("Quota",), r"'Quota' is no admission plugin of this server; it has .*ResourceQuota", id="no"),
        pytest.param(("Priority",), ("Priority",), "Priority is switched on and off; give it once", id="both"),
    ],
)
def test_a_wrong_name_is_refused(
    sim: Simulation, enabled: tuple[str, ...], disabled: tuple[str, ...], told: str
) -> None:
    with pytest.raises(UsageError, match=told):
        _asking(sim, enabled, disabled)


def test_what_a_step_adds_belongs_to_no_manager(sim: Simulation) -> None:
    owned = str(_asking(sim).ok("POST", PODS, pod("p"))["metadata"]["managedFields"])

    assert "containers" in owned
    assert "tolerations" not in owned
    assert "f:priority" not in owned


def test_an_account_has_to_exist_and_its_token_is_mounted_once(sim: Simulation) -> None:
    ask = _asking(sim, ("ServiceAccount",))

    missing = ask("POST", PODS, pod("a"))[1]["message"]
    ask.ok("POST", ACCOUNTS, {"metadata": {"name": "robot"}, "imagePullSecrets": [{"name": "s"}]})
    spec = ask.ok("POST", PODS, pod("b", serviceAccountName="robot"))["spec"]
    without = ask.ok("POST", PODS, pod("c", serviceAccountName="robot", automountServiceAccountToken=False))["spec"]

    assert missing.endswith('error looking up service account default/default: serviceaccount "default" not found')
    assert [mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]] == [
        "/var/run/secrets/kubernetes.io/serviceaccount"
    ]
    assert [volume["name"] for volume in spec["volumes"]] == ["kube-api-access"]
    assert spec["imagePullSecrets"] == [{"name": "s"}]
    assert "volumes" not in without


def test_a_class_that_is_stored_decides_the_priority(sim: Simulation) -> None:
    ask = _asking(sim)
    names = {"plural": "priorityclasses", "kind": "PriorityClass", "singular": "priorityclass", "listKind": "Classes"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    spec = {"group": "scheduling.k8s.io", "scope": "Cluster", "names": names}
    served = {"name": "v1", "served": True, "storage": True, "schema": schema}
    metadata = {
        "name": "priorityclasses.scheduling.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
    }
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    ask.ok("POST", path, {"metadata": metadata, "spec": {**spec, "versions": [served]}})
    kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    ask.ok("POST", classes, {**kind, "metadata": {"name": "high"}, "value": 9, "preemptionPolicy": "Never"})
    ask.ok("POST", classes, {**kind, "metadata": {"name": "usual"}, "value": 3, "globalDefault": True})

    high = ask.ok("POST", PODS, pod("a", priorityClassName="high"))["spec"]
    usual = ask.ok("POST", PODS, pod("b"))["spec"]

    assert (high["priority"], high["preemptionPolicy"]) == (9, "Never")
    assert (usual["priority"], usual["priorityClassName"]) == (3, "usual")


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("POST", "", {"metadata": {"name": "b"}, "value": 7, "globalDefault": True}, id="a new one"),
        pytest.param("POST", "", {"metadata": {"name": "a"}, "value": 7, "globalDefault": True}, id="there already"),
        pytest.param("PATCH", "/c", {"globalDefault": True}, id="that becomes one"),
        pytest.param("PATCH", "/a", {"description": "d"}, id="the same stays"),
    ],
)
def test_a_second_default_class_of_priority_is_refused(
    sim: Simulation, method: str, path: str, body: dict[str, Any]
) -> None:
    ask, classes = _asking(sim), "/apis/scheduling.k8s.io/v1/priorityclasses"
    ask.ok("POST", classes, {"metadata": {"name": "a"}, "value": 5, "globalDefault": True})
    ask.ok("POST", classes, {"metadata": {"name": "c"}, "value": 5})

    headers = {"content-type": "application/merge-patch+json" if method == "PATCH" else "application/json"}
    code, answer = ask(method, classes + path, body, headers=headers)

    told = "PriorityClass a is already marked as default. Only one default can exist"
    assert (code, told in answer.get("message", "")) == ((200, False) if path == "/a" else (403, True))


def test_the_names_in_the_command_are_those_of_the_steps() -> None:
    assert tuple(step.name for step in STEPS) == NAMES
    assert set(NAMES) >= set(OFF_BY_DEFAULT)
