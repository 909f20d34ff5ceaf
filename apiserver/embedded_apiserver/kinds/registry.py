# SPDX-License-Identifier: Apache-2.0
"""The built-in kinds, as data.

A kind that is added here is stored, listed, watched and discovered, validated against its recorded schema and
merged by it. Rules that are in no schema are in the package `rules`, by kind. Kinds that users define come on top at
run time; see `custom.py`.
"""

from __future__ import annotations

from functools import partial

from embedded_apiserver.kinds import infrastructure as beside
from embedded_apiserver.kinds.access import (
    ACCESS_REVIEW,
    CLUSTER_ROLE,
    CLUSTER_ROLE_BINDING,
    LOCAL_ACCESS_REVIEW,
    MUTATING_HOOKS,
    MUTATING_POLICY,
    MUTATING_POLICY_BINDING,
    ROLE,
    ROLE_BINDING,
    SELF_ACCESS_REVIEW,
    SELF_REVIEW,
    SELF_RULES_REVIEW,
    TOKEN_REVIEW,
    VALIDATING_HOOKS,
    VALIDATING_POLICY,
    VALIDATING_POLICY_BINDING,
)
from embedded_apiserver.kinds.kind import VERBS, Kind, Kinds
from embedded_apiserver.kinds.records import EVENT, LEASE, LEASE_CANDIDATE, NEW_EVENT, OLD_LEASE_CANDIDATE

__all__ = [
    "ACCESS_REVIEW",
    "CLUSTER_ROLE",
    "CLUSTER_ROLE_BINDING",
    "EVENT",
    "KINDS",
    "LEASE",
    "LEASE_CANDIDATE",
    "LOCAL_ACCESS_REVIEW",
    "MUTATING_HOOKS",
    "MUTATING_POLICY",
    "MUTATING_POLICY_BINDING",
    "NEW_EVENT",
    "OLD_LEASE_CANDIDATE",
    "ROLE",
    "ROLE_BINDING",
    "SELF_ACCESS_REVIEW",
    "SELF_REVIEW",
    "SELF_RULES_REVIEW",
    "TOKEN_REVIEW",
    "VALIDATING_HOOKS",
    "VALIDATING_POLICY",
    "VALIDATING_POLICY_BINDING",
    "VERBS",
    "Kind",
    "Kinds",
]

_STATUS = ("status",)
_SCALED = ("scale", "status")
_ALL = ("all",)

NAMESPACE = Kind(
    group="",
    version="v1",
    kind="Namespace",
    plural="namespaces",
    namespaced=False,
    short_names=("ns",),
    verbs=tuple(verb for verb in VERBS if verb != "deletecollection"),
    subresources=("status", "finalize"),
    deletes_with_object=True,
    name_rule="label",
    fields={"status.phase": ""},
    names_known_fields=False,
)
NODE = Kind(
    group="",
    version="v1",
    kind="Node",
    plural="nodes",
    namespaced=False,
    short_names=("no",),
    subresources=("proxy", "status"),
    fields={"spec.unschedulable": "false"},
    names_known_fields=False,
)
POD = Kind(
    group="",
    version="v1",
    kind="Pod",
    plural="pods",
    short_names=("po",),
    categories=_ALL,
    subresources=(
        *("status", "attach", "binding", "ephemeralcontainers", "eviction", "exec", "log", "portforward", "proxy"),
        "resize",
    ),
    deletes_with_object=True,
    fields={
        "spec.nodeName": "",
        "spec.restartPolicy": "",
        "spec.schedulerName": "",
        "spec.serviceAccountName": "",
        "spec.hostNetwork": "false",
        "status.phase": "",
        "status.podIP": "",
        "status.podIPs": "",
        "status.nominatedNodeName": "",
    },
    names_known_fields=False,
)
DEFINITION = Kind(
    group="apiextensions.k8s.io",
    version="v1",
    kind="CustomResourceDefinition",
    plural="customresourcedefinitions",
    namespaced=False,
    short_names=("crd", "crds"),
    categories=("api-extensions",),
    subresources=_STATUS,
    unconditional_update=False,
    deletes_with_object=True,
)
_core = partial(Kind, group="", version="v1")
CONFIG_MAP = _core(kind="ConfigMap", plural="configmaps", short_names=("cm",))
ENDPOINTS = _core(
    kind="Endpoints",
    plural="endpoints",
    short_names=("ep",),
    create_on_update=True,
    deprecated=33,
    deprecation="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
)
LIMIT_RANGE = _core(kind="LimitRange", plural="limitranges", short_names=("limits",), create_on_update=True)
CLAIM = _core(
    kind="PersistentVolumeClaim",
    plural="persistentvolumeclaims",
    short_names=("pvc",),
    subresources=_STATUS,
    deletes_with_object=True,
)
VOLUME = _core(
    kind="PersistentVolume",
    plural="persistentvolumes",
    namespaced=False,
    short_names=("pv",),
    subresources=_STATUS,
    deletes_with_object=True,
)
POD_TEMPLATE = _core(kind="PodTemplate", plural="podtemplates", deletes_with_object=True)
REPLICATION_CONTROLLER = _core(
    kind="ReplicationController",
    plural="replicationcontrollers",
    short_names=("rc",),
    categories=_ALL,
    subresources=_SCALED,
    fields={"status.replicas": "0"},
    names_known_fields=False,
)
QUOTA = _core(
    kind="ResourceQuota",
    plural="resourcequotas",
    short_names=("quota",),
    subresources=_STATUS,
    deletes_with_object=True,
)
SECRET = _core(kind="Secret", plural="secrets", fields={"type": ""}, names_known_fields=False)
SERVICE_ACCOUNT = _core(
    kind="ServiceAccount",
    plural="serviceaccounts",
    short_names=("sa",),
    subresources=("token",),
    deletes_with_object=True,
)
SERVICE = _core(
    kind="Service",
    plural="services",
    short_names=("svc",),
    categories=_ALL,
    subresources=("proxy", "status"),
    create_on_update=True,
    deletes_with_object=True,
    name_rule="label",
    fields={"spec.clusterIP": "", "spec.type": ""},
    names_known_fields=False,
)

_apps = partial(Kind, group="apps", version="v1")
CONTROLLER_REVISION = _apps(kind="ControllerRevision", plural="controllerrevisions")
DAEMON_SET = _apps(kind="DaemonSet", plural="daemonsets", short_names=("ds",), categories=_ALL, subresources=_STATUS)
DEPLOYMENT = _apps(
    kind="Deployment", plural="deployments", short_names=("deploy",), categories=_ALL, subresources=_SCALED
)
REPLICA_SET = _apps(kind="ReplicaSet", plural="replicasets", short_names=("rs",), categories=_ALL, subresources=_SCALED)
STATEFUL_SET = _apps(
    kind="StatefulSet",
    plural="statefulsets",
    short_names=("sts",),
    categories=_ALL,
    subresources=_SCALED,
    name_rule="label",
)

_batch = partial(Kind, group="batch", version="v1", categories=_ALL, subresources=_STATUS)
CRON_JOB = _batch(kind="CronJob", plural="cronjobs", short_names=("cj",))
JOB = _batch(
    kind="Job", plural="jobs", fields={"status.successful": "0"}, field_paths={"status.successful": "status.succeeded"}
)

INGRESS = Kind(
    group="networking.k8s.io",
    version="v1",
    kind="Ingress",
    plural="ingresses",
    short_names=("ing",),
    subresources=_STATUS,
)

DISRUPTION_BUDGET = Kind(
    group="policy",
    version="v1",
    kind="PodDisruptionBudget",
    plural="poddisruptionbudgets",
    short_names=("pdb",),
    subresources=_STATUS,
    unconditional_update=False,
    name_rule="path",
)

BINDING = Kind(group="", version="v1", kind="Binding", plural="bindings", verbs=("create",))

_CORE = (
    *(BINDING, beside.COMPONENT_STATUS, CONFIG_MAP, ENDPOINTS, EVENT, LIMIT_RANGE, NAMESPACE, NODE, CLAIM, VOLUME),
    *(POD, POD_TEMPLATE, REPLICATION_CONTROLLER, QUOTA, SECRET, SERVICE_ACCOUNT, SERVICE),
)
_APPS = (CONTROLLER_REVISION, DAEMON_SET, DEPLOYMENT, REPLICA_SET, STATEFUL_SET)
_REVIEWS = (SELF_REVIEW, TOKEN_REVIEW, LOCAL_ACCESS_REVIEW, SELF_ACCESS_REVIEW, SELF_RULES_REVIEW, ACCESS_REVIEW)
_NETWORK = (beside.INGRESS_CLASS, INGRESS, beside.IP_ADDRESS, beside.NETWORK_POLICY, beside.SERVICE_CIDR)
_RBAC = (CLUSTER_ROLE_BINDING, CLUSTER_ROLE, ROLE_BINDING, ROLE)
_STORAGE = (
    *(beside.CSI_DRIVER, beside.CSI_NODE, beside.CSI_CAPACITY, beside.STORAGE_CLASS),
    *(beside.ATTACHMENT, beside.ATTRIBUTES_CLASS),
)
_DEVICES = (beside.DEVICE_CLASS, beside.RESOURCE_CLAIM, beside.RESOURCE_CLAIM_TEMPLATE, beside.RESOURCE_SLICE)

# In the order of a real server's discovery documents.
KINDS = Kinds(
    (
        *_CORE,
        beside.API_SERVICE,
        *_APPS,
        NEW_EVENT,
        *_REVIEWS,
        *(beside.AUTOSCALER, beside.OLD_AUTOSCALER, CRON_JOB, JOB, beside.SIGNING_REQUEST),
        *_NETWORK,
        DISRUPTION_BUDGET,
        *_RBAC,
        *_STORAGE,
        *(MUTATING_POLICY, MUTATING_POLICY_BINDING, MUTATING_HOOKS),
        *(VALIDATING_POLICY, VALIDATING_POLICY_BINDING, VALIDATING_HOOKS),
        *(DEFINITION, beside.PRIORITY_CLASS, LEASE, LEASE_CANDIDATE, OLD_LEASE_CANDIDATE),
        *(beside.RUNTIME_CLASS, beside.ENDPOINT_SLICE),
        *_DEVICES,
        *(beside.FLOW_SCHEMA, beside.PRIORITY_LEVEL),
    )
)
