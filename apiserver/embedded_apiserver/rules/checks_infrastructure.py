# SPDX-License-Identifier: Apache-2.0
"""The checks of the kinds that describe a cluster and what runs beside it; see `checks`.

They are loaded when the first object of such a kind is written.
"""

from __future__ import annotations

from collections.abc import Mapping

from embedded_apiserver.kinds import infrastructure as kinds
from embedded_apiserver.kinds.checks import Checks
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.rules.causes import (
    autoscalers,
    devices,
    flow_control,
    further_kinds,
    network_kinds,
    service_ranges,
    signing_requests,
    storage_kinds,
)

CHECKS: Mapping[Kind, Checks] = {
    kinds.API_SERVICE: Checks(
        further_kinds.api_service,
        lambda old, new: further_kinds.api_service(new),
        further_kinds.api_service_status,
    ),
    kinds.AUTOSCALER: Checks(autoscalers.autoscaler, autoscalers.autoscaler_change, autoscalers.autoscaler_status),
    kinds.SIGNING_REQUEST: Checks(
        signing_requests.signing_request,
        signing_requests.signing_request_change,
        signing_requests.signing_request_status,
        parts={"approval": signing_requests.approval},
    ),
    kinds.INGRESS_CLASS: Checks(service_ranges.ingress_class, service_ranges.ingress_class_change),
    kinds.IP_ADDRESS: Checks(service_ranges.ip_address, service_ranges.ip_address_change),
    kinds.NETWORK_POLICY: Checks(network_kinds.network_policy, network_kinds.network_policy_change),
    kinds.SERVICE_CIDR: Checks(service_ranges.service_cidr, service_ranges.service_cidr_change),
    kinds.ENDPOINT_SLICE: Checks(network_kinds.endpoint_slice, network_kinds.endpoint_slice_change),
    kinds.CSI_DRIVER: Checks(storage_kinds.csi_driver, storage_kinds.csi_driver_change),
    kinds.CSI_NODE: Checks(storage_kinds.csi_node, storage_kinds.csi_node_change),
    kinds.CSI_CAPACITY: Checks(storage_kinds.csi_capacity, storage_kinds.csi_capacity_change),
    kinds.STORAGE_CLASS: Checks(storage_kinds.storage_class, storage_kinds.storage_class_change),
    kinds.ATTACHMENT: Checks(
        storage_kinds.attachment, storage_kinds.attachment_change, storage_kinds.attachment_change
    ),
    kinds.ATTRIBUTES_CLASS: Checks(storage_kinds.attributes_class, storage_kinds.attributes_class_change),
    kinds.PRIORITY_CLASS: Checks(further_kinds.priority_class, further_kinds.priority_class_change),
    kinds.RUNTIME_CLASS: Checks(further_kinds.runtime_class, further_kinds.runtime_class_change),
    kinds.DEVICE_CLASS: Checks(devices.device_class, lambda old, new: devices.device_class(new)),
    kinds.RESOURCE_CLAIM: Checks(devices.resource_claim, devices.resource_claim_change, devices.claim_status),
    kinds.RESOURCE_CLAIM_TEMPLATE: Checks(devices.claim_template, devices.claim_template_change),
    kinds.RESOURCE_SLICE: Checks(devices.resource_slice, devices.resource_slice_change),
    kinds.FLOW_SCHEMA: Checks(
        flow_control.flow_schema, lambda old, new: flow_control.flow_schema(new), flow_control.flow_status
    ),
    kinds.PRIORITY_LEVEL: Checks(
        flow_control.priority_level, lambda old, new: flow_control.priority_level(new), flow_control.flow_status
    ),
}
"""The checks of each of these kinds."""
