# SPDX-License-Identifier: Apache-2.0
"""Objects of the built-in kinds as users write them, and the edits of them that real servers were asked about."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from apimachinery.schema import Schema
from embedded_apiserver.groups.coordination.kinds import LEASE
from embedded_apiserver.groups.core.kinds import (
    CONFIG_MAP,
    ENDPOINTS,
    LIMIT_RANGE,
    NAMESPACE,
    NODE,
    QUOTA,
    SECRET,
    SERVICE,
    SERVICE_ACCOUNT,
)
from embedded_apiserver.groups.events.kinds import EVENT, NEW_EVENT
from embedded_apiserver.groups.networking.kinds import INGRESS
from embedded_apiserver.groups.pods.kinds import CLAIM, POD, POD_TEMPLATE
from embedded_apiserver.groups.policy.kinds import DISRUPTION_BUDGET
from embedded_apiserver.groups.rbac.kinds import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING
from embedded_apiserver.groups.storage.kinds import VOLUME
from embedded_apiserver.groups.workloads.kinds import (
    CONTROLLER_REVISION,
    CRON_JOB,
    DAEMON_SET,
    DEPLOYMENT,
    JOB,
    REPLICA_SET,
    REPLICATION_CONTROLLER,
    STATEFUL_SET,
)
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.typed.values import reader_for

Object = dict[str, Any]
PROTECTED = ("kubernetes.io/pv-protection", "kubernetes.io/pvc-protection")
LABELS = {"app": "a"}
CONTAINER = {
    "name": "c",
    "image": "i",
    "env": [
        {"name": "A", "value": "b"},
        {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        {"name": "D", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
    ],
    "ports": [{"containerPort": 80}],
    "resources": {"limits": {"cpu": "0.5", "memory": "1024Mi"}},
    "livenessProbe": {"httpGet": {"port": 80, "httpHeaders": [{"name": "a", "value": "b"}]}},
    "readinessProbe": {"tcpSocket": {"port": "http"}, "initialDelaySeconds": 1},
    "startupProbe": {"grpc": {"port": 80}},
    "lifecycle": {"preStop": {"httpGet": {"port": 80}}},
    "securityContext": {"capabilities": {"add": ["A"]}},
    "volumeMounts": [{"name": "v", "mountPath": "/v"}],
}
CLAIM_SPEC = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}
POD_SPEC = {
    "containers": [CONTAINER],
    "initContainers": [{"name": "i", "image": "i:1", "resources": {"requests": {"cpu": 1}}}],
    "serviceAccountName": "sa",
    "securityContext": {"sysctls": [{"name": "a.b", "value": "c"}]},
    "tolerations": [{"key": "a", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "a", "operator": "Exists"}]}
    ]}}},
    "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "z", "whenUnsatisfiable": "DoNotSchedule"}],
    "volumes": [
        {"name": "v"},
        {"name": "a", "configMap": {"name": "c", "items": [{"key": "a", "path": "b"}]}},
        {"name": "b", "secret": {"secretName": "s"}},
        {"name": "c", "hostPath": {"path": "/p"}},
        {"name": "d", "emptyDir": {"sizeLimit": "1.5Gi"}},
        {"name": "e", "downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        {"name": "f", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}, {"configMap": {"name": "c"}}]}},
        {"name": "g", "persistentVolumeClaim": {"claimName": "c"}},
        {"name": "h", "ephemeral": {"volumeClaimTemplate": {"spec": CLAIM_SPEC}}},
        {"name": "i", "iscsi": {"targetPortal": "1.2.3.4", "iqn": "iqn.2001-04.com.example:a", "lun": 0}},
        {"name": "j", "azureDisk": {"diskName": "d", "diskURI": "https://blob/d"}},
        {"name": "k", "csi": {"driver": "d.example.com"}},
        {"name": "l", "nfs": {"server": "s", "path": "/p"}},
        {"name": "m", "rbd": {"monitors": ["m"], "image": "i"}},
    ],
}  # fmt: skip
# Everything that a pod can have is asked about in pods; other kinds have the same parts.
SMALL = {"containers": [{"name": "c", "image": "i:1", "resources": {"limits": {"cpu": "0.5"}}}]}
ONCE = {**SMALL, "restartPolicy": "Never"}
TEMPLATE = {"metadata": {"labels": LABELS}, "spec": SMALL}
CHOSEN = {"selector": {"matchLabels": LABELS}, "template": TEMPLATE}
PORTS = {"ports": [{"port": 80, "protocol": "TCP"}], "selector": LABELS}
BACKEND = {"service": {"name": "s", "port": {"number": 80}}}
INVOLVED = {"kind": "Pod", "namespace": "default", "name": "p"}
ROLE_REF = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"}
RULE = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
VOLUME_SPEC = {"capacity": {"storage": "1024Mi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/p"}}
CAPACITY = {"capacity": {"cpu": 0.5, "memory": "1024Ki"}, "conditions": [{"type": "Ready", "status": "True"}]}
TAINTED = {"taints": [{"key": "a", "effect": "NoSchedule"}], "podCIDR": "10.1.0.0/24"}
LIMIT = {"type": "Container", "max": {"cpu": "2"}, "default": {"memory": "1024Mi"}, "min": {"cpu": "0.1"}}
SAMPLES: tuple[tuple[Kind, Object], ...] = (
    (POD, {"spec": POD_SPEC}),
    (POD, {"spec": {"containers": [{**CONTAINER, "volumeMounts": []}], "hostNetwork": True}}),
    (POD, {"spec": {"containers": [{"name": "c", "image": "i"}], "schedulingGates": [{"name": "a.b/c"}]}}),
    (POD_TEMPLATE, {"template": TEMPLATE}),
    (REPLICATION_CONTROLLER, {"spec": {"template": TEMPLATE}}),
    (DEPLOYMENT, {"spec": CHOSEN}),
    (DEPLOYMENT, {"spec": {**CHOSEN, "strategy": {"rollingUpdate": {"maxSurge": 2}}}}),
    (DEPLOYMENT, {"spec": {**CHOSEN, "strategy": {"type": "Recreate"}}}),
    (REPLICA_SET, {"spec": CHOSEN}),
    (DAEMON_SET, {"spec": {**CHOSEN, "updateStrategy": {"type": "OnDelete"}}}),
    (DAEMON_SET, {"metadata": {"annotations": {"a": "b"}}, "spec": CHOSEN}),
    (STATEFUL_SET, {"spec": {**CHOSEN, "volumeClaimTemplates": [{"metadata": {"name": "v2"}, "spec": CLAIM_SPEC}]}}),
    (STATEFUL_SET, {"spec": {**CHOSEN, "updateStrategy": {"type": "RollingUpdate"}}}),
    (JOB, {"spec": {"template": {"spec": ONCE}}}),
    (JOB, {"spec": {"template": {"metadata": {"labels": LABELS}, "spec": ONCE}, "completions": 2}}),
    (JOB, {"spec": {"template": {"spec": ONCE}, "completions": 2, "completionMode": "Indexed",
                          "backoffLimitPerIndex": 1, "podFailurePolicy": {"rules": [
                              {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}}}),
    (CRON_JOB, {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": ONCE}}}}}),
    (SERVICE, {"spec": PORTS}),
    (SERVICE, {"spec": {**PORTS, "type": "NodePort"}}),
    (SERVICE, {"spec": {**PORTS, "type": "LoadBalancer", "sessionAffinity": "ClientIP"}}),
    (SERVICE, {"spec": {**PORTS, "type": "LoadBalancer", "externalTrafficPolicy": "Local"}}),
    (SERVICE, {"spec": {**PORTS, "clusterIP": "None"}}),
    (SERVICE, {"spec": {"ports": [{"port": 80}], "clusterIP": "None"}}),
    (SERVICE, {"spec": {"type": "ExternalName", "externalName": "a.b"}}),
    (SERVICE, {"spec": {**PORTS, "externalIPs": ["1.2.3.4"]}}),
    (ENDPOINTS, {"subsets": [{"addresses": [{"ip": "1.2.3.4"}], "ports": [{"port": 80}]}]}),
    (CONFIG_MAP, {"data": {"a": "b"}, "binaryData": {"b": "YQ=="}}),
    (SECRET, {"data": {"a": "YQ==\n"}, "stringData": {"b": "c"}}),
    (SERVICE_ACCOUNT, {"secrets": [{"name": "s"}], "imagePullSecrets": [{"name": "s"}]}),
    (LIMIT_RANGE, {"spec": {"limits": [LIMIT, {"type": "Pod", "max": {"cpu": "2"}}]}}),
    (QUOTA, {"spec": {"hard": {"pods": "10", "requests.cpu": 1.5}, "scopes": ["NotTerminating"]}}),
    (CLAIM, {"spec": CLAIM_SPEC}),
    (CLAIM, {"spec": {**CLAIM_SPEC, "dataSource": {"kind": "PersistentVolumeClaim", "name": "c"}}}),
    (VOLUME, {"spec": VOLUME_SPEC}),
    (NODE, {"spec": TAINTED, "status": CAPACITY}),
    (NAMESPACE, {}),
    (EVENT, {"involvedObject": INVOLVED, "reason": "R", "message": "m", "type": "Normal"}),
    (NEW_EVENT, {"regarding": INVOLVED, "reason": "R", "action": "A", "type": "Normal", "note": "n",
                       "reportingController": "a.b/c", "reportingInstance": "i",
                       "eventTime": "2026-01-01T00:00:00.000000Z"}),
    (LEASE, {"spec": {"holderIdentity": "h", "renewTime": "2026-01-01T00:00:00.000000Z"}}),
    (CONTROLLER_REVISION, {"revision": 1, "data": {"a": 1}}),
    (INGRESS, {"spec": {"defaultBackend": BACKEND, "rules": [
        {"http": {"paths": [{"pathType": "Prefix", "path": "/", "backend": BACKEND}]}}]}}),
    (DISRUPTION_BUDGET, {"spec": {"minAvailable": 1, "selector": {"matchLabels": LABELS}}}),
    (ROLE, {"rules": [RULE]}),
    (CLUSTER_ROLE, {"rules": [RULE]}),
    (CLUSTER_ROLE, {}),
    (ROLE_BINDING, {"roleRef": ROLE_REF, "subjects": [{"kind": "User", "name": "u"}]}),
    (CLUSTER_ROLE_BINDING, {"roleRef": ROLE_REF, "subjects": [
        {"kind": "ServiceAccount", "name": "s", "namespace": "n"}]}),
)  # fmt: skip
# Answers of a real server that are not worth having: it stores a limit of 0 only where it is not read, and an event's
# empty reference.
DIFFERENT = ("9 daemonsets spec.updateStrategy.rollingUpdate={}", "related={}")
ZEROS = {"string": "", "boolean": False, "integer": 0, "array": [], "object": {}}


class Case(NamedTuple):
    """An object to create: a sample, in which one field may have another value."""

    kind: Kind
    body: Object
    name: str
    sample: int


def cases() -> Iterator[Case]:
    """Yield each sample, and each sample with one field of one of its parts empty, zero or null."""
    for number, (kind, sample) in enumerate(SAMPLES):
        whole = {"apiVersion": kind.api_version, "kind": kind.kind, **sample}
        whole["metadata"] = {"name": "o", **sample.get("metadata", {})}
        yield Case(kind, whole, f"{number} {kind.plural}", number)
        for path, value in _edits(kind.schema, whole, ()):
            body = copy.deepcopy(whole)
            inner: Any = body
            for step in path[:-1]:
                inner = inner[step]
            inner[path[-1]] = value
            name = f"{number} {kind.plural} {'.'.join(map(str, path))}={json.dumps(value)}"
            if not name.endswith(DIFFERENT):
                yield Case(kind, body, name, number)


def _edits(schema: Schema, value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if isinstance(value, list):
        for index, item in enumerate(value if schema.items else ()):
            yield from _edits(schema.items, item, (*path, index))
    elif isinstance(value, dict) and schema.properties and reader_for(schema) is None:
        for name, child in schema.properties.items():
            if name == "managedFields" or (path == () and name in ("apiVersion", "kind", "metadata")):
                continue
            place = (*path, name)
            if name in value:
                yield place, None
                yield from _edits(child, value[name], place)
            if child.type in ZEROS and value.get(name) != ZEROS[child.type]:
                yield place, ZEROS[child.type]


def comparable(answer: Object) -> Object:
    """Return a stored object without what differs from server to server: uid, times, addresses and ports."""
    metadata = answer["metadata"]
    text = json.dumps(answer).replace(metadata.get("uid", "<none>"), "<uid>")
    text = text.replace(metadata.get("creationTimestamp", "<none>"), "<now>")
    text = re.sub(r'"10\.0\.\d+\.\d+"', '"<ip>"', text)
    text = re.sub(r'([nN]odePort"): \d+', r"\1: 1", text)
    made: Object = json.loads(text)
    entries = made["metadata"].pop("managedFields", [])
    made["metadata"]["managedFields"] = [{**entry, "manager": "m", "time": "<now>"} for entry in entries]
    kept = [name for name in made["metadata"].pop("finalizers", []) if name not in PROTECTED]
    return {**made, "metadata": {**made["metadata"], "finalizers": kept, "namespace": "n", "resourceVersion": ""}}
