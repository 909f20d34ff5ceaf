# SPDX-License-Identifier: Apache-2.0
"""A small valid object of every served kind, made from its schema, and where it is served."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from apimachinery.schema import Schema
from embedded_apiserver.custom.kinds import custom_kinds
from embedded_apiserver.groups.definitions.kinds import DEFINITION
from embedded_apiserver.kinds.kind import Kind

_TIME = "2026-01-01T00:00:00Z"
_LABELS = {"app": "a"}
_CONTAINER = {"name": "a", "image": "a"}
_TEMPLATE = {"metadata": {"labels": _LABELS}, "spec": {"containers": [_CONTAINER]}}
_WORKLOAD = {"selector": {"matchLabels": _LABELS}, "template": _TEMPLATE}
_ONCE = {"spec": {"containers": [_CONTAINER], "restartPolicy": "Never"}}
_ROLE = {"apiGroup": "rbac.authorization.k8s.io", "name": "a"}

_SCHEMA = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "additionalProperties": {"type": "array", "items": {"type": "integer", "default": 1}},
        }
    },
}

# Fields that a kind needs though its schema does not require them.
_RULE = {"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["as"]}
_MATCHED: Mapping[str, Any] = {"matchConstraints": {"resourceRules": [_RULE]}}
_TOLD: Mapping[str, Mapping[str, Any]] = {
    "persistentvolumeclaims": {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    },
    "limitranges": {"spec": {"limits": [{"type": "Container"}]}},
    "persistentvolumes": {
        "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/a"}}
    },
    "podtemplates": {"template": _TEMPLATE},
    "replicationcontrollers": {"spec": {"selector": _LABELS, "template": _TEMPLATE}},
    "controllerrevisions.apps": {"data": {"a": 1}},
    "servicecidrs.networking.k8s.io": {"spec": {"cidrs": ["10.96.0.0/16"]}},
    "pods": {"spec": {"nodeName": "a", "containers": [_CONTAINER]}},
    "services": {"spec": {"ports": [{"port": 80}]}},
    "daemonsets.apps": {"spec": _WORKLOAD},
    "deployments.apps": {"spec": _WORKLOAD},
    "replicasets.apps": {"spec": _WORKLOAD},
    "statefulsets.apps": {"spec": {**_WORKLOAD, "serviceName": "a"}},
    "cronjobs.batch": {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": _ONCE}}}},
    "jobs.batch": {"spec": {"template": _ONCE}},
    "ingresses.networking.k8s.io": {"spec": {"defaultBackend": {"service": {"name": "a", "port": {"number": 80}}}}},
    "customresourcedefinitions.apiextensions.k8s.io": {
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": "as", "kind": "A"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": _SCHEMA}}],
        }
    },
    "clusterrolebindings.rbac.authorization.k8s.io": {"roleRef": {**_ROLE, "kind": "ClusterRole"}},
    "rolebindings.rbac.authorization.k8s.io": {"roleRef": {**_ROLE, "kind": "Role"}},
    "localsubjectaccessreviews.authorization.k8s.io": {
        "spec": {"user": "a", "resourceAttributes": {"namespace": "default"}}
    },
    "selfsubjectaccessreviews.authorization.k8s.io": {"spec": {"resourceAttributes": {}}},
    "selfsubjectrulesreviews.authorization.k8s.io": {"spec": {"namespace": "default"}},
    "subjectaccessreviews.authorization.k8s.io": {"spec": {"user": "a", "resourceAttributes": {}}},
    "mutatingadmissionpolicies.admissionregistration.k8s.io": {
        "spec": {
            **_MATCHED,
            "reinvocationPolicy": "Never",
            "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}],
        }
    },
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": {"spec": {"policyName": "a"}},
    "validatingadmissionpolicies.admissionregistration.k8s.io": {
        "spec": {**_MATCHED, "validations": [{"expression": "true"}]}
    },
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": {
        "spec": {"policyName": "a", "validationActions": ["Deny"]}
    },
    "leasecandidates.coordination.k8s.io": {
        "spec": {"leaseName": "a", "binaryVersion": "1.0.0", "emulationVersion": "1.0.0", "strategy": "example.com/a"}
    },
}
_EVENT = {
    "eventTime": "2026-01-01T00:00:00.000000Z",
    "reportingController": "example.com/a",
    "reportingInstance": "a",
    "action": "a",
    "reason": "a",
    "type": "Normal",
    "regarding": {"namespace": "default"},
}
_NAMED: Mapping[str, Any] = {
    "Quantity": "1",
    "IntOrString": 80,
    "MicroTime": "2026-01-01T00:00:00.000000Z",
    "Time": _TIME,
    "FieldsV1": {},
    "RawExtension": {},
}


def collection_of(kind: Kind) -> str:
    """Return the path of its objects, in the namespace `default` if they live in one."""
    group = f"/apis/{kind.group}/{kind.version}" if kind.group else f"/api/{kind.version}"
    return f"{group}{'/namespaces/default' if kind.namespaced else ''}/{kind.plural}"


_NAMES = {DEFINITION.resource: "as.example.com", "apiservices.apiregistration.k8s.io": "v1.example.com"}
_COMPARED = Path(__file__).resolve().parent.parent.parent / "differential" / "data" / "samples.jsonl"


@functools.cache
def _compared() -> Mapping[tuple[str, str, str], Mapping[str, Any]]:
    """Return the objects that the comparison with a real server begins with."""
    lines = [json.loads(line) for line in _COMPARED.read_text(encoding="utf-8").splitlines()]
    return {(line["group"], line["version"], line["plural"]): line["body"] for line in lines}


def name_of(kind: Kind) -> str:
    """Return the name of the object: `a`, unless its kind needs a longer one."""
    return _NAMES.get(kind.resource, "a")


def sample_of(kind: Kind, name: str = "") -> dict[str, Any]:
    """Return the object."""
    if kind.kind == "Event":
        told: Mapping[str, Any] = _EVENT if kind.group else {}
    else:
        told = _TOLD.get(kind.resource) or _compared().get((kind.group, kind.version, kind.plural), {})
    schema = kind.schema
    parts = {part: filled(schema.properties[part]) for part in ("spec", *schema.required) if part in schema.properties}
    head = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name or name_of(kind)}}
    if kind.group == "authorization.k8s.io":  # what they ask about is required, but not by their schemas
        del head["metadata"]
    return {**parts, **told, **head}


def custom_kind() -> Kind:
    """Return the kind that the sample of a definition defines."""
    definition = sample_of(DEFINITION)
    names = {**definition["spec"]["names"], "singular": "a", "listKind": "AList"}
    status = {"acceptedNames": names, "conditions": [{"type": "Established", "status": "True"}]}
    return custom_kinds({**definition, "status": status})[0]


def filled(schema: Schema, *, whole: bool = False, depth: int = 0) -> Any:
    """Return some value of a schema: with its required fields, or with all of them, six deep."""
    if (named := _NAMED.get(schema.name.rpartition(".")[2])) is not None:
        return named
    if schema.items is not None:
        return [filled(schema.items, whole=whole, depth=depth + 1)]
    if schema.additional is not None:
        return {"a": filled(schema.additional, whole=whole, depth=depth + 1)}
    wanted = tuple(schema.properties) if whole and depth < 6 else schema.required
    if schema.properties:
        return {name: filled(schema.properties[name], whole=whole, depth=depth + 1) for name in wanted}
    plain = {"string": "YQ==", "integer": 1, "boolean": True, "number": 1.5}
    return _TIME if schema.format == "date-time" else plain.get(schema.type, {})


def places(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of each value in a document, its root last."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, child in children:
        yield from places(child, (*place, step))
    yield place


def replaced(value: Any, place: tuple[str | int, ...], new: Any) -> Any:
    """Return a document with another value at one place."""
    if not place:
        return new
    step, *rest = place
    if isinstance(value, list):
        return [replaced(one, tuple(rest), new) if index == step else one for index, one in enumerate(value)]
    return {key: replaced(one, tuple(rest), new) if key == step else one for key, one in value.items()}
