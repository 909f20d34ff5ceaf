# SPDX-License-Identifier: Apache-2.0
"""The kinds that are asked for, each with a valid body and with the fields that a status write may have."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import attrs

POD_SPEC: dict[str, Any] = {"containers": [{"name": "c", "image": "i"}]}
TEMPLATE: dict[str, Any] = {"metadata": {"labels": {"app": "a"}}, "spec": POD_SPEC}
SELECTOR = {"matchLabels": {"app": "a"}}
TIME, MICRO = "2001-02-03T04:05:06Z", "2001-02-03T04:05:06.000007Z"
CONDITION = {"type": "Ready", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": TIME}


@attrs.frozen
class Sample:
    """A kind, and what its objects look like.

    Attributes:
        group: The API group; empty for the core group.
        version: The version.
        plural: The name in paths.
        kind: The kind.
        weight: How often it is asked for.
        body: A valid object without a name.
        status: A valid status; None where the kind has no such subresource.
        namespaced: Whether its objects are in a namespace.
        scale: Whether it has a scale.
        rich: Further fields of the spec, or of the object if it has none, each valid alone.
    """

    group: str
    version: str
    plural: str
    kind: str
    weight: int
    body: Mapping[str, Any]
    status: Mapping[str, Any] | None = None
    namespaced: bool = True
    scale: bool = False
    rich: Mapping[str, Any] = {}

    @property
    def api_version(self) -> str:
        """The apiVersion of its objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def collection(self) -> str:
        """The path of the collection."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        return f"{root}/namespaces/{{ns}}/{self.plural}" if self.namespaced else f"{root}/{self.plural}"

    def object(self, name: str) -> dict[str, Any]:
        """Return a valid object."""
        metadata = {"name": name, "labels": {"app": "a"}}
        return {"apiVersion": self.api_version, "kind": self.kind, "metadata": metadata, **copy.deepcopy(self.body)}


WORKLOAD = {"selector": SELECTOR, "template": TEMPLATE}
SAMPLES = (
    Sample("", "v1", "configmaps", "ConfigMap", 8, {"data": {"a": "b"}}, rich={"binaryData": {"b": "AA=="}, "immutable": True}),
    Sample("", "v1", "secrets", "Secret", 4, {"data": {"a": "Yg=="}}, rich={"stringData": {"s": "t"}, "type": "example.com/t", "immutable": False}),
    Sample(
        *("", "v1", "pods", "Pod", 10, {"spec": POD_SPEC}),
        {"phase": "Running", "conditions": [CONDITION], "podIP": "10.1.2.3"},
        rich={
            "nodeName": "n", "restartPolicy": "Never", "hostNetwork": True, "schedulingGates": [{"name": "example.com/g"}],
            "tolerations": [{"key": "a", "operator": "Exists"}], "nodeSelector": {"a": "b"}, "priorityClassName": "system-node-critical",
            "volumes": [{"name": "v", "emptyDir": {}}], "terminationGracePeriodSeconds": 0, "serviceAccountName": "sa",
            "initContainers": [{"name": "i", "image": "i", "restartPolicy": "Always"}], "activeDeadlineSeconds": 5,
        },
    ),
    Sample(
        *("", "v1", "services", "Service", 5, {"spec": {"selector": {"app": "a"}, "ports": [{"port": 80}]}}),
        {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}},
        rich={"type": "NodePort", "clusterIP": "None", "sessionAffinity": "ClientIP", "externalName": "a.example.com", "externalIPs": ["1.2.3.4"]},
    ),
    Sample("", "v1", "serviceaccounts", "ServiceAccount", 2, {}, rich={"secrets": [{"name": "s"}], "automountServiceAccountToken": False}),
    Sample("", "v1", "endpoints", "Endpoints", 1, {"subsets": [{"addresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 80}]}]}),
    Sample("", "v1", "events", "Event", 3, {"involvedObject": {"kind": "Pod", "name": "p", "namespace": "{ns}"}, "reason": "R", "message": "m", "type": "Normal"}, rich={"count": 2, "firstTimestamp": TIME, "source": {"component": "c"}}),
    Sample("", "v1", "limitranges", "LimitRange", 1, {"spec": {"limits": [{"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}}]}}),
    Sample("", "v1", "resourcequotas", "ResourceQuota", 1, {"spec": {"hard": {"replicationcontrollers": "9"}}}, {"hard": {"replicationcontrollers": "9"}, "used": {"replicationcontrollers": "0"}}, rich={"scopes": ["Terminating"]}),
    Sample("", "v1", "podtemplates", "PodTemplate", 1, {"template": TEMPLATE}),
    Sample("", "v1", "replicationcontrollers", "ReplicationController", 2, {"spec": {"selector": {"app": "a"}, "template": TEMPLATE}}, {"replicas": 1, "readyReplicas": 1}, scale=True, rich={"replicas": 2, "minReadySeconds": 0}),
    Sample("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", 2, {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}, {"phase": "Bound", "capacity": {"storage": "1Gi"}}, rich={"volumeName": "v", "storageClassName": "s"}),
    Sample("", "v1", "persistentvolumes", "PersistentVolume", 2, {"spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/p"}}}, {"phase": "Bound"}, namespaced=False, rich={"claimRef": {"name": "c", "namespace": "{ns}"}, "storageClassName": "s"}),
    Sample("", "v1", "nodes", "Node", 8, {"spec": {}}, {"conditions": [CONDITION], "capacity": {"cpu": "4", "memory": "8Gi"}}, namespaced=False, rich={"unschedulable": True, "podCIDR": "10.1.0.0/24", "providerID": "x://y", "taints": [{"key": "k", "effect": "NoSchedule"}]}),
    Sample("", "v1", "namespaces", "Namespace", 3, {}, {"phase": "Active"}, namespaced=False),
    Sample("apps", "v1", "deployments", "Deployment", 7, {"spec": WORKLOAD}, {"replicas": 1, "conditions": [{**CONDITION, "type": "Available"}]}, scale=True, rich={"replicas": 2, "minReadySeconds": 3, "paused": True, "strategy": {"type": "Recreate"}, "revisionHistoryLimit": 1}),
    Sample("apps", "v1", "replicasets", "ReplicaSet", 4, {"spec": WORKLOAD}, {"replicas": 1, "readyReplicas": 1}, scale=True, rich={"replicas": 2, "minReadySeconds": 3}),
    Sample("apps", "v1", "statefulsets", "StatefulSet", 5, {"spec": {**WORKLOAD, "serviceName": "s"}}, {"replicas": 1}, scale=True, rich={"replicas": 2, "podManagementPolicy": "Parallel", "updateStrategy": {"type": "OnDelete"}, "volumeClaimTemplates": [{"metadata": {"name": "d"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}]}),
    Sample("apps", "v1", "daemonsets", "DaemonSet", 2, {"spec": WORKLOAD}, {"currentNumberScheduled": 1, "numberMisscheduled": 0, "desiredNumberScheduled": 1, "numberReady": 0}, rich={"minReadySeconds": 3, "updateStrategy": {"type": "OnDelete"}}),
    Sample("apps", "v1", "controllerrevisions", "ControllerRevision", 1, {"data": {"a": "b"}, "revision": 1}),
    Sample("batch", "v1", "jobs", "Job", 3, {"spec": {"template": {"spec": {**POD_SPEC, "restartPolicy": "Never"}}}}, {"active": 1, "startTime": TIME}, rich={"parallelism": 2, "completions": 2, "backoffLimit": 0, "suspend": True, "ttlSecondsAfterFinished": 5}),
    Sample("batch", "v1", "cronjobs", "CronJob", 2, {"spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": {"spec": {**POD_SPEC, "restartPolicy": "OnFailure"}}}}}}, {"lastScheduleTime": TIME}, rich={"suspend": True, "timeZone": "Etc/UTC", "concurrencyPolicy": "Forbid"}),
    Sample("networking.k8s.io", "v1", "ingresses", "Ingress", 1, {"spec": {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}}, {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}}, rich={"ingressClassName": "x", "tls": [{"hosts": ["a.example.com"]}]}),
    Sample("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", 3, {"spec": {"minAvailable": 1, "selector": SELECTOR}}, {"currentHealthy": 1, "desiredHealthy": 1, "disruptionsAllowed": 1, "expectedPods": 1}, rich={"unhealthyPodEvictionPolicy": "AlwaysAllow"}),
    Sample("rbac.authorization.k8s.io", "v1", "roles", "Role", 1, {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}),
    Sample("rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", 1, {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"}}, rich={"subjects": [{"kind": "User", "name": "u"}]}),
    Sample("rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", 1, {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}, namespaced=False),
    Sample("rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", 1, {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}}, namespaced=False, rich={"subjects": [{"kind": "ServiceAccount", "name": "u", "namespace": "x"}]}),
    Sample("coordination.k8s.io", "v1", "leases", "Lease", 8, {"spec": {"holderIdentity": "h"}}, rich={"leaseDurationSeconds": 15, "renewTime": MICRO, "leaseTransitions": 1, "acquireTime": MICRO}),
    Sample("coordination.k8s.io", "v1beta1", "leasecandidates", "LeaseCandidate", 2, {"spec": {"leaseName": "l", "binaryVersion": "1.30.0", "strategy": "OldestEmulationVersion", "emulationVersion": "1.30.0"}}, rich={"renewTime": MICRO, "pingTime": MICRO}),
    Sample("events.k8s.io", "v1", "events", "Event", 2, {"eventTime": MICRO, "reportingController": "example.com/c", "reportingInstance": "i", "action": "A", "reason": "R", "type": "Normal", "regarding": {"kind": "Pod", "name": "p", "namespace": "{ns}"}}, rich={"note": "n", "series": {"count": 2, "lastObservedTime": MICRO}}),
)  # fmt: skip
