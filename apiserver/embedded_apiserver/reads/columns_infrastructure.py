# SPDX-License-Identifier: Apache-2.0
"""Cells of the kinds that describe a cluster and what runs beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from embedded_apiserver.kinds import infrastructure as kinds
from embedded_apiserver.kinds.ages import short_duration
from embedded_apiserver.kinds.cells import AGE, NAME, NONE, Cell, Cells, at, count_of, of, selector_at, value_at
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object

_NAMED: Cells = {"Name": NAME, "Age": AGE}
_UNKNOWN = "<unknown>"
_MOST_METRICS, _MOST_LISTED = 2, 3
_SOURCES = {"External": "external", "Pods": "pods", "Object": "object"}
_OF_RESOURCES = {"Resource": "resource", "ContainerResource": "containerResource"}


def _default_of(annotation: str) -> Cell:
    """Return a cell with the name, and whether the object is the default of its kind, as its annotation says."""

    def name(obj: Object) -> str:
        text: str = obj["metadata"]["name"]
        is_default = (obj["metadata"].get("annotations") or {}).get(annotation) == "true"
        return f"{text} (default)" if is_default else text

    return of(name)


def _metrics(obj: Object) -> str:
    specs = value_at(obj, "spec.metrics") or ()
    states = value_at(obj, "status.currentMetrics") or ()
    if not specs:
        return NONE
    found = [_metric(spec, states[index] if index < len(states) else {}) for index, spec in enumerate(specs)]
    more = f" + {len(found) - _MOST_METRICS} more..." if len(found) > _MOST_METRICS else ""
    return ", ".join(found[:_MOST_METRICS]) + more


def _metric(spec: Object, state: Object) -> str:
    kind = spec.get("type", "")
    if name := _SOURCES.get(kind):
        return _source(kind, value_at(spec, f"{name}.target") or {}, value_at(state, f"{name}.current"))
    if name := _OF_RESOURCES.get(kind):
        target, current = value_at(spec, f"{name}.target") or {}, value_at(state, f"{name}.current")
        return f"{value_at(spec, f'{name}.name')}: {_amount(target, current)}"
    return "<unknown type>"


def _source(kind: str, target: Object, current: Object | None) -> str:
    """Return the present and the wanted value of a metric of pods, of an object, or from outside."""
    is_average = target.get("averageValue") is not None
    name = "averageValue" if is_average else "value"
    seen = _UNKNOWN if current is None else current.get(name, _UNKNOWN if is_average and kind != "Pods" else "0")
    end = " (avg)" if is_average and kind != "Pods" else ""
    return f"{seen}/{target.get(name, '0')}{end}"


def _amount(target: Object, current: Object | None) -> str:
    if target.get("averageValue") is not None:
        return f"{_UNKNOWN if current is None else current.get('averageValue', '0')}/{target['averageValue']}"
    seen, wanted = (current or {}).get("averageUtilization"), target.get("averageUtilization")
    return f"{_UNKNOWN if seen is None else f'{seen}%'}/{'<auto>' if wanted is None else f'{wanted}%'}"


def _condition(request: Object) -> str:
    types = {one.get("type") for one in value_at(request, "status.conditions") or ()}
    state = "Denied" if "Denied" in types else "Approved" if "Approved" in types else "Pending"
    failed = ",Failed" if "Failed" in types else ""
    return f"{state}{failed}{',Issued' if value_at(request, 'status.certificate') else ''}"


def _duration(request: Object) -> str:
    seconds = value_at(request, "spec.expirationSeconds")
    return NONE if seconds is None else short_duration(seconds)


def _first(values: Sequence[str]) -> str:
    more = f" + {len(values) - _MOST_LISTED} more..." if len(values) > _MOST_LISTED else ""
    return ",".join(values[:_MOST_LISTED]) + more or "<unset>"


def _ports(slice_: Object) -> str:
    return _first([str(one.get("port") or one.get("name", "*")) for one in slice_.get("ports") or ()])


def _endpoints(slice_: Object) -> str:
    return _first([text for one in slice_.get("endpoints") or () for text in one.get("addresses") or ()])


def _dangling(schema: Object) -> str:
    conditions = value_at(schema, "status.conditions") or ()
    return next((one.get("status", "") for one in conditions if one.get("type") == "Dangling"), "?")


def _parent(address: Object) -> str:
    if (ref := value_at(address, "spec.parentRef")) is None:
        return NONE
    group = f".{ref['group']}" if ref.get("group") else ""
    names = [f"{ref.get('resource', '')}{group}".lower(), ref.get("namespace", ""), ref.get("name", "")]
    return "/".join(name for index, name in enumerate(names) if name or index != 1)


def _parameters(ingress_class: Object) -> str:
    if (ref := value_at(ingress_class, "spec.parameters")) is None:
        return NONE
    group = f".{ref['apiGroup']}" if ref.get("apiGroup") is not None else ""
    return f"{ref.get('kind', '')}{group}/{ref.get('name', '')}"


def _claim_state(claim: Object) -> str:
    is_deleted, is_allocated = (
        "deletionTimestamp" in claim["metadata"],
        value_at(claim, "status.allocation") is not None,
    )
    states = ["deleted"] if is_deleted else []
    if is_allocated:
        states.append("allocated")
        if value_at(claim, "status.reservedFor"):
            states.append("reserved")
    elif not is_deleted:
        states.append("pending")
    return ",".join(states)


def _audiences(driver: Object) -> str:
    requests = value_at(driver, "spec.tokenRequests")
    return "<unset>" if requests is None else ",".join(one.get("audience", "") for one in requests)


def _service(api: Object) -> str:
    if (ref := value_at(api, "spec.service")) is None:
        return "Local"
    return f"{ref.get('namespace', '')}/{ref.get('name', '')}"


def _available(api: Object) -> str:
    conditions = value_at(api, "status.conditions") or ()
    found: Object = next((one for one in conditions if one.get("type") == "Available"), {})
    if not found:
        return "Unknown"
    state: str = found.get("status", "")
    return state if state == "True" else f"{state} ({found.get('reason', '')})"


def _health(status: Object) -> Mapping[str, str]:
    found: Mapping[str, str] = status["conditions"][0]
    return found


CELLS: Mapping[Kind, Cells] = {
    kinds.API_SERVICE: {**_NAMED, "Service": of(_service), "Available": of(_available)},
    kinds.AUTOSCALER: {
        **_NAMED,
        "Reference": of(
            lambda obj: "/".join(str(value_at(obj, f"spec.scaleTargetRef.{name}") or "") for name in ("kind", "name"))
        ),
        "Targets": of(_metrics),
        "MinPods": of(lambda obj: str(value_at(obj, "spec.minReplicas") or "<unset>")),
        "MaxPods": at("spec.maxReplicas", 0),
        "Replicas": at("status.currentReplicas", 0),
    },
    kinds.SIGNING_REQUEST: {
        **_NAMED,
        "SignerName": at("spec.signerName"),
        "Requestor": at("spec.username", ""),
        "RequestedDuration": of(_duration),
        "Condition": of(_condition),
    },
    kinds.ENDPOINT_SLICE: {
        **_NAMED,
        "AddressType": at("addressType", ""),
        "Ports": of(_ports),
        "Endpoints": of(_endpoints),
    },
    kinds.FLOW_SCHEMA: {
        **_NAMED,
        "PriorityLevel": at("spec.priorityLevelConfiguration.name", ""),
        "MatchingPrecedence": at("spec.matchingPrecedence", 0),
        "DistinguisherMethod": at("spec.distinguisherMethod.type"),
        "MissingPL": of(_dangling),
    },
    kinds.PRIORITY_LEVEL: {
        **_NAMED,
        "Type": at("spec.type", ""),
        "NominalConcurrencyShares": at("spec.limited.nominalConcurrencyShares"),
        "Queues": at("spec.limited.limitResponse.queuing.queues"),
        "HandSize": at("spec.limited.limitResponse.queuing.handSize"),
        "QueueLengthLimit": at("spec.limited.limitResponse.queuing.queueLengthLimit"),
    },
    kinds.IP_ADDRESS: {**_NAMED, "ParentRef": of(_parent)},
    kinds.INGRESS_CLASS: {
        "Name": _default_of("ingressclass.kubernetes.io/is-default-class"),
        "Age": AGE,
        "Controller": at("spec.controller", ""),
        "Parameters": of(_parameters),
    },
    kinds.NETWORK_POLICY: {**_NAMED, "Pod-Selector": selector_at("spec.podSelector")},
    kinds.SERVICE_CIDR: {**_NAMED, "CIDRs": of(lambda obj: ",".join(value_at(obj, "spec.cidrs") or ()))},
    kinds.RUNTIME_CLASS: {**_NAMED, "Handler": at("handler", "")},
    kinds.DEVICE_CLASS: _NAMED,
    kinds.RESOURCE_CLAIM: {**_NAMED, "State": of(_claim_state)},
    kinds.RESOURCE_CLAIM_TEMPLATE: _NAMED,
    kinds.RESOURCE_SLICE: {
        **_NAMED,
        "Node": at("spec.nodeName", ""),
        "Driver": at("spec.driver", ""),
        "Pool": at("spec.pool.name", ""),
    },
    kinds.PRIORITY_CLASS: {
        **_NAMED,
        "Value": at("value", 0),
        "Global-Default": at("globalDefault", False),
        "PreemptionPolicy": at("preemptionPolicy", ""),
    },
    kinds.CSI_DRIVER: {
        **_NAMED,
        "AttachRequired": at("spec.attachRequired", True),
        "PodInfoOnMount": at("spec.podInfoOnMount", False),
        "StorageCapacity": at("spec.storageCapacity", False),
        "TokenRequests": of(_audiences),
        "RequiresRepublish": at("spec.requiresRepublish", False),
        "Modes": of(lambda obj: ",".join(value_at(obj, "spec.volumeLifecycleModes") or ()) or NONE),
    },
    kinds.CSI_NODE: {**_NAMED, "Drivers": count_of("spec.drivers")},
    kinds.STORAGE_CLASS: {
        "Name": _default_of("storageclass.kubernetes.io/is-default-class"),
        "Age": AGE,
        "Provisioner": at("provisioner", ""),
        "ReclaimPolicy": at("reclaimPolicy", "Delete"),
        "VolumeBindingMode": at("volumeBindingMode", "Immediate"),
        "AllowVolumeExpansion": at("allowVolumeExpansion", False),
    },
    kinds.ATTACHMENT: {
        **_NAMED,
        "Attacher": at("spec.attacher", ""),
        "PV": at("spec.source.persistentVolumeName", ""),
        "Node": at("spec.nodeName", ""),
        "Attached": at("status.attached", False),
    },
    kinds.ATTRIBUTES_CLASS: {**_NAMED, "DriverName": at("driverName", "")},
    kinds.COMPONENT_STATUS: {
        "Name": NAME,
        "Status": of(lambda status: "Healthy" if _health(status).get("status") == "True" else "Unhealthy"),
        "Message": of(lambda status: _health(status).get("message", "")),
        "Error": of(lambda status: _health(status).get("error", "")),
    },
}
"""The cells of each kind that tables are made for."""
