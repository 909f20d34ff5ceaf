# SPDX-License-Identifier: Apache-2.0
"""The columns of workloads and all remaining kinds, and the table from each kind to its columns."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from datetime import datetime

from embedded_apiserver.kinds import registry as kinds
from embedded_apiserver.kinds.ages import short_duration
from embedded_apiserver.kinds.cells import (
    AGE,
    NAME,
    NONE,
    Cell,
    Cells,
    age_of,
    at,
    count_of,
    labels_at,
    listed,
    of,
    selector_at,
    value_at,
)
from embedded_apiserver.kinds.infrastructure import FLOW_SCHEMA
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.kinds.parts import SCALE
from embedded_apiserver.objects import Object, part
from embedded_apiserver.reads.columns import Column, Layout, definitions_of
from embedded_apiserver.reads.columns_custom import custom_columns
from embedded_apiserver.reads.columns_nodes import EVENTS, LEASE_CANDIDATES, LEASES, NAMESPACES, NODES
from embedded_apiserver.reads.columns_pods import PODS, pod_conditions
from embedded_apiserver.reads.columns_policies import POLICIES, POLICY_BINDINGS
from embedded_apiserver.reads.columns_storage import CLAIMS, QUOTAS, VOLUMES


def _ready(obj: Object) -> str:
    return f"{value_at(obj, 'status.readyReplicas') or 0}/{value_at(obj, 'spec.replicas') or 0}"


def _containers(key: str, place: str) -> Cell:
    path = f"{place}.spec.containers"
    return of(lambda obj: ",".join(str(one.get(key, "")) for one in value_at(obj, path) or ()))


def _pods_of(place: str = "spec.template") -> Cells:
    return {"Containers": _containers("name", place), "Images": _containers("image", place)}


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


def _hosts(ingress: Object) -> str:
    hosts = [host for rule in value_at(ingress, "spec.rules") or () if (host := rule.get("host"))]
    more = f" + {len(hosts) - 3} more..." if len(hosts) > 3 else ""
    return ",".join(hosts[:3]) + more or "*"


def _addresses(ingress: Object) -> str:
    found = value_at(ingress, "status.loadBalancer.ingress") or ()
    return ",".join(one.get("ip") or one.get("hostname", "") for one in found)


def _endpoints(obj: Object) -> str:
    found = [
        f"{address.get('ip')}:{port.get('port')}"
        for subset in obj.get("subsets") or ()
        for port in subset.get("ports") or [{"port": 0}]
        for address in subset.get("addresses", ())
    ]
    more = f" + {len(found) - 3} more..." if len(found) > 3 else ""
    return listed(found[:3]) + more


def _job_status(job: Object) -> str:
    held = {one["type"] for one in value_at(job, "status.conditions") or () if one.get("status") == "True"}
    for type_, word in (("Complete", "Complete"), ("Failed", "Failed")):
        if type_ in held:
            return word
    if "deletionTimestamp" in job["metadata"]:
        return "Terminating"
    for type_ in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if type_ in held:
            return type_
    return "Running"


def _completions(job: Object) -> str:
    wanted, done = value_at(job, "spec.completions"), value_at(job, "status.succeeded") or 0
    if wanted is not None:
        return f"{done}/{wanted}"
    parallelism = value_at(job, "spec.parallelism") or 0
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _took(job: Object, now: datetime) -> str:
    start, end = (value_at(job, f"status.{name}Time") for name in ("start", "completion"))
    if not start:
        return ""
    until = datetime.fromisoformat(end) if end else now
    return short_duration((until - datetime.fromisoformat(start)).total_seconds())


def _is_suspended(job: Object) -> str:
    return str(bool(value_at(job, "spec.suspend")))


def _last_schedule(job: Object, now: datetime) -> str:
    path = "status.lastScheduleTime"
    return str(age_of(path)(job, now)) if value_at(job, path) else NONE


def _text_at(path: str, absent: str) -> Cell:
    """Return a cell with the text of a number or a percentage at a path."""
    return lambda obj, now: absent if (value := value_at(obj, path)) is None else str(value)


def _subjects(kind: str) -> Cell:
    def name(subject: Object) -> str:
        namespace = subject.get("namespace")
        return f"{namespace}/{subject['name']}" if namespace and kind == "ServiceAccount" else str(subject["name"])

    return of(lambda obj: ", ".join(name(one) for one in obj.get("subjects") or () if one.get("kind") == kind))


def _owner(obj: Object) -> str:
    owner = next((one for one in obj["metadata"].get("ownerReferences", ()) if one.get("controller")), None)
    if owner is None:
        return NONE
    group = owner["apiVersion"].rpartition("/")[0]
    return f"{owner['kind'].lower()}{'.' + group if group else ''}/{owner['name']}"


_GENERIC: Cells = {"Name": NAME, "Created At": at("metadata.creationTimestamp", "")}
_NAMED: Cells = {"Name": NAME, "Age": AGE}
_BINDING: Cells = {
    **_NAMED,
    "Role": of(lambda obj: f"{obj['roleRef'].get('kind')}/{obj['roleRef'].get('name')}"),
    "Users": _subjects("User"),
    "Groups": _subjects("Group"),
    "ServiceAccounts": _subjects("ServiceAccount"),
}
_SELECTOR: Cells = {"Selector": selector_at("spec.selector")}
_REPLICAS: Cells = {
    **_NAMED,
    "Desired": at("spec.replicas", 0),
    "Current": at("status.replicas", 0),
    "Ready": at("status.readyReplicas", 0),
    **_pods_of(),
}
_HOOKS: Cells = {**_NAMED, "Webhooks": count_of("webhooks")}
_CELLS: Mapping[Kind, Cells] = {
    kinds.NODE: NODES,
    kinds.POD: PODS,
    kinds.LEASE: LEASES,
    kinds.LEASE_CANDIDATE: LEASE_CANDIDATES,
    kinds.NAMESPACE: NAMESPACES,
    kinds.EVENT: EVENTS,
    kinds.CONFIG_MAP: {**_NAMED, "Data": count_of("data", "binaryData")},
    kinds.SECRET: {**_NAMED, "Type": at("type", ""), "Data": count_of("data")},
    kinds.SERVICE_ACCOUNT: _NAMED,
    kinds.SERVICE: {
        **_NAMED,
        "Type": at("spec.type", ""),
        "Cluster-IP": at("spec.clusterIP"),
        "External-IP": of(_external),
        "Port(s)": of(_ports),
        "Selector": labels_at("spec.selector"),
    },
    kinds.ENDPOINTS: {**_NAMED, "Endpoints": of(_endpoints)},
    kinds.CLAIM: CLAIMS,
    kinds.VOLUME: VOLUMES,
    kinds.QUOTA: QUOTAS,
    kinds.POD_TEMPLATE: {**_NAMED, **_pods_of("template"), "Pod Labels": labels_at("template.metadata.labels")},
    kinds.REPLICATION_CONTROLLER: {**_REPLICAS, "Selector": labels_at("spec.selector")},
    kinds.DEPLOYMENT: {
        **_NAMED,
        **_pods_of(),
        **_SELECTOR,
        "Ready": of(_ready),
        "Up-to-date": at("status.updatedReplicas", 0),
        "Available": at("status.availableReplicas", 0),
    },
    kinds.REPLICA_SET: {**_REPLICAS, **_SELECTOR},
    kinds.STATEFUL_SET: {**_NAMED, "Ready": of(_ready), **_pods_of()},
    kinds.DAEMON_SET: {
        **_NAMED,
        **_pods_of(),
        **_SELECTOR,
        "Desired": at("status.desiredNumberScheduled", 0),
        "Current": at("status.currentNumberScheduled", 0),
        "Ready": at("status.numberReady", 0),
        "Up-to-date": at("status.updatedNumberScheduled", 0),
        "Available": at("status.numberAvailable", 0),
        "Node Selector": labels_at("spec.template.spec.nodeSelector"),
    },
    kinds.CONTROLLER_REVISION: {**_NAMED, "Controller": of(_owner), "Revision": at("revision", 0)},
    kinds.JOB: {
        **_NAMED,
        **_pods_of(),
        **_SELECTOR,
        "Status": of(_job_status),
        "Completions": of(_completions),
        "Duration": _took,
    },
    kinds.CRON_JOB: {
        **_NAMED,
        **_pods_of("spec.jobTemplate.spec.template"),
        "Schedule": at("spec.schedule", ""),
        "Timezone": at("spec.timeZone"),
        "Suspend": of(_is_suspended),
        "Active": count_of("status.active"),
        "Last Schedule": _last_schedule,
        "Selector": selector_at("spec.jobTemplate.spec.selector"),
    },
    kinds.DISRUPTION_BUDGET: {
        **_NAMED,
        "Min Available": _text_at("spec.minAvailable", "N/A"),
        "Max Unavailable": _text_at("spec.maxUnavailable", "N/A"),
        "Allowed Disruptions": at("status.disruptionsAllowed", 0),
    },
    kinds.INGRESS: {
        **_NAMED,
        "Class": at("spec.ingressClassName"),
        "Hosts": of(_hosts),
        "Address": of(_addresses),
        "Ports": of(lambda ingress: "80, 443" if value_at(ingress, "spec.tls") else "80"),
    },
    SCALE: {**_NAMED, "Desired": at("spec.replicas", 0), "Available": at("status.replicas", 0)},
    kinds.MUTATING_HOOKS: _HOOKS,
    kinds.VALIDATING_HOOKS: _HOOKS,
    kinds.MUTATING_POLICY: POLICIES,
    kinds.MUTATING_POLICY_BINDING: POLICY_BINDINGS,
    kinds.VALIDATING_POLICY: POLICIES,
    kinds.VALIDATING_POLICY_BINDING: POLICY_BINDINGS,
    kinds.ROLE_BINDING: _BINDING,
    kinds.CLUSTER_ROLE_BINDING: _BINDING,
}


def _cells_beside() -> Mapping[Kind, Cells]:
    """Return the cells of kinds that few servers have objects of; they are loaded when they are asked for."""
    from embedded_apiserver.reads.columns_infrastructure import CELLS

    return CELLS


_LIKE_ROLES = "rbac.authorization.k8s.io/v1", "Role"


@functools.lru_cache(512)  # more kinds than are served at one time; each new version of a definition makes a new kind
def table_of(kind: Kind) -> Layout:
    """Return how tables of a kind look."""
    if kind.definition is not None:
        return Layout(custom_columns(kind.definition))
    cells = _CELLS.get(kind.stored) or _cells_beside().get(kind.stored)
    if cells is None:  # the kinds that no table is made for
        columns = tuple(Column(one, _GENERIC[one["name"]]) for one in definitions_of(*_LIKE_ROLES))
        return Layout(columns, has_empty_rows=False)
    definitions = definitions_of(kind.api_version, kind.kind)
    columns = tuple(Column(one, cells[one["name"]]) for one in definitions)
    conditions = pod_conditions if kind is kinds.POD else None
    return Layout(columns, conditions, order=_by_precedence if kind is FLOW_SCHEMA else None)


def _by_precedence(schema: Object) -> tuple[int, str]:
    """Return the place of a flow schema in tables: that in which requests are matched with it."""
    return value_at(schema, "spec.matchingPrecedence") or 0, schema["metadata"]["name"]
