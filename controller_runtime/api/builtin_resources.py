# SPDX-License-Identifier: Apache-2.0
"""Resources of Kubernetes' built-in kinds that controllers of users work with.

Those that this library uses itself are in `resources`. Every other kind is found by `Client.resource`, or constructed.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from controller_runtime.api import resources
from controller_runtime.api.resources import Resource

if TYPE_CHECKING:  # see `resources`
    from kubernetes.client import (
        V1ClusterRole,
        V1ClusterRoleBinding,
        V1ConfigMap,
        V1CronJob,
        V1CustomResourceDefinition,
        V1DaemonSet,
        V1Deployment,
        V1EndpointSlice,
        V1Ingress,
        V1IngressClass,
        V1Job,
        V1LimitRange,
        V1MutatingWebhookConfiguration,
        V1NetworkPolicy,
        V1PersistentVolume,
        V1PersistentVolumeClaim,
        V1PodDisruptionBudget,
        V1PriorityClass,
        V1ReplicaSet,
        V1ResourceQuota,
        V1Role,
        V1RoleBinding,
        V1Secret,
        V1Service,
        V1ServiceAccount,
        V1StatefulSet,
        V1StorageClass,
        V1ValidatingWebhookConfiguration,
        V2HorizontalPodAutoscaler,
    )

CLUSTER_ROLES: Resource[V1ClusterRole] = Resource(
    "rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", False, "kubernetes.client:V1ClusterRole"
)
CLUSTER_ROLE_BINDINGS: Resource[V1ClusterRoleBinding] = Resource(
    "rbac.authorization.k8s.io",
    "v1",
    "ClusterRoleBinding",
    "clusterrolebindings",
    False,
    "kubernetes.client:V1ClusterRoleBinding",
)
CONFIG_MAPS: Resource[V1ConfigMap] = Resource(
    "", "v1", "ConfigMap", "configmaps", True, "kubernetes.client:V1ConfigMap"
)
CRON_JOBS: Resource[V1CronJob] = Resource("batch", "v1", "CronJob", "cronjobs", True, "kubernetes.client:V1CronJob")
CUSTOM_RESOURCE_DEFINITIONS: Resource[V1CustomResourceDefinition] = Resource(
    "apiextensions.k8s.io",
    "v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    False,
    "kubernetes.client:V1CustomResourceDefinition",
)
DAEMON_SETS: Resource[V1DaemonSet] = Resource(
    "apps", "v1", "DaemonSet", "daemonsets", True, "kubernetes.client:V1DaemonSet"
)
DEPLOYMENTS: Resource[V1Deployment] = Resource(
    "apps", "v1", "Deployment", "deployments", True, "kubernetes.client:V1Deployment"
)
ENDPOINT_SLICES: Resource[V1EndpointSlice] = Resource(
    "discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", True, "kubernetes.client:V1EndpointSlice"
)
HORIZONTAL_POD_AUTOSCALERS: Resource[V2HorizontalPodAutoscaler] = Resource(
    "autoscaling",
    "v2",
    "HorizontalPodAutoscaler",
    "horizontalpodautoscalers",
    True,
    "kubernetes.client:V2HorizontalPodAutoscaler",
)
INGRESSES: Resource[V1Ingress] = Resource(
    "networking.k8s.io", "v1", "Ingress", "ingresses", True, "kubernetes.client:V1Ingress"
)
INGRESS_CLASSES: Resource[V1IngressClass] = Resource(
    "networking.k8s.io", "v1", "IngressClass", "ingressclasses", False, "kubernetes.client:V1IngressClass"
)
JOBS: Resource[V1Job] = Resource("batch", "v1", "Job", "jobs", True, "kubernetes.client:V1Job")
LIMIT_RANGES: Resource[V1LimitRange] = Resource(
    "", "v1", "LimitRange", "limitranges", True, "kubernetes.client:V1LimitRange"
)
MUTATING_WEBHOOK_CONFIGURATIONS: Resource[V1MutatingWebhookConfiguration] = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "MutatingWebhookConfiguration",
    "mutatingwebhookconfigurations",
    False,
    "kubernetes.client:V1MutatingWebhookConfiguration",
)
NETWORK_POLICIES: Resource[V1NetworkPolicy] = Resource(
    "networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", True, "kubernetes.client:V1NetworkPolicy"
)
PERSISTENT_VOLUMES: Resource[V1PersistentVolume] = Resource(
    "", "v1", "PersistentVolume", "persistentvolumes", False, "kubernetes.client:V1PersistentVolume"
)
PERSISTENT_VOLUME_CLAIMS: Resource[V1PersistentVolumeClaim] = Resource(
    "", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", True, "kubernetes.client:V1PersistentVolumeClaim"
)
POD_DISRUPTION_BUDGETS: Resource[V1PodDisruptionBudget] = Resource(
    "policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", True, "kubernetes.client:V1PodDisruptionBudget"
)
PRIORITY_CLASSES: Resource[V1PriorityClass] = Resource(
    "scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", False, "kubernetes.client:V1PriorityClass"
)
REPLICA_SETS: Resource[V1ReplicaSet] = Resource(
    "apps", "v1", "ReplicaSet", "replicasets", True, "kubernetes.client:V1ReplicaSet"
)
RESOURCE_QUOTAS: Resource[V1ResourceQuota] = Resource(
    "", "v1", "ResourceQuota", "resourcequotas", True, "kubernetes.client:V1ResourceQuota"
)
ROLES: Resource[V1Role] = Resource("rbac.authorization.k8s.io", "v1", "Role", "roles", True, "kubernetes.client:V1Role")
ROLE_BINDINGS: Resource[V1RoleBinding] = Resource(
    "rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", True, "kubernetes.client:V1RoleBinding"
)
SECRETS: Resource[V1Secret] = Resource("", "v1", "Secret", "secrets", True, "kubernetes.client:V1Secret")
SERVICES: Resource[V1Service] = Resource("", "v1", "Service", "services", True, "kubernetes.client:V1Service")
SERVICE_ACCOUNTS: Resource[V1ServiceAccount] = Resource(
    "", "v1", "ServiceAccount", "serviceaccounts", True, "kubernetes.client:V1ServiceAccount"
)
STATEFUL_SETS: Resource[V1StatefulSet] = Resource(
    "apps", "v1", "StatefulSet", "statefulsets", True, "kubernetes.client:V1StatefulSet"
)
STORAGE_CLASSES: Resource[V1StorageClass] = Resource(
    "storage.k8s.io", "v1", "StorageClass", "storageclasses", False, "kubernetes.client:V1StorageClass"
)
VALIDATING_WEBHOOK_CONFIGURATIONS: Resource[V1ValidatingWebhookConfiguration] = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingWebhookConfiguration",
    "validatingwebhookconfigurations",
    False,
    "kubernetes.client:V1ValidatingWebhookConfiguration",
)


@functools.cache
def built_in() -> Sequence[Resource[Any]]:
    """Return the resources of the built-in kinds: the constants of this module and of `resources`."""
    return [value for value in (*vars(resources).values(), *globals().values()) if isinstance(value, Resource)]
