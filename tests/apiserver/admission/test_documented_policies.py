# SPDX-License-Identifier: Apache-2.0
"""The examples of the Kubernetes documentation behave as on a real server (1.36.2), which was asked the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from kit.apiserver.asking import Asking

from embedded_apiserver.objects import Object

Send = Callable[[str, Object], tuple[int, Object, list[str]]]
"""Creates an object at a path; returns the status, the body, and the texts of the warnings."""

ROOT = "/apis/admissionregistration.k8s.io/v1"
FILE = Path(__file__).resolve().parents[2] / "data" / "policies" / "documented.yaml"
EXAMPLES: dict[str, Object] = {each["name"]: each for each in yaml.safe_load_all(FILE.read_text(encoding="utf-8"))}
TEST, PROD = "replicalimit-binding-test.example.com", "replicalimit-binding-prod.example.com"
DEMO = "demo-binding-test.example.com"
TOO_MANY = "failed expression: object.spec.replicas <= params.maxReplicas"
NO_DEMO = "failed expression: !object.metadata.name.contains('demo') || object.metadata.namespace == 'demo'"
MESH = "mesh-proxy/v1.0.0"
ATOMIC = (
    "policy 'sidecar-policy.example.com' with binding 'sidecar-binding-test.example.com' denied request: "
    "error applying patch: invalid ApplyConfiguration: "
    "may not mutate atomic arrays, maps or structs: .spec.initContainers[0].args"
)


def deployment(name: str, replicas: int, image: str = "nginx", **labels: str) -> Object:
    pod = {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": image}]}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": pod}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec}


def answer(send: Send, path: str, obj: Object) -> Any:
    """Return the warnings of a write, or how it was refused, without the beginning of the text."""
    status, body, warnings = send(path, obj)
    return warnings if status < 400 else (status, re.sub(r'^.*? "[^"]*" is (forbidden|invalid): ', "", body["message"]))


def deployed(send: Send, namespace: str, *wanted: Object) -> Any:
    return [answer(send, f"/apis/apps/v1/namespaces/{namespace}/deployments", each) for each in wanted]


def meshed(send: Send) -> Any:
    pod = {"metadata": {"name": "p", "labels": {"app": "p"}}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}}
    status, body, _ = send("/api/v1/namespaces/test/pods", pod)
    if status >= 400:
        return status, body["message"]
    made = [(each["image"], each.get("args"), each["restartPolicy"]) for each in body["spec"]["initContainers"]]
    return made, body["metadata"]["labels"]


def named_demo(send: Send) -> Any:
    demo, maps = {"metadata": {"name": "a-demo"}}, "/api/v1/namespaces/{}/configmaps"
    lease = "/apis/coordination.k8s.io/v1/namespaces/test/leases"
    return [answer(send, path, demo) for path in (maps.format("test"), maps.format("demo"), lease)]


def denied(binding: str, text: str) -> tuple[int, str]:
    return 422, f"ValidatingAdmissionPolicy 'demo-policy.example.com' with binding '{binding}' denied request: {text}"


A, B, IMAGE = "a", "b", "example.com/nginx"
SHOWN: dict[str, tuple[Callable[[Send], Any], Any]] = {
    "at most five replicas where the namespace is for tests": (
        lambda send: (
            deployed(send, "test", deployment(A, 6), deployment(A, 5)) + deployed(send, "prod", deployment(A, 6))
        ),
        [denied(DEMO, "failed expression: object.spec.replicas <= 5"), [], []],
    ),
    "a limit that each environment has as a parameter": (
        lambda send: (
            deployed(send, "test", deployment(A, 4), deployment(A, 3))
            + deployed(send, "prod", deployment(A, 4), deployment(B, 101))
        ),
        [denied(TEST, TOO_MANY), [], [], denied(PROD, TOO_MANY)],
    ),
    "a message that is an expression": (
        lambda send: deployed(send, "test", deployment(A, 4)),
        [denied(DEMO, "object.spec.replicas must be no greater than 3")],
    ),
    "conditions that leave requests out": (named_demo, [denied(DEMO, NO_DEMO), [], []]),
    "a warning, and a line of the audit log": (
        lambda send: deployed(send, "test", deployment(A, 51), deployment(B, 50)),
        [
            [
                "Validation failed for ValidatingAdmissionPolicy 'demo-policy.example.com' with binding "
                f"'{DEMO}': Deployment spec.replicas set to 51"
            ],
            [],
        ],
    ),
    "variables that name parts of the object": (
        lambda send: deployed(
            send,
            "default",
            deployment(A, 1, IMAGE),
            deployment(B, 1, f"prod.{IMAGE}"),
            deployment("c", 1, IMAGE, exempt="true"),
        ),
        [denied(DEMO, "only prod images are allowed in namespace default"), [], []],
    ),
    # As the documentation has it, with arguments, which are a list that no configuration may change in part.
    "a container beside those of a pod": (meshed, (403, ATOMIC)),
    "a container without arguments beside those of a pod": (meshed, ([(MESH, None, "Always")], {"app": "p"})),
    "the same as a patch": (
        meshed,
        ([(MESH, ["proxy", "sidecar"], "Always")], {"app": "p", "example.com/mesh": "on"}),
    ),
}


def prepare(send: Send, example: Object) -> None:
    """Make namespaces and parameters, and then the policy."""
    for name in ("default", "test", "prod", "demo"):
        labels = {} if name == "default" else {"environment": name}
        send("/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
    names = {"kind": "ReplicaLimit", "plural": "replicalimits"}
    schema = {"type": "object", "properties": {"maxReplicas": {"type": "integer"}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    spec = {"group": "rules.example.com", "names": names, "scope": "Namespaced", "versions": [version]}
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    send(definitions, {"metadata": {"name": "replicalimits.rules.example.com"}, "spec": spec})
    for name, most in (("test", 3), ("prod", 100)):
        limit = {"apiVersion": "rules.example.com/v1", "kind": "ReplicaLimit", "metadata": {"name": name}}
        send("/apis/rules.example.com/v1/namespaces/default/replicalimits", {**limit, "maxReplicas": most})
    policies, policy = f"{ROOT}/{example['kind'].lower()}admissionpolic", example["policy"]
    bound = {"policyName": policy["metadata"]["name"]}
    bindings = [{**each, "spec": {**each["spec"], **bound}} for each in example["bindings"]]
    for path, obj in [("ies", policy), *(("ybindings", each) for each in bindings)]:
        status, body, _ = send(policies + path, obj)
        assert status == 201, body["message"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_of_the_documentation_behaves_as_on_a_real_server(ask: Asking, name: str) -> None:
    def send(path: str, obj: Object) -> tuple[int, Object, list[str]]:
        response = ask.response("POST", path, obj)
        warnings = re.findall(r'299 - "(.*?)"(?:, |$)', response.headers.get("warning", ""))
        return response.status, json.loads(response.body), warnings

    prepare(send, EXAMPLES[name])
    act, wanted = SHOWN[name]

    assert act(send) == wanted
