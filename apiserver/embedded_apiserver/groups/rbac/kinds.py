# SPDX-License-Identifier: Apache-2.0
"""Roles and their bindings."""

from __future__ import annotations

from functools import partial

from embedded_apiserver.groups.rbac import columns, roles
from embedded_apiserver.kinds.checks import Checks
from embedded_apiserver.kinds.kind import Kind

_rbac = partial(
    Kind, group="rbac.authorization.k8s.io", version="v1", create_on_update=True, name_rule="path", metadata="wu"
)
CLUSTER_ROLE = _rbac(kind="ClusterRole", plural="clusterroles", namespaced=False, checks=Checks(roles.cluster_role))
CLUSTER_ROLE_BINDING = _rbac(
    kind="ClusterRoleBinding",
    plural="clusterrolebindings",
    namespaced=False,
    checks=roles.binding("ClusterRole"),
    cells=columns.BINDINGS,
)
ROLE = _rbac(kind="Role", plural="roles", checks=Checks(roles.role))
ROLE_BINDING = _rbac(
    kind="RoleBinding", plural="rolebindings", checks=roles.binding("Role", "ClusterRole"), cells=columns.BINDINGS
)
KINDS = (CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING)
