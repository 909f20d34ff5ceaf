# SPDX-License-Identifier: Apache-2.0
"""OT-CONTAINER-KIT/redis-operator#474: the exporter's port stays open after the exporter was disabled.

The ports are sent as a strategic merge patch, which merges them by number: it adds, and removes nothing.
"""

from __future__ import annotations

from typing import Any

from kit.perturbation.declaring import NAME, Bug, Operator, service

from controller_runtime import ObjectKey, PatchType
from controller_runtime.crd import CustomResource, Struct, custom_resource
from controller_runtime.resources import SERVICES


class Exporter(Struct, frozen=True):
    enabled: bool = False


class Spec(Struct):
    exporter: Exporter = Exporter()


@custom_resource("redis.example.com/v1")
class Redis(CustomResource):
    spec: Spec


class Mended(Operator):
    declared = Redis
    kinds = (SERVICES,)

    def bring(self, obj: Redis, spec: Spec) -> None:
        self.apply(SERVICES, self.wanted(obj, spec))

    def wanted(self, obj: Redis, spec: Spec) -> dict[str, Any]:
        return service(obj, {"redis": 6379, **({"exporter": 9121} if spec.exporter.enabled else {})})


class Buggy(Mended):
    def bring(self, obj: Redis, spec: Spec) -> None:
        wanted = self.wanted(obj, spec)
        if self.see(SERVICES) is None:
            self.client.create(SERVICES, wanted)
        else:
            ports = {"spec": {"ports": wanted["spec"]["ports"]}}
            self.client.patch(SERVICES, ObjectKey(NAME, "default"), ports, type=PatchType.STRATEGIC)


BUG = Bug("OT-CONTAINER-KIT/redis-operator#474", "services default/db spec.ports", Buggy, Mended, Spec())
