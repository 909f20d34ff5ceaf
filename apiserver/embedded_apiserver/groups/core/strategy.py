# SPDX-License-Identifier: Apache-2.0
"""The effects of a write on namespaces, nodes, services and service accounts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from embedded_apiserver.groups.core.service_allocation import without_leftovers
from embedded_apiserver.kinds.policy import isolated
from embedded_apiserver.objects import Object, part, with_status_of

FINALIZER = "kubernetes"
"""The finalizer in the spec of a namespace, which stays until all objects of the namespace are gone."""
_NAME_LABEL = "kubernetes.io/metadata.name"


def new_namespace(obj: Object) -> Object:
    """Return a new Namespace with its name as a label, and with the finalizer `kubernetes` in its spec."""
    finalizers = part(obj, "spec").get("finalizers", [])
    if FINALIZER not in finalizers:
        finalizers = [*finalizers, FINALIZER]
    return _labelled({**obj, "spec": {"finalizers": finalizers}})


def isolated_namespace(old: Object, new: Object, subresource: str) -> Object:
    """Return a sent Namespace with those parts of the stored one that a write to `subresource` must not change.

    Only a write to `finalize` may change the `spec`, which has the finalizers (`spec.finalizers`).
    """
    if subresource == "finalize":
        return _labelled(with_status_of(old, new))
    return _labelled({**isolated(old, new, subresource), "spec": part(old, "spec")})


def terminating(obj: Object, now: datetime) -> Object:
    """Return a Namespace with the phase `Terminating`."""
    return {**obj, "status": {**part(obj, "status"), "phase": "Terminating"}}


def _labelled(obj: Object) -> Object:
    metadata = obj["metadata"]
    labels = {**metadata.get("labels", {}), _NAME_LABEL: metadata["name"]}
    return {**obj, "metadata": {**metadata, "labels": labels}}


def new_node(obj: Object) -> Object:
    """Return a new Node without the former fields for a kubelet configuration."""
    return _without_configuration({**obj, "status": _without_config(part(obj, "status"))})


def updated_node(old: Object, made: Object, subresource: str) -> Object:
    """Return an updated Node. It has the former fields for a kubelet configuration only if it had them before."""
    if subresource == "status" and "config" in part(made, "status") and "config" not in part(old, "status"):
        made = {**made, "status": _without_config(part(made, "status"))}
    return made if "configSource" in part(old, "spec") else _without_configuration(made)


def node_warnings(obj: Object, old: Object | None) -> Iterator[str]:
    """Yield the warnings about fields of a Node that Kubernetes no longer uses."""
    spec = part(obj, "spec")
    if "configSource" in spec and "configSource" in part(old or {}, "spec"):
        yield "spec.configSource: the feature is removed"
    if spec.get("externalID"):
        yield "spec.externalID: this field is deprecated, and is unused by Kubernetes"


def _without_config(status: Object) -> Object:
    return {name: value for name, value in status.items() if name != "config"}


def _without_configuration(obj: Object) -> Object:
    """Return a node without the source of its kubelet's configuration, which no server takes any more."""
    spec = part(obj, "spec")
    if "configSource" not in spec:
        return obj
    return {**obj, "spec": {name: value for name, value in spec.items() if name != "configSource"}}


def new_service(obj: Object) -> Object:
    """Return a new Service; one of the type `ExternalName` loses its `internalTrafficPolicy`."""
    spec = part(obj, "spec")
    if spec.get("type") == "ExternalName":
        spec = {name: value for name, value in spec.items() if name != "internalTrafficPolicy"}
    return {**obj, "spec": spec}


def updated_service(old: Object, made: Object, subresource: str) -> Object:
    """Return an updated Service without fields, and without load balancer addresses, that its new type does not use."""
    if subresource == "status":
        return made
    made = {**made, "spec": without_leftovers(part(made, "spec"), part(old, "spec"))}
    return made if made["spec"].get("type") == "LoadBalancer" else {**made, "status": {"loadBalancer": {}}}


def service_warnings(obj: Object) -> list[str]:
    """Return the warnings about fields of a Service that its type ignores, or that are deprecated."""
    spec = part(obj, "spec")
    external = spec.get("type") == "ExternalName"
    headless = spec.get("clusterIP") == "None" and spec.get("type", "ClusterIP") == "ClusterIP"
    found = {
        "spec.loadBalancerIP is ignored for headless services": headless and spec.get("loadBalancerIP"),
        "spec.externalIPs is ignored for headless services": headless and spec.get("externalIPs"),
        "spec.SessionAffinity is ignored for headless services": headless
        and spec.get("sessionAffinity", "None") != "None",
        "spec.externalIPs is deprecated and may no longer be implemented in some clusters": not headless
        and not external
        and spec.get("externalIPs"),
        'spec.externalIPs is ignored when spec.type is "ExternalName"': external and spec.get("externalIPs"),
        'spec.externalName is ignored when spec.type is not "ExternalName"': not external and spec.get("externalName"),
        'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"': spec.get("trafficDistribution")
        == "PreferClose",
    }
    return [text for text, is_true in found.items() if is_true]


def new_account(obj: Object) -> Object:
    """Return a ServiceAccount whose references to secrets have only names."""
    if not (secrets := obj.get("secrets")):
        return obj
    named = [{name: value for name, value in one.items() if name == "name"} for one in secrets]
    return obj if named == secrets else {**obj, "secrets": named}


def updated_account(old: Object, made: Object, subresource: str) -> Object:
    """Return an updated ServiceAccount whose references to secrets have only names."""
    return new_account(made)
