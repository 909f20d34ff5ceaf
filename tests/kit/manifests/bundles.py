# SPDX-License-Identifier: Apache-2.0
"""Manifests for tests: of the example, and of a program whose texts are difficult to write as YAML or as a template."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import yaml
from cabins import Cabin, setup

from apimachinery.system import SystemHost
from controller_runtime.crd import definition
from controller_runtime.manifests.bundles import Bundle
from controller_runtime.manifests.facts import Facts, facts_of, unconnected_manager
from controller_runtime.manifests.rights import Rights
from controller_runtime.manifests.settings import plain_settings

DATA = Path(__file__).parents[2] / "data" / "manifests"
RIGHTS = DATA / "rights.yaml"
IMAGE = "registry.example.com/cabins:1.0"

CHART_VALUES: dict[str, dict[str, Any]] = {
    "usual": {},
    "bare": {
        "leaderElection": {"enabled": False},
        "installCRDs": False,
        "metrics": {"enabled": False},
        "serviceMonitor": {"enabled": True},
        "podDisruptionBudget": {"enabled": False},
        "networkPolicy": {"enabled": False},
        "serviceAccount": {"create": False, "name": "other"},
        "resources": {},
    },
    "full": {
        "image": {"repository": "localhost:5000/huts", "tag": "2.0", "pullPolicy": "Always"},
        "replicas": 3,
        "serviceMonitor": {"enabled": True},
        "serviceAccount": {"annotations": {"example.com/role": "yes"}},
        "resources": {"requests": {"cpu": "1"}, "limits": {"memory": "1Gi"}},
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"key": "dedicated", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}],
        "imagePullSecrets": [{"name": "registry"}],
    },
}
"""Values beside those of a chart, by the name of the test data that Go's templates made with them."""


def cabins_bundle(rights: Rights | None = None, *, replicas: int = 2) -> Bundle:
    """Returns the manifests of `examples/cabins.py`."""
    manager = unconnected_manager(SystemHost())
    setup(manager)
    settings = plain_settings("cabins", namespace="cabins-system", image=IMAGE, replicas=replicas)
    return Bundle(facts_of(manager), settings, rights)


def difficult_bundle() -> Bundle:
    """Returns manifests with a definition and rights whose texts need care."""
    body = copy.deepcopy(definition(Cabin))
    spec = body["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["description"] = (
        "A template, such as {{ .Values.x }}:\n\n  indented, with 'quotes', \"quotes\" and # no comment"
    )
    spec["properties"]["heating"]["enum"] = [
        "wood",
        "yes",
        "no",
        "0o7",
        "1e3",
        "{{",
        "}}",
        "",
        "null",
        "~",
        "- a",
        "a: b",
        "ü",
    ]
    spec["properties"]["beds"]["description"] = "trailing space \nand a second line"
    rules = [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]},
        {"nonResourceURLs": ["/healthz/*"], "verbs": ["get"]},
    ]
    here = [{"apiGroups": [""], "resources": ["secrets"], "resourceNames": ["123", "y"], "verbs": ["get"]}]
    elsewhere = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]}]
    rights = Rights(rules, {"": here, "kube-system": elsewhere})
    settings = plain_settings("cabins", namespace="huts", image=IMAGE, replicas=2)
    return Bundle(Facts([body], ()), settings, rights, has_monitor=True)


def chart_data(files: dict[str, str], release: str, namespace: str, values: dict[str, Any]) -> dict[str, Any]:
    """Returns what a chart's templates are rendered with."""
    about, own = yaml.safe_load(files["Chart.yaml"]), yaml.safe_load(files["values.yaml"])
    return {
        "Values": _merged(own, values),
        "Release": {"Name": release, "Namespace": namespace, "Service": "Helm"},
        "Chart": {"Name": about["name"], "Version": about["version"], "AppVersion": about["appVersion"]},
    }


def _merged(own: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    merged = dict(own)
    for name, value in more.items():
        both = isinstance(value, dict) and isinstance(own.get(name), dict)
        merged[name] = _merged(own[name], value) if both else value
    return merged
