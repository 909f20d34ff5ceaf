# SPDX-License-Identifier: Apache-2.0
"""minio/operator#2038: a label of the console's service cannot be removed.

A service counts as up to date if it has all that is wanted. It may have more.
"""

from __future__ import annotations

from kit.perturbation.declaring import Bug, Operator, service

from controller_runtime.crd import CustomResource, Struct, custom_resource
from controller_runtime.resources import SERVICES


class ServiceMetadata(Struct, frozen=True):
    console_service_labels: dict[str, str] = {}


class Spec(Struct):
    service_metadata: ServiceMetadata = ServiceMetadata()


@custom_resource("minio.example.com/v1")
class Tenant(CustomResource):
    spec: Spec


class Buggy(Operator):
    declared = Tenant
    kinds = (SERVICES,)

    def bring(self, obj: Tenant, spec: Spec) -> None:
        wanted = {"app": "console", **spec.service_metadata.console_service_labels}
        have = self.see(SERVICES)
        if have is None:
            self.client.create(SERVICES, service(obj, {"console": 9090}, labels=wanted))
        elif not self.matches(have["metadata"].get("labels", {}), wanted):
            self.update(SERVICES, have, metadata={**have["metadata"], "labels": wanted})

    def matches(self, have: dict[str, str], wanted: dict[str, str]) -> bool:
        return all(have.get(name) == value for name, value in wanted.items())


class Mended(Buggy):
    def matches(self, have: dict[str, str], wanted: dict[str, str]) -> bool:
        return have == wanted


BUG = Bug(
    "minio/operator#2038", "services default/db metadata.labels", Buggy, Mended, Spec(ServiceMetadata({"tier": "ui"}))
)
