# SPDX-License-Identifier: Apache-2.0
"""The kinds of the core group without pods."""

from __future__ import annotations

from functools import partial

from embedded_apiserver.groups.core import columns, data, endpoints, limits, namespaces, nodes, services, strategy
from embedded_apiserver.kinds.cells import NAMED, count_of
from embedded_apiserver.kinds.checks import Checks, nothing, of_spec
from embedded_apiserver.kinds.kind import VERBS, Kind
from embedded_apiserver.kinds.policy import Policy, warned

_STATUS = ("status",)
_core = partial(Kind, group="", version="v1")
NAMESPACE = _core(
    kind="Namespace",
    plural="namespaces",
    tableless=("finalize",),
    namespaced=False,
    short_names=("ns",),
    verbs=tuple(verb for verb in VERBS if verb != "deletecollection"),
    subresources=("status", "finalize"),
    deletes_with_object=True,
    name_rule="label",
    fields={"status.phase": ""},
    names_known_fields=False,
    policy=Policy(
        status={"phase": "Active"},
        created=strategy.new_namespace,
        isolated=strategy.isolated_namespace,
        deleted=strategy.terminating,
    ),
    metadata="wu",
    checks=Checks(
        namespaces.namespace, nothing, namespaces.namespace_status, {"finalize": namespaces.namespace_finalizers}
    ),
    cells=columns.NAMESPACES,
)
NODE = _core(
    kind="Node",
    plural="nodes",
    place="minions",
    namespaced=False,
    short_names=("no",),
    subresources=("proxy", "status"),
    fields={"spec.unschedulable": "false"},
    names_known_fields=False,
    policy=Policy(created=strategy.new_node, updated=strategy.updated_node, warnings=strategy.node_warnings),
    metadata="wu",
    checks=Checks(nodes.node, nodes.node_change, nodes.node_change),
    cells=columns.NODES,
)
SERVICE = _core(
    kind="Service",
    plural="services",
    place="services/specs",
    creates_by_status=True,
    short_names=("svc",),
    categories=("all",),
    subresources=("proxy", "status"),
    create_on_update=True,
    deletes_with_object=True,
    name_rule="label",
    fields={"spec.clusterIP": "", "spec.type": ""},
    names_known_fields=False,
    policy=Policy(
        status={"loadBalancer": {}},
        created=strategy.new_service,
        updated=strategy.updated_service,
        warnings=warned(strategy.service_warnings),
    ),
    checks=Checks(services.service, services.service_change, services.balancer_status),
    cells=columns.SERVICES,
)
ENDPOINTS = _core(
    kind="Endpoints",
    plural="endpoints",
    place="services/endpoints",
    short_names=("ep",),
    create_on_update=True,
    deprecation="v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
    metadata="uw",
    checks=Checks(endpoints.endpoints, endpoints.endpoints_change),
    cells=columns.ENDPOINTS_OF_SERVICES,
)
CONFIG_MAP = _core(
    kind="ConfigMap",
    plural="configmaps",
    short_names=("cm",),
    metadata="uw",
    checks=Checks(data.config_map, data.config_map_change),
    cells=columns.CONFIG_MAPS,
)
SECRET = _core(
    kind="Secret",
    plural="secrets",
    fields={"type": ""},
    names_known_fields=False,
    metadata="uw",
    checks=Checks(data.secret, data.secret_change),
    cells=columns.SECRETS,
)
SERVICE_ACCOUNT = _core(
    kind="ServiceAccount",
    plural="serviceaccounts",
    tableless=("token",),
    short_names=("sa",),
    subresources=("token",),
    deletes_with_object=True,
    policy=Policy(created=strategy.new_account, updated=strategy.updated_account),
    metadata="uw",
    cells={**NAMED, "Secrets": count_of("secrets")},  # a column of older releases
)
LIMIT_RANGE = _core(
    kind="LimitRange",
    plural="limitranges",
    short_names=("limits",),
    create_on_update=True,
    policy=Policy(is_named_by_uid=True),
    metadata="w",
    checks=Checks(limits.limit_range),
)
QUOTA = _core(
    kind="ResourceQuota",
    plural="resourcequotas",
    short_names=("quota",),
    subresources=_STATUS,
    deletes_with_object=True,
    policy=Policy(status={}),
    checks=of_spec(limits.quota, limits.quota_change, status=limits.quota_status),
    cells=columns.QUOTAS,
)
COMPONENT_STATUS = _core(
    kind="ComponentStatus",
    plural="componentstatuses",
    namespaced=False,
    short_names=("cs",),
    verbs=("get", "list"),
    deprecation="v1 ComponentStatus is deprecated in v1.19+",
    cells=columns.COMPONENTS,
)
KINDS = (
    *(NAMESPACE, NODE, SERVICE, ENDPOINTS, CONFIG_MAP, SECRET, SERVICE_ACCOUNT, LIMIT_RANGE, QUOTA),
    COMPONENT_STATUS,
)
