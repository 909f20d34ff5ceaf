# SPDX-License-Identifier: Apache-2.0
"""pravega/zookeeper-operator#474: annotations of a service are set at its creation and never after.

Of an existing service only ports are brought up to date.
"""

from __future__ import annotations

from typing import Annotated, Any

from kit.perturbation.declaring import Bug, Operator, service
from msgspec import Meta

from controller_runtime.crd import CustomResource, Struct, custom_resource
from controller_runtime.resources import SERVICES


class Spec(Struct):
    domain_name: str = ""
    client_port: Annotated[int, Meta(ge=1024, le=65535)] = 2181


@custom_resource("zookeeper.example.com/v1")
class Zookeeper(CustomResource):
    spec: Spec


class Mended(Operator):
    declared = Zookeeper
    kinds = (SERVICES,)

    def bring(self, obj: Zookeeper, spec: Spec) -> None:
        self.apply(SERVICES, self.wanted(obj, spec))

    def wanted(self, obj: Zookeeper, spec: Spec) -> dict[str, Any]:
        annotations = {"example.com/hostname": spec.domain_name} if spec.domain_name else {}
        return service(obj, {"client": spec.client_port}, annotations=annotations)


class Buggy(Mended):
    def bring(self, obj: Zookeeper, spec: Spec) -> None:
        wanted, have = self.wanted(obj, spec), self.see(SERVICES)
        if have is None:
            self.client.create(SERVICES, wanted)
        elif have["spec"]["ports"][0]["port"] != spec.client_port:
            self.update(SERVICES, have, spec={**have["spec"], "ports": wanted["spec"]["ports"]})


BUG = Bug("pravega/zookeeper-operator#474", "services default/db metadata.annotations", Buggy, Mended, Spec())
