# SPDX-License-Identifier: Apache-2.0
"""The columns of nodes, namespaces, leases, lease candidates and events."""

from __future__ import annotations

from datetime import datetime

from embedded_apiserver.kinds.ages import UNKNOWN, age
from embedded_apiserver.kinds.cells import AGE, NAME, NONE, Cells, at, listed, of, value_at
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


def _first_seen(event: Object) -> str | None:
    return event.get("firstTimestamp") or event.get("eventTime")


def _last_seen(event: Object, now: datetime) -> str:
    if event.get("series") is not None:
        return age(value_at(event, "series.lastObservedTime"), now)
    return age(event.get("lastTimestamp") or _first_seen(event), now)


def _about(event: Object) -> str:
    about = part(event, "involvedObject")
    kind, name = about.get("kind", "").lower(), about.get("name", "")
    return f"{kind}/{name}" if name else kind


def _source(event: Object) -> str:
    source = part(event, "source")
    component = source.get("component") or event.get("reportingComponent", "")
    host = source.get("host") or event.get("reportingInstance", "")
    return f"{component}, {host}" if host else str(component)


def _count(event: Object) -> int:
    if event.get("series") is not None:
        return value_at(event, "series.count") or 0
    return event.get("count") or 1


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
LEASES: Cells = {"Name": NAME, "Holder": at("spec.holderIdentity", ""), "Age": AGE}
LEASE_CANDIDATES: Cells = {
    "Name": NAME,
    "LeaseName": at("spec.leaseName", ""),
    "BinaryVersion": at("spec.binaryVersion", ""),
    "EmulationVersion": at("spec.emulationVersion", ""),
    "Age": AGE,
}
EVENTS: Cells = {
    "Last Seen": _last_seen,
    "Type": at("type", ""),
    "Reason": at("reason", ""),
    "Object": of(_about),
    "Subobject": at("involvedObject.fieldPath", ""),
    "Source": of(_source),
    "Message": of(lambda event: event.get("message", "").strip()),
    "First Seen": lambda event, now: age(_first_seen(event), now),
    "Count": of(_count),
    "Name": NAME,
}
