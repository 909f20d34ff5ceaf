# SPDX-License-Identifier: Apache-2.0
"""Defaults that depend on other fields, one function for each type, wherever the type occurs.

All other defaults are data; see `stored_forms`. A shape calls the function of a type after it has filled in those.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import Any

from embedded_apiserver.objects import Object, filled, part
from embedded_apiserver.typed.definition_defaults import conversion, definition, service_reference
from embedded_apiserver.typed.pod_defaults import TYPES as POD_TYPES
from embedded_apiserver.typed.service_defaults import port, service
from embedded_apiserver.typed.stored_forms import defaults_of

TypeDefault = Callable[[Any, Object], Any]
"""Returns a value with all defaults; perhaps the same object if it already has them.

The arguments are the value, with those defaults that are data, and the old object's value at the same place; empty if
absent.
"""

_NO_PER_INDEX_LIMIT = (1 << 31) - 1
_APPS, _CORE = "io.k8s.api.apps.v1.", "io.k8s.api.core.v1."
_EXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1."
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_RBAC = "rbac.authorization.k8s.io"
_NAME_LABEL = "kubernetes.io/metadata.name"


def _rolling(type_name: str) -> TypeDefault:
    def strategy(value: Object, before: Object) -> Object:
        if value.get("type") == "RollingUpdate" and "rollingUpdate" not in value:
            return {**value, "rollingUpdate": dict(defaults_of(type_name))}
        return value

    return strategy


def _stateful_strategy(value: Object, before: Object) -> Object:
    """A strategy that names its type gets no rolling update, unlike one that does not."""
    if "type" in value:
        return value
    rolling = dict(defaults_of(f"{_APPS}RollingUpdateStatefulSetStrategy"))
    return {"type": "RollingUpdate", "rollingUpdate": rolling, **value}


def _claim_templates(value: Object, before: Object) -> Object:
    templates = value.get("volumeClaimTemplates")
    if not templates or templates is before.get("volumeClaimTemplates"):
        return value
    typed = [{**one, "kind": "PersistentVolumeClaim", "apiVersion": "v1"} for one in templates]
    return {**value, "volumeClaimTemplates": typed}


def _job(value: Object, before: Object) -> Object:
    spec = part(value, "spec")
    if spec is before.get("spec"):
        return with_labels_of_template(value)
    missing = {
        "backoffLimit": _NO_PER_INDEX_LIMIT if "backoffLimitPerIndex" in spec else 6,
        "completionMode": "NonIndexed",
        "manualSelector": False,
        "parallelism": 1,
        "podReplacementPolicy": "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed",
        "suspend": False,
    }
    if "completions" not in spec and "parallelism" not in spec:
        missing["completions"] = 1
    return with_labels_of_template({**value, "spec": filled(spec, missing)})


def with_labels_of_template(obj: Object) -> Object:
    """Return an object with the labels of its pod template (the same dict) if it has no labels itself."""
    metadata, labels = part(obj, "metadata"), labels_of_template(obj)
    if not labels or metadata.get("labels"):
        return obj
    return {**obj, "metadata": {**metadata, "labels": labels}}


def labels_of_template(obj: Object) -> Object:
    """Return the labels of the pod template in an object's spec; empty if it has none."""
    return part(part(part(part(obj, "spec"), "template"), "metadata"), "labels")


def _controller(value: Object, before: Object) -> Object:
    labels, spec = labels_of_template(value), part(value, "spec")
    if labels and not spec.get("selector"):
        value = {**value, "spec": {**spec, "selector": dict(labels)}}
    return with_labels_of_template(value)


def _namespace(value: Object, before: Object) -> Object:
    metadata = part(value, "metadata")
    name, labels = metadata.get("name"), part(metadata, "labels")
    if not name or labels.get(_NAME_LABEL) == name:
        return value
    return {**value, "metadata": {**metadata, "labels": {**labels, _NAME_LABEL: name}}}


def _node_spec(value: Object, before: Object) -> Object:
    """`podCIDR` is the first of `podCIDRs`, and clients may set only one of them; if they differ, `podCIDR` counts."""
    one, many = value.get("podCIDR"), value.get("podCIDRs")
    if one and (not many or many[0] != one):
        return {**value, "podCIDRs": [one]}
    return {**value, "podCIDR": many[0]} if many and not one else value


def _node_status(value: Object, before: Object) -> Object:
    capacity = value.get("capacity")
    return {**value, "allocatable": dict(capacity)} if capacity and "allocatable" not in value else value


def _daemon_set(value: Object, before: Object) -> Object:
    """Add the annotation with the number of the template, as a real API server does; the default number is 0."""
    metadata = part(value, "metadata")
    annotations = part(metadata, "annotations")
    if TEMPLATE_GENERATION in annotations:
        return value
    return {**value, "metadata": {**metadata, "annotations": {**annotations, TEMPLATE_GENERATION: "0"}}}


def _limit(value: Object, before: Object) -> Object:
    if value.get("type") != "Container":
        return value
    default = {**part(value, "max"), **part(value, "default")}
    request = {**part(value, "min"), **default, **part(value, "defaultRequest")}
    made = {"default": default, "defaultRequest": request}
    return {**value, **{name: amounts for name, amounts in made.items() if amounts}}


def _secret(value: Object, before: Object) -> Object:
    """`stringData` is a way to write `data`, and never stored."""
    if not (texts := value.get("stringData")):
        return value
    encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
    rest = {name: item for name, item in value.items() if name != "stringData"}
    return {**rest, "data": {**part(value, "data"), **encoded}}


def _behavior(value: Object, before: Object) -> Object:
    """Fill in what a direction of scaling lacks; each direction has its own defaults."""
    missing = {
        side: filled({name: item for name, item in rules.items() if item != []}, _DIRECTIONS[side])
        for side in _DIRECTIONS
        if (rules := value.get(side)) is not None
    }
    return {**value, **missing}


_DIRECTIONS: Mapping[str, Object] = {
    "scaleUp": {
        "policies": [
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ],
        "selectPolicy": "Max",
        "stabilizationWindowSeconds": 0,
    },
    "scaleDown": {"policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}], "selectPolicy": "Max"},
}


def _network_policy(value: Object, before: Object) -> Object:
    """A policy that names no directions is about what comes in, and about what goes out if it has rules for that."""
    if value.get("policyTypes"):
        return value
    return {**value, "policyTypes": ["Ingress", "Egress"] if value.get("egress") else ["Ingress"]}


def _driver(value: Object, before: Object) -> Object:
    return value if value.get("volumeLifecycleModes") else {**value, "volumeLifecycleModes": ["Persistent"]}


def _device_request(value: Object, before: Object) -> Object:
    """A request that does not say how many devices it is for is for one, unless it is for all."""
    if value.get("allocationMode") == "ExactCount" and not value.get("count"):
        return {**value, "count": 1}
    return value


def _subject(value: Object, before: Object) -> Object:
    if value.get("kind") in ("User", "Group") and not value.get("apiGroup"):
        return {**value, "apiGroup": _RBAC}
    return value


TYPE_DEFAULTS: Mapping[str, TypeDefault] = {
    **POD_TYPES,
    f"{_APPS}DaemonSet": _daemon_set,
    f"{_APPS}DaemonSetUpdateStrategy": _rolling(f"{_APPS}RollingUpdateDaemonSet"),
    f"{_APPS}DeploymentStrategy": _rolling(f"{_APPS}RollingUpdateDeployment"),
    f"{_APPS}StatefulSetUpdateStrategy": _stateful_strategy,
    f"{_APPS}StatefulSetSpec": _claim_templates,
    "io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerBehavior": _behavior,
    "io.k8s.api.batch.v1.Job": _job,
    "io.k8s.api.networking.v1.NetworkPolicySpec": _network_policy,
    "io.k8s.api.resource.v1.DeviceSubRequest": _device_request,
    "io.k8s.api.resource.v1.ExactDeviceRequest": _device_request,
    "io.k8s.api.storage.v1.CSIDriverSpec": _driver,
    f"{_EXTENSIONS}CustomResourceDefinitionSpec": definition,
    f"{_EXTENSIONS}CustomResourceConversion": conversion,
    f"{_EXTENSIONS}ServiceReference": service_reference,
    f"{_CORE}LimitRangeItem": _limit,
    f"{_CORE}Namespace": _namespace,
    f"{_CORE}NodeSpec": _node_spec,
    f"{_CORE}NodeStatus": _node_status,
    f"{_CORE}ReplicationController": _controller,
    f"{_CORE}Secret": _secret,
    f"{_CORE}Service": service,
    f"{_CORE}ServicePort": port,
    "io.k8s.api.rbac.v1.Subject": _subject,
}
