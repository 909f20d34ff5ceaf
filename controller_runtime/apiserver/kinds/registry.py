# SPDX-License-Identifier: Apache-2.0
"""The built-in kinds, as data.

A kind that is added here is stored, listed, watched and discovered, validated against its recorded schema and
merged by it. Rules that are in no schema are in the package `rules`, by kind. Kinds that users define come on top at
run time; see `custom.py`.
"""

from __future__ import annotations

from functools import partial

from controller_runtime.apiserver.kinds.kind import VERBS, Kind, Kinds

__all__ = ["KINDS", "VERBS", "Kind", "Kinds"]

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
    subresources=_STATUS,
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
    subresources=("status", "binding", "eviction"),
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
LEASE = Kind(
    group="coordination.k8s.io",
    version="v1",
    kind="Lease",
    plural="leases",
    create_on_update=True,
    unconditional_update=False,
)

LEASE_CANDIDATE = Kind(
    group="coordination.k8s.io",
    version="v1beta1",
    kind="LeaseCandidate",
    plural="leasecandidates",
    create_on_update=True,
    unconditional_update=False,
    name_rule="key",
    introduced=33,
    deprecated=36,
    deprecation="coordination.k8s.io/v1beta1 LeaseCandidate is deprecated in v1.36+, unavailable in v1.39+",
)

# The fields of the reference to the object that an event is about.
_ABOUT = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
EVENT = Kind(
    group="",
    version="v1",
    kind="Event",
    plural="events",
    short_names=("ev",),
    create_on_update=True,
    fields={
        **{f"involvedObject.{name}": "" for name in _ABOUT},
        **dict.fromkeys(("reason", "reportingComponent", "source", "type"), ""),
    },
    field_paths={"source": "source.component"},
    names_known_fields=False,
)
# The same objects as `EVENT` under other field names, which `event.py` in `rules` maps.
NEW_EVENT = Kind(
    group="events.k8s.io",
    version="v1",
    kind="Event",
    plural="events",
    short_names=("ev",),
    create_on_update=True,
    fields={
        **{f"regarding.{name}": "" for name in _ABOUT},
        **dict.fromkeys(("reason", "reportingController", "type"), ""),
    },
    field_paths={
        **{f"regarding.{name}": f"involvedObject.{name}" for name in _ABOUT},
        "reportingController": "reportingComponent",
    },
    names_known_fields=False,
    stored_as=EVENT,
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
    subresources=_STATUS,
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

_review = partial(Kind, version="v1", verbs=("create",))
SELF_REVIEW = _review(
    group="authentication.k8s.io", kind="SelfSubjectReview", plural="selfsubjectreviews", namespaced=False
)
TOKEN_REVIEW = _review(group="authentication.k8s.io", kind="TokenReview", plural="tokenreviews", namespaced=False)
_may = partial(_review, group="authorization.k8s.io")
LOCAL_ACCESS_REVIEW = _may(kind="LocalSubjectAccessReview", plural="localsubjectaccessreviews")
SELF_ACCESS_REVIEW = _may(kind="SelfSubjectAccessReview", plural="selfsubjectaccessreviews", namespaced=False)
SELF_RULES_REVIEW = _may(kind="SelfSubjectRulesReview", plural="selfsubjectrulesreviews", namespaced=False)
ACCESS_REVIEW = _may(kind="SubjectAccessReview", plural="subjectaccessreviews", namespaced=False)

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

_rbac = partial(Kind, group="rbac.authorization.k8s.io", version="v1", create_on_update=True, name_rule="path")
CLUSTER_ROLE_BINDING = _rbac(kind="ClusterRoleBinding", plural="clusterrolebindings", namespaced=False)
CLUSTER_ROLE = _rbac(kind="ClusterRole", plural="clusterroles", namespaced=False)
ROLE_BINDING = _rbac(kind="RoleBinding", plural="rolebindings")
ROLE = _rbac(kind="Role", plural="roles")

_hooks = partial(
    Kind,
    group="admissionregistration.k8s.io",
    version="v1",
    namespaced=False,
    categories=("api-extensions",),
    unconditional_update=False,
)
MUTATING_HOOKS = _hooks(kind="MutatingWebhookConfiguration", plural="mutatingwebhookconfigurations")
VALIDATING_HOOKS = _hooks(kind="ValidatingWebhookConfiguration", plural="validatingwebhookconfigurations")
MUTATING_POLICY = _hooks(kind="MutatingAdmissionPolicy", plural="mutatingadmissionpolicies")
MUTATING_POLICY_BINDING = _hooks(kind="MutatingAdmissionPolicyBinding", plural="mutatingadmissionpolicybindings")
VALIDATING_POLICY = _hooks(kind="ValidatingAdmissionPolicy", plural="validatingadmissionpolicies", subresources=_STATUS)
VALIDATING_POLICY_BINDING = _hooks(kind="ValidatingAdmissionPolicyBinding", plural="validatingadmissionpolicybindings")

_CORE = (
    *(CONFIG_MAP, ENDPOINTS, EVENT, LIMIT_RANGE, NAMESPACE, NODE, CLAIM, VOLUME, POD, POD_TEMPLATE),
    *(REPLICATION_CONTROLLER, QUOTA, SECRET, SERVICE_ACCOUNT, SERVICE),
)
_APPS = (CONTROLLER_REVISION, DAEMON_SET, DEPLOYMENT, REPLICA_SET, STATEFUL_SET)
_REVIEWS = (SELF_REVIEW, TOKEN_REVIEW, LOCAL_ACCESS_REVIEW, SELF_ACCESS_REVIEW, SELF_RULES_REVIEW, ACCESS_REVIEW)
_RBAC = (CLUSTER_ROLE_BINDING, CLUSTER_ROLE, ROLE_BINDING, ROLE)

# In the order of a real server's discovery documents.
KINDS = Kinds(
    (
        *_CORE,
        *_APPS,
        NEW_EVENT,
        *_REVIEWS,
        *(CRON_JOB, JOB, INGRESS, DISRUPTION_BUDGET),
        *_RBAC,
        *(MUTATING_POLICY, MUTATING_POLICY_BINDING, MUTATING_HOOKS),
        *(VALIDATING_POLICY, VALIDATING_POLICY_BINDING, VALIDATING_HOOKS),
        DEFINITION,
        LEASE,
        LEASE_CANDIDATE,
    )
)
