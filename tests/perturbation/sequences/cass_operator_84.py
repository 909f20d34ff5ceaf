# SPDX-License-Identifier: Apache-2.0
"""xlab-uiuc/acto#84 (k8ssandra/cass-operator): an additional label of the seed service cannot be removed again.

The wanted labels are merged into those of the service. A label that is not wanted any more is in no merge.
"""

from __future__ import annotations

from typing import Any

from kit.perturbation.declaring import NAME, Bug, Operator, service

from controller_runtime import ObjectKey
from controller_runtime.crd import CustomResource, Struct, custom_resource
from controller_runtime.resources import SERVICES


class Spec(Struct):
    additional_labels: dict[str, str] = {}


@custom_resource("cassandra.example.com/v1")
class Datacenter(CustomResource):
    spec: Spec


class Mended(Operator):
    declared = Datacenter
    kinds = (SERVICES,)

    def bring(self, obj: Datacenter, spec: Spec) -> None:
        self.apply(SERVICES, self.wanted(obj, spec))

    def wanted(self, obj: Datacenter, spec: Spec) -> dict[str, Any]:
        return service(obj, {"cql": 9042}, labels={**spec.additional_labels, "seed": "true"})


class Buggy(Mended):
    def bring(self, obj: Datacenter, spec: Spec) -> None:
        wanted, have = self.wanted(obj, spec), self.see(SERVICES)
        if have is None:
            self.client.create(SERVICES, wanted)
        elif have["metadata"]["labels"] != wanted["metadata"]["labels"]:
            self.client.patch(
                SERVICES, ObjectKey(NAME, "default"), {"metadata": {"labels": wanted["metadata"]["labels"]}}
            )


BUG = Bug("xlab-uiuc/acto#84", "services default/db metadata.labels.a", Buggy, Mended, Spec())
