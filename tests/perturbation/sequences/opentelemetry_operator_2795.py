# SPDX-License-Identifier: Apache-2.0
"""open-telemetry/opentelemetry-operator#2795: an entry of `podAnnotations` cannot be removed.

The whole wanted object is sent as a merge patch, in which a missing key means: leave it.
"""

from __future__ import annotations

from kit.perturbation.declaring import NAME, Bug, Operator, workload

from controller_runtime import ObjectKey
from controller_runtime.crd import CustomResource, Struct, custom_resource
from controller_runtime.resources import DEPLOYMENTS


class Spec(Struct):
    config: str = "receivers"
    pod_annotations: dict[str, str] = {}


@custom_resource("opentelemetry.example.com/v1")
class Collector(CustomResource):
    spec: Spec


class Mended(Operator):
    declared = Collector
    kinds = (DEPLOYMENTS,)

    def bring(self, obj: Collector, spec: Spec) -> None:
        self.apply(DEPLOYMENTS, workload(obj, annotations={"config": spec.config, **spec.pod_annotations}))


class Buggy(Mended):
    def bring(self, obj: Collector, spec: Spec) -> None:
        wanted = workload(obj, annotations={"config": spec.config, **spec.pod_annotations})
        if self.see(DEPLOYMENTS) is None:
            self.client.create(DEPLOYMENTS, wanted)
        else:
            self.client.patch(DEPLOYMENTS, ObjectKey(NAME, "default"), wanted)


BUG = Bug(
    "open-telemetry/opentelemetry-operator#2795",
    "deployments.apps default/db spec.template.metadata.annotations.a: absent",
    Buggy,
    Mended,
    Spec(),
)
