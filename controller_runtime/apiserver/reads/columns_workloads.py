# SPDX-License-Identifier: Apache-2.0
"""The columns of workloads and all remaining kinds, and the table from each kind to its columns."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import attrs

from controller_runtime.apiserver.kinds import registry as kinds
from controller_runtime.apiserver.kinds.kind import Kind
from controller_runtime.apiserver.kinds.parts import SCALE
from controller_runtime.apiserver.reads.ages import short_duration
from controller_runtime.apiserver.reads.columns import (
    AGE,
    NAME,
    NONE,
    Cell,
    Column,
    age_of,
    at,
    count_of,
    labels_at,
    listed,
    of,
    selector_at,
    value_at,
)
from controller_runtime.apiserver.reads.columns_custom import custom_columns
from controller_runtime.apiserver.reads.columns_nodes import EVENTS, LEASE_CANDIDATES, LEASES, NAMESPACES, NODES
from controller_runtime.apiserver.reads.columns_pods import PODS
from controller_runtime.apiserver.reads.columns_storage import CLAIMS, QUOTAS, VOLUMES
from controller_runtime.apiserver.rules.rules import Object, part


def _ready(obj: Object) -> str:
    return f"{value_at(obj, 'status.readyReplicas') or 0}/{value_at(obj, 'spec.replicas') or 0}"


def _containers(key: str, place: str) -> Cell:
    path = f"{place}.spec.containers"
    return of(lambda obj: ",".join(str(one.get(key, "")) for one in value_at(obj, path) or ()))


def _pods_of(place: str = "spec.template") -> tuple[Column, ...]:
    return (
        Column("Containers", _containers("name", place), "The containers of its pods.", is_wide=True),
        Column("Images", _containers("image", place), "The images of these containers.", is_wide=True),
    )


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


_CREATED = Column("Created At", at("metadata.creationTimestamp", ""), "When it was created.", type="date")
_GENERIC = (NAME, _CREATED)
_BINDING_TABLE = (
    NAME,
    Column("Role", of(lambda obj: f"{obj['roleRef'].get('kind')}/{obj['roleRef'].get('name')}"), "The role."),
    AGE,
    Column("Users", _subjects("User"), "The users with the role.", is_wide=True),
    Column("Groups", _subjects("Group"), "The groups with the role.", is_wide=True),
    Column("ServiceAccounts", _subjects("ServiceAccount"), "The service accounts with it.", is_wide=True),
)
_SELECTOR = Column("Selector", selector_at("spec.selector"), "The selector of its pods.", is_wide=True)

_REPLICAS = (
    NAME,
    Column("Desired", at("spec.replicas", 0), "How many pods there should be.", type="integer"),
    Column("Current", at("status.replicas", 0), "How many there are.", type="integer"),
    Column("Ready", at("status.readyReplicas", 0), "How many are ready.", type="integer"),
    AGE,
)
_TABLES: Mapping[Kind, tuple[Column, ...]] = {
    kinds.NODE: NODES,
    kinds.POD: PODS,
    kinds.LEASE: LEASES,
    kinds.LEASE_CANDIDATE: LEASE_CANDIDATES,
    kinds.NAMESPACE: NAMESPACES,
    kinds.EVENT: EVENTS,
    kinds.CONFIG_MAP: (NAME, Column("Data", count_of("data", "binaryData"), "How many entries it has."), AGE),
    kinds.SECRET: (
        NAME,
        Column("Type", at("type", ""), "The type of the secret."),
        Column("Data", count_of("data"), "How many entries it has."),
        AGE,
    ),
    kinds.SERVICE_ACCOUNT: (NAME, AGE),
    kinds.SERVICE: (
        NAME,
        Column("Type", at("spec.type", ""), "The type of the service."),
        Column("Cluster-IP", at("spec.clusterIP"), "Its address inside the cluster."),
        Column("External-IP", of(_external), "Its addresses outside the cluster."),
        Column("Port(s)", of(_ports), "Its ports."),
        AGE,
        Column("Selector", labels_at("spec.selector"), "The selector of the pods behind it.", is_wide=True),
    ),
    kinds.ENDPOINTS: (NAME, Column("Endpoints", of(_endpoints), "The addresses of the endpoints."), AGE),
    kinds.CLAIM: CLAIMS,
    kinds.VOLUME: VOLUMES,
    kinds.QUOTA: QUOTAS,
    kinds.POD_TEMPLATE: (
        NAME,
        *(attrs.evolve(column, is_wide=False) for column in _pods_of("template")),
        Column("Pod Labels", labels_at("template.metadata.labels"), "The labels of its pods."),
    ),
    kinds.REPLICATION_CONTROLLER: (
        *_REPLICAS,
        *_pods_of(),
        Column("Selector", labels_at("spec.selector"), "The labels of its pods.", is_wide=True),
    ),
    kinds.DEPLOYMENT: (
        NAME,
        Column("Ready", of(_ready), "How many of its pods are ready."),
        Column("Up-to-date", at("status.updatedReplicas", 0), "How many of its pods are of the newest template."),
        Column("Available", at("status.availableReplicas", 0), "How many have been ready for long enough."),
        AGE,
        *_pods_of(),
        _SELECTOR,
    ),
    kinds.REPLICA_SET: (*_REPLICAS, *_pods_of(), _SELECTOR),
    kinds.STATEFUL_SET: (NAME, Column("Ready", of(_ready), "How many of its pods are ready."), AGE, *_pods_of()),
    kinds.DAEMON_SET: (
        NAME,
        Column("Desired", at("status.desiredNumberScheduled", 0), "On how many nodes it should run.", type="integer"),
        Column("Current", at("status.currentNumberScheduled", 0), "On how many nodes it runs.", type="integer"),
        Column("Ready", at("status.numberReady", 0), "How many of its pods are ready.", type="integer"),
        Column("Up-to-date", at("status.updatedNumberScheduled", 0), "How many are up to date.", type="integer"),
        Column("Available", at("status.numberAvailable", 0), "How many are available.", type="integer"),
        Column("Node Selector", labels_at("spec.template.spec.nodeSelector"), "The labels of its nodes."),
        AGE,
        *_pods_of(),
        _SELECTOR,
    ),
    kinds.CONTROLLER_REVISION: (
        NAME,
        Column("Controller", of(_owner), "The workload that the revision belongs to."),
        Column("Revision", at("revision", 0), "The number of the revision."),
        AGE,
    ),
    kinds.JOB: (
        NAME,
        Column("Status", of(_job_status), "The state of the job in a word."),
        Column("Completions", of(_completions), "How many of its pods have succeeded."),
        Column("Duration", _took, "How long it took, or has taken so far."),
        AGE,
        *_pods_of(),
        _SELECTOR,
    ),
    kinds.CRON_JOB: (
        NAME,
        Column("Schedule", at("spec.schedule", ""), "The schedule, as for cron."),
        Column("Timezone", at("spec.timeZone"), "The time zone of the schedule."),
        Column(
            "Suspend", of(lambda job: str(bool(value_at(job, "spec.suspend")))), "Whether it is paused.", type="boolean"
        ),
        Column("Active", count_of("status.active"), "How many of its jobs run.", type="integer"),
        Column("Last Schedule", _last_schedule, "The age of its last job."),
        AGE,
        *_pods_of("spec.jobTemplate.spec.template"),
        attrs.evolve(_SELECTOR, cell=selector_at("spec.jobTemplate.spec.selector")),
    ),
    kinds.DISRUPTION_BUDGET: (
        NAME,
        Column("Min Available", at("spec.minAvailable", "N/A"), "How many pods must stay available."),
        Column("Max Unavailable", at("spec.maxUnavailable", "N/A"), "How many may be unavailable."),
        Column("Allowed Disruptions", at("status.disruptionsAllowed", 0), "How many may go now.", type="integer"),
        AGE,
    ),
    kinds.INGRESS: (
        NAME,
        Column("Class", at("spec.ingressClassName"), "The class of its controller."),
        Column("Hosts", of(_hosts), "The hosts that are routed."),
        Column("Address", of(_addresses), "The addresses of the load balancer."),
        Column("Ports", of(lambda ingress: "80, 443" if value_at(ingress, "spec.tls") else "80"), "Its ports."),
        AGE,
    ),
    SCALE: (
        NAME,
        Column("Desired", at("spec.replicas", 0), "How many pods there should be.", type="integer"),
        Column("Available", at("status.replicas", 0), "How many there are.", type="integer"),
        AGE,
    ),
    kinds.ROLE_BINDING: _BINDING_TABLE,
    kinds.CLUSTER_ROLE_BINDING: _BINDING_TABLE,
}


def columns_of(kind: Kind) -> tuple[Column, ...]:
    """Return the columns of a kind."""
    if kind.definition is not None:
        return custom_columns(kind.definition)
    return _TABLES.get(kind.stored, _GENERIC)
