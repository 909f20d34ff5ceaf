# SPDX-License-Identifier: Apache-2.0
"""Cells of the kinds of the core group without pods."""

from __future__ import annotations

from collections.abc import Mapping

from embedded_apiserver.kinds.ages import UNKNOWN
from embedded_apiserver.kinds.cells import (
    AGE,
    NAME,
    NAMED,
    NONE,
    Cell,
    Cells,
    at,
    count_of,
    labels_at,
    listed,
    of,
    value_at,
)
from embedded_apiserver.objects import Object, part

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"


def _node_status(node: Object) -> str:
    conditions = {one["type"]: one["status"] for one in part(node, "status").get("conditions", ())}
    ready = conditions.get("Ready")
    words = ["Unknown" if ready is None else "Ready" if ready == "True" else "NotReady"]
    if part(node, "spec").get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _roles(node: Object) -> str:
    labels = node["metadata"].get("labels", {})
    roles = {key.removeprefix(_ROLE_PREFIX) for key in labels if key.startswith(_ROLE_PREFIX)}
    roles.add(labels.get(_ROLE_LABEL, ""))
    return listed(sorted(role for role in roles if role))


def _address(node: Object, type_: str) -> str:
    addresses = part(node, "status").get("addresses", ())
    return next((one["address"] for one in addresses if one["type"] == type_), NONE)


def _kernel(node: Object) -> str:
    info = value_at(node, "status.nodeInfo") or {}
    kernel, architecture = info.get("kernelVersion"), info.get("architecture")
    if not kernel:
        return UNKNOWN
    return f"{kernel} ({architecture})" if architecture else str(kernel)


def _external(service: Object) -> str:
    spec = part(service, "spec")
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName", ""))
    ingress = value_at(service, "status.loadBalancer.ingress") or ()
    addresses = [one.get("ip") or one.get("hostname", "") for one in ingress] + list(spec.get("externalIPs", ()))
    return ",".join(addresses) or ("<pending>" if spec.get("type") == "LoadBalancer" else NONE)


def _ports(service: Object) -> str:
    def text(port: Object) -> str:
        outside = f":{port['nodePort']}" if port.get("nodePort") else ""
        return f"{port.get('port')}{outside}/{port.get('protocol', 'TCP')}"

    return listed([text(port) for port in part(service, "spec").get("ports", ())])


def _endpoints(obj: Object) -> str:
    found = [
        f"{address.get('ip')}:{port.get('port')}"
        for subset in obj.get("subsets") or ()
        for port in subset.get("ports") or [{"port": 0}]
        for address in subset.get("addresses", ())
    ]
    more = f" + {len(found) - 3} more..." if len(found) > 3 else ""
    return listed(found[:3]) + more


def _quotas(*, of_limits: bool) -> Cell:
    """Return a cell with used and allowed amounts of resources: either those of limits or all others."""

    def text(quota: Object) -> str:
        hard, used = (value_at(quota, f"status.{name}") or {} for name in ("hard", "used"))
        names = [name for name in sorted(hard) if name.startswith("limits.") == of_limits]
        return ", ".join(f"{name}: {used.get(name, 0)}/{hard[name]}" for name in names)

    return of(text)


def _health(status: Object) -> Mapping[str, str]:
    found: Mapping[str, str] = status["conditions"][0]
    return found


NODES: Cells = {
    "Name": NAME,
    "Status": of(_node_status),
    "Roles": of(_roles),
    "Age": AGE,
    "Version": at("status.nodeInfo.kubeletVersion", ""),
    "Internal-IP": of(lambda node: _address(node, "InternalIP")),
    "External-IP": of(lambda node: _address(node, "ExternalIP")),
    "OS-Image": at("status.nodeInfo.osImage", UNKNOWN),
    "Kernel-Version": of(_kernel),
    "Container-Runtime": at("status.nodeInfo.containerRuntimeVersion", UNKNOWN),
}
NAMESPACES: Cells = {"Name": NAME, "Status": at("status.phase", ""), "Age": AGE}
QUOTAS: Cells = {
    "Name": NAME,
    "Request": _quotas(of_limits=False),
    "Limit": _quotas(of_limits=True),
    "Age": AGE,
}
CONFIG_MAPS: Cells = {**NAMED, "Data": count_of("data", "binaryData")}
SECRETS: Cells = {**NAMED, "Type": at("type", ""), "Data": count_of("data")}
SERVICES: Cells = {
    **NAMED,
    "Type": at("spec.type", ""),
    "Cluster-IP": at("spec.clusterIP"),
    "External-IP": of(_external),
    "Port(s)": of(_ports),
    "Selector": labels_at("spec.selector"),
}
ENDPOINTS_OF_SERVICES: Cells = {**NAMED, "Endpoints": of(_endpoints)}
COMPONENTS: Cells = {
    "Name": NAME,
    "Status": of(lambda status: "Healthy" if _health(status).get("status") == "True" else "Unhealthy"),
    "Message": of(lambda status: _health(status).get("message", "")),
    "Error": of(lambda status: _health(status).get("error", "")),
}
