# SPDX-License-Identifier: Apache-2.0
"""A real kubectl that asks for the schemas: lists that are applied, fields that are explained and checked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from kit.contract.real_server import wait_until
from kit.processes.kubectl import Kubectl

pytestmark = [pytest.mark.ends, pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")]

RECORDING = Path(__file__).parents[1] / "data" / "recordings" / "openapi-1.36.2.json"
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
ONCE = {"spec": {**TEMPLATE["spec"], "restartPolicy": "Never"}}
SELECTOR = {"matchLabels": {"a": "b"}}
BACKEND = {"service": {"name": "many", "port": {"number": 80}}}
RULE = {"http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": BACKEND}]}}


def thing(api_version: str, kind: str, **parts: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "many"}, **parts}


def listed(*items: dict[str, Any]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


TEN = (
    thing("v1", "ConfigMap", data={"k": "v"}),
    thing("v1", "Secret", data={"k": "dg=="}),
    thing("v1", "ServiceAccount"),
    thing("v1", "Service", spec={"selector": {"a": "b"}, "ports": [{"port": 80}]}),
    thing("apps/v1", "Deployment", spec={"replicas": 0, "selector": SELECTOR, "template": TEMPLATE}),
    thing("batch/v1", "Job", spec={"template": ONCE}),
    thing("rbac.authorization.k8s.io/v1", "Role", rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]),
    thing("v1", "ResourceQuota", spec={"hard": {"pods": "2"}}),
    thing("coordination.k8s.io/v1", "Lease", spec={"holderIdentity": "x"}),
    thing("networking.k8s.io/v1", "Ingress", spec={"rules": [RULE]}),
)


@pytest.mark.parametrize("how", [(), ("--server-side", "--force-conflicts")], ids=["client", "server"])
def test_a_list_of_ten_kinds_is_applied(how: tuple[str, ...], kubectl: Kubectl) -> None:
    told = kubectl("apply", *how, "-f", "-", sent=listed(*TEN)).splitlines()
    again = kubectl("apply", *how, "-f", "-", sent=listed(*TEN)).splitlines()

    assert len(told) == len(again) == len(TEN)
    assert {line.rpartition(" ")[2] for line in again} == {"serverside-applied" if how else "unchanged"}
    assert kubectl("diff", "-f", "-", sent=listed(*TEN)) == ""


def test_unknown_fields_in_a_list_are_refused_unless_told_otherwise(kubectl: Kubectl) -> None:
    wrong = listed(thing("v1", "ConfigMap", dato={}), thing("v1", "Secret"))

    told = kubectl.fails("create", "--validate=strict", "-f", "-", sent=wrong)
    made = kubectl("create", "--validate=ignore", "--dry-run=server", "-n", "kube-public", "-f", "-", sent=wrong)

    assert 'unknown field "dato"' in told
    assert made.splitlines() == [
        "configmap/many created (server dry run)",
        "secret/many created (server dry run)",
    ]


def test_a_definition_and_its_object_in_one_list_say_what_is_missing_yet(kubectl: Kubectl) -> None:
    names = {"plural": "fresh", "kind": "Fresh"}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
    spec = {"group": "new.example.com", "scope": "Cluster", "names": names, "versions": [version]}
    made = thing("apiextensions.k8s.io/v1", "CustomResourceDefinition", spec=spec)
    made["metadata"] = {"name": "fresh.new.example.com"}
    both = listed(made, thing("new.example.com/v1", "Fresh"))

    first = kubectl.run("apply", "-f", "-", sent=both)
    second = kubectl.run("apply", "-f", "-", sent=both)

    assert 'no matches for kind "Fresh" in version "new.example.com/v1"' in first.stderr
    assert "fresh.new.example.com/many created" in second.stdout


def test_an_object_is_edited(tmp_path: Path, kubectl: Kubectl) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i s/before/after/ $1\n", encoding="utf-8")
    editor.chmod(0o755)
    kubectl("create", "configmap", "edited", "--from-literal=k=before")

    told = kubectl.run("edit", "configmap", "edited", environment={"KUBE_EDITOR": str(editor)})

    assert told.stdout == "configmap/edited edited\n"
    assert kubectl("get", "configmap", "edited", "-o", "jsonpath={.data.k}") == "after"


@pytest.mark.parametrize("how", [(), ("--output=plaintext-openapiv2",)], ids=["v3", "v2"])
def test_fields_are_explained_with_what_they_mean(how: tuple[str, ...], kubectl: Kubectl) -> None:
    replicas = " ".join(kubectl("explain", *how, "deployment.spec.replicas").split())
    other = " ".join(kubectl("explain", *how, "event", "--api-version=events.k8s.io/v1").split())

    assert "Number of desired pods. This is a pointer to distinguish between explicit" in replicas
    assert "Event is a report of an event somewhere in the cluster." in other


def test_fields_of_custom_kinds_are_explained_in_each_version(kubectl: Kubectl) -> None:
    definition = json.loads(RECORDING.read_text(encoding="utf-8"))["definition"]
    kubectl("apply", "-f", "-", sent=json.dumps(definition))

    for version in ("v1", "v2"):  # a real server publishes the schemas a while after the kind
        asked = ("explain", "gadget", f"--api-version=demo.example.com/{version}")
        wait_until(lambda asked=asked: kubectl.run(*asked).returncode == 0, "the kind is explained")
    described = kubectl("explain", "gadget.spec.a", "--api-version=demo.example.com/v1")
    whole = kubectl("explain", "gadget", "--api-version=demo.example.com/v2")
    old = kubectl("explain", "gadget", "--api-version=demo.example.com/v1", "--output=plaintext-openapiv2")

    assert "The a." in described
    assert "ENUM:\n    x\n    w" in described
    assert "Whatever." in whole
    assert "A gadget." in old
