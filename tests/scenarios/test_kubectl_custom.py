# SPDX-License-Identifier: Apache-2.0
"""A real kubectl runs its everyday commands on custom kinds, with a definition and its objects."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest
from kit.contract.real_server import wait_until
from kit.processes.kubectl import Kubectl, rows

pytestmark = [pytest.mark.ends, pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")]

GROUP = "demo.example.com"
SPEC = {
    "type": "object",
    "required": ["source"],
    "properties": {
        "source": {"type": "string", "description": "What is saved."},
        "copies": {"type": "integer", "default": 1, "minimum": 0},
    },
    "x-kubernetes-validations": [{"rule": "self.copies < 9"}],
}
COLUMNS = [
    {"name": "Source", "type": "string", "jsonPath": ".spec.source"},
    {"name": "Copies", "type": "integer", "jsonPath": ".spec.copies"},
    {"name": "From", "type": "string", "jsonPath": ".metadata.namespace", "priority": 1},
]
SCALE = {"specReplicasPath": ".spec.copies", "statusReplicasPath": ".status.copies"}


def definition(kind: str) -> dict[str, Any]:
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "description": f"A {kind}.", "properties": {"spec": SPEC, "status": {"type": "object"}}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "subresources": {"status": {}, "scale": SCALE},
        "additionalPrinterColumns": COLUMNS,
        "schema": {"openAPIV3Schema": schema},
    }
    names = {"plural": plural, "kind": kind, "shortNames": [kind.lower()[:2]], "categories": ["all"]}
    spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]}
    about = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    return {**about, "metadata": {"name": f"{plural}.{GROUP}"}, "spec": spec}


def thing(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}, "spec": spec}


def define(kubectl: Kubectl, kind: str) -> str:
    """Apply a definition and wait for it as people do; its full name."""
    kubectl.apply(definition(kind))
    name = f"{kind.lower()}s.{GROUP}"
    assert "condition met" in kubectl("wait", "--for=condition=Established", f"crd/{name}", "--timeout=30s")
    return name


def test_a_definition_is_applied_waited_for_and_described(kubectl: Kubectl) -> None:
    name = define(kubectl, "Backup")
    resources = rows(kubectl("api-resources", f"--api-group={GROUP}", "--no-headers"))
    # A real server publishes the schema a while after the kind.
    wait_until(lambda: kubectl.run("explain", "backup").returncode == 0, "the kind is explained")
    explained = kubectl("explain", "backup.spec.source")

    assert ["backups", "ba", f"{GROUP}/v1", "true", "Backup"] in resources
    assert "What is saved." in explained
    assert rows(kubectl("get", "crd", name))[0] == ["NAME", "CREATED", "AT"]


def test_objects_are_applied_shown_changed_and_scaled(kubectl: Kubectl) -> None:
    define(kubectl, "Copy")
    kubectl.apply(thing("Copy", "a", source="db"))

    kubectl.apply(thing("Copy", "a", source="disk"))
    kubectl("patch", "co", "a", "--type=merge", "-p", '{"metadata":{"labels":{"x":"y"}}}')
    kubectl("scale", "copys/a", "--replicas=3")
    kubectl("patch", "co", "a", "--subresource=status", "--type=merge", "-p", '{"status":{}}')

    assert rows(kubectl("get", "co")) == [["NAME", "SOURCE", "COPIES"], ["a", "disk", "3"]]
    assert rows(kubectl("get", "co", "-o", "wide", "-l", "x=y"))[1] == ["a", "disk", "3", "default"]
    assert "copy.demo.example.com/a" in kubectl("get", "all")


def test_what_the_schema_refuses_kubectl_tells(kubectl: Kubectl) -> None:
    define(kubectl, "Refusal")

    assert 'unknown field "spec.nope"' in kubectl.fails(
        "create", "-f", "-", sent=json.dumps(thing("Refusal", "a", source="x", nope=1))
    )
    assert "spec.copies in body should be greater than or equal to 0" in kubectl.fails(
        "create", "-f", "-", sent=json.dumps(thing("Refusal", "a", source="x", copies=-1))
    )
    assert "spec.source: Required value" in kubectl.fails("create", "-f", "-", sent=json.dumps(thing("Refusal", "a")))


def test_a_definition_is_deleted_with_its_objects(kubectl: Kubectl) -> None:
    name = define(kubectl, "Goner")
    kubectl.apply(thing("Goner", "a", source="db"))

    deleted = kubectl("delete", "crd", name, "--timeout=60s")

    assert "deleted" in deleted
    assert "the server doesn't have a resource type" in kubectl.fails("get", "goners.demo.example.com")
