# SPDX-License-Identifier: Apache-2.0
"""Ingresses, policies and ranges of addresses, and slices of endpoints."""

from __future__ import annotations

from functools import partial

from embedded_apiserver.groups.networking import (
    address_ranges,
    columns,
    endpoint_slices,
    ingresses,
    network_policies,
    strategy,
)
from embedded_apiserver.kinds.checks import Checks, of_spec
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.kinds.policy import ALL, Policy, changed

_counting = Policy(generation=changed("spec"))
_network = partial(Kind, group="networking.k8s.io", version="v1", namespaced=False)
INGRESS = _network(
    kind="Ingress",
    plural="ingresses",
    place="ingress",
    namespaced=True,
    short_names=("ing",),
    subresources=("status",),
    policy=Policy(status={"loadBalancer": {}}, generation=changed("spec")),
    metadata="uw",
    checks=Checks(ingresses.new_ingress, of_spec(ingresses.ingress).change, ingresses.ingress_status),
    cells=columns.INGRESSES,
)
INGRESS_CLASS = _network(
    kind="IngressClass",
    plural="ingressclasses",
    policy=_counting,
    metadata="uw",
    checks=Checks(ingresses.ingress_class, ingresses.ingress_class_change),
    cells=columns.CLASSES,
)
IP_ADDRESS = _network(
    kind="IPAddress",
    plural="ipaddresses",
    short_names=("ip",),
    name_rule="path",
    checks=Checks(address_ranges.ip_address, address_ranges.ip_address_change),
    cells=columns.ADDRESSES,
)
NETWORK_POLICY = _network(
    kind="NetworkPolicy",
    plural="networkpolicies",
    namespaced=True,
    short_names=("netpol",),
    policy=_counting,
    checks=Checks(network_policies.network_policy, network_policies.network_policy_change),
    cells=columns.POLICIES,
)
SERVICE_CIDR = _network(
    kind="ServiceCIDR",
    plural="servicecidrs",
    subresources=("status",),
    policy=Policy(status={}, freezes=ALL),
    checks=Checks(address_ranges.service_cidr, address_ranges.service_cidr_change),
    cells=columns.RANGES,
)
ENDPOINT_SLICE = Kind(
    group="discovery.k8s.io",
    version="v1",
    kind="EndpointSlice",
    plural="endpointslices",
    policy=Policy(
        generation=strategy.is_other_slice,
        created=strategy.new_slice,
        updated=strategy.updated_slice,
        warnings=strategy.slice_warnings,
    ),
    metadata="w",
    checks=Checks(endpoint_slices.endpoint_slice, endpoint_slices.endpoint_slice_change),
    cells=columns.SLICES,
)
KINDS = (INGRESS, INGRESS_CLASS, IP_ADDRESS, NETWORK_POLICY, SERVICE_CIDR, ENDPOINT_SLICE)
