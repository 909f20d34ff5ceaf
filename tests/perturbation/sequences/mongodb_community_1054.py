# SPDX-License-Identifier: Apache-2.0
"""mongodb/mongodb-kubernetes-operator#1054: an incomplete TLS configuration, which the schema allows, ends in an error.

TLS can be enabled without a config map for the certificate authority. No other state is needed to see it.
"""

from __future__ import annotations

from typing import Annotated

from kit.perturbation.declaring import NAME, Bug, Operator, workload
from msgspec import Meta

from controller_runtime import ObjectKey
from controller_runtime.crd import CustomResource, Struct, custom_resource
from controller_runtime.resources import STATEFUL_SETS


class CaConfigMap(Struct, frozen=True):
    name: Annotated[str, Meta(pattern="^[a-z]{1,20}$")]


class Tls(Struct, frozen=True):
    enabled: bool = False
    ca_config_map: CaConfigMap | None = None


class Spec(Struct):
    tls: Tls = Tls()


class Status(Struct):
    message: str = ""


@custom_resource("mongodb.example.com/v1")
class Community(CustomResource):
    spec: Spec
    status: Status | None = None


class Buggy(Operator):
    declared = Community
    kinds = (STATEFUL_SETS,)

    def bring(self, obj: Community, spec: Spec) -> None:
        annotations = {"ca": spec.tls.ca_config_map.name} if spec.tls.enabled else {}  # type: ignore[union-attr]
        self.apply(STATEFUL_SETS, workload(obj, annotations=annotations))


class Mended(Buggy):
    def bring(self, obj: Community, spec: Spec) -> None:
        is_incomplete = spec.tls.enabled and spec.tls.ca_config_map is None
        self.report(obj, "TLS needs caConfigMap" if is_incomplete else "")
        super().bring(obj, Spec() if is_incomplete else spec)

    def report(self, obj: Community, message: str) -> None:
        if obj.status is None or obj.status.message != message:
            change = {"status": {"message": message}}
            self.client.patch(Community, ObjectKey(NAME, "default"), change, subresource="status")


BUG = Bug(
    "mongodb/mongodb-kubernetes-operator#1054",
    "the controller operator still has errors at rest",
    Buggy,
    Mended,
    Spec(),
)
