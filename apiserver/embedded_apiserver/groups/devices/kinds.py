# SPDX-License-Identifier: Apache-2.0
"""Devices, and claims of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

from embedded_apiserver.groups.devices import columns, devices
from embedded_apiserver.kinds.cells import NAMED
from embedded_apiserver.kinds.checks import Checks
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.kinds.policy import ALL, Policy, changed, warned
from embedded_apiserver.objects import Object, part


def _driver_warnings(obj: Object) -> Iterator[str]:
    """Yield the warning of a slice whose driver has letters in upper case."""
    driver = part(obj, "spec").get("driver", "")
    if driver != driver.lower():
        shown = json.dumps(driver, ensure_ascii=False)
        yield f"spec.driver: driver names should be lowercase; {shown} contains uppercase characters"


_resource = partial(Kind, group="resource.k8s.io", version="v1", deletes_with_object=True)
DEVICE_CLASS = _resource(
    kind="DeviceClass",
    plural="deviceclasses",
    namespaced=False,
    policy=Policy(generation=changed("spec")),
    metadata="wu",
    checks=Checks(devices.device_class),
    cells=NAMED,
)
RESOURCE_CLAIM = _resource(
    kind="ResourceClaim",
    plural="resourceclaims",
    tableless=("status",),
    subresources=("status",),
    policy=Policy(status={}, freezes=ALL),
    metadata="wu",
    checks=Checks(devices.resource_claim, devices.resource_claim_change, devices.claim_status),
    cells=columns.CLAIMS,
)
RESOURCE_CLAIM_TEMPLATE = _resource(
    kind="ResourceClaimTemplate",
    plural="resourceclaimtemplates",
    metadata="wu",
    checks=Checks(devices.claim_template, devices.claim_template_change),
    cells=NAMED,
)
RESOURCE_SLICE = _resource(
    kind="ResourceSlice",
    plural="resourceslices",
    namespaced=False,
    fields={"spec.driver": "", "spec.nodeName": ""},
    names_known_fields=False,
    unknown_field="field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {}",
    policy=Policy(generation=changed("spec"), warnings=warned(_driver_warnings)),
    checks=Checks(devices.resource_slice, devices.resource_slice_change),
    cells=columns.SLICES,
)
KINDS = (DEVICE_CLASS, RESOURCE_CLAIM, RESOURCE_CLAIM_TEMPLATE, RESOURCE_SLICE)
