# SPDX-License-Identifier: Apache-2.0
"""The columns of nodes, namespaces, leases, lease candidates and events."""

from __future__ import annotations

from datetime import datetime

from controller_runtime.apiserver.reads.ages import UNKNOWN, age
from controller_runtime.apiserver.reads.columns import AGE, NAME, NONE, Column, at, listed, of, value_at
from controller_runtime.apiserver.rules.rules import Object, part

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
    last = value_at(event, "series.lastObservedTime") or event.get("lastTimestamp") or _first_seen(event)
    return age(last, now)


def _about(event: Object) -> str:
    about = part(event, "involvedObject")
    kind, name = about.get("kind", "").lower(), about.get("name", "")
    return f"{kind}/{name}" if name else kind


def _source(event: Object) -> str:
    source = part(event, "source")
    component = source.get("component") or event.get("reportingComponent", "")
    host = source.get("host") or event.get("reportingInstance", "")
    return ", ".join(word for word in (component, host) if word)


def _count(event: Object) -> int:
    return value_at(event, "series.count") or event.get("count") or 1


NODES = (
    NAME,
    Column("Status", of(_node_status), "Whether the node is ready, and whether pods may be put on it."),
    Column("Roles", of(_roles), "The roles of the node, by its labels."),
    AGE,
    Column("Version", at("status.nodeInfo.kubeletVersion", ""), "The version of its kubelet."),
    Column("Internal-IP", of(lambda node: _address(node, "InternalIP")), "Its internal address.", is_wide=True),
    Column("External-IP", of(lambda node: _address(node, "ExternalIP")), "Its external address.", is_wide=True),
    Column("OS-Image", at("status.nodeInfo.osImage", UNKNOWN), "Its operating system.", is_wide=True),
    Column("Kernel-Version", of(_kernel), "Its kernel, and the architecture of the machine.", is_wide=True),
    Column("Container-Runtime", at("status.nodeInfo.containerRuntimeVersion", UNKNOWN), "Its runtime.", is_wide=True),
)
NAMESPACES = (NAME, Column("Status", at("status.phase", ""), "Whether it is active or being deleted."), AGE)
LEASES = (NAME, Column("Holder", at("spec.holderIdentity", ""), "The holder of the lease."), AGE)
LEASE_CANDIDATES = (
    NAME,
    Column("LeaseName", at("spec.leaseName", ""), "The lease that it is a candidate for."),
    Column("BinaryVersion", at("spec.binaryVersion", ""), "The version of the candidate."),
    Column("EmulationVersion", at("spec.emulationVersion", ""), "The version that the candidate emulates."),
    AGE,
)
EVENTS = (
    Column("Last Seen", _last_seen, "When it was last observed."),
    Column("Type", at("type", ""), "Normal or Warning."),
    Column("Reason", at("reason", ""), "The reason, in one word."),
    Column("Object", of(_about), "The object that it is about."),
    Column("Subobject", at("involvedObject.fieldPath", ""), "The part of the object that it is about.", is_wide=True),
    Column("Source", of(_source), "The component that reported it, and its host.", is_wide=True),
    Column("Message", of(lambda event: event.get("message", "").strip()), "A description for people."),
    Column("First Seen", lambda event, now: age(_first_seen(event), now), "When it was first observed.", is_wide=True),
    Column("Count", of(_count), "How often it was observed.", is_wide=True),
    Column("Name", at("metadata.name", ""), "The name of the event.", is_wide=True, format="name"),
)
