# SPDX-License-Identifier: Apache-2.0
"""xlab-uiuc/acto#204 (mongodb/mongodb-kubernetes-operator): the last toleration cannot be removed.

An empty list of tolerations reads like one that was left out, and then those of the stateful set are kept.
"""

from __future__ import annotations

from typing import Annotated, Any

from kit.perturbation.declaring import Bug, Operator, workload
from msgspec import Meta

from controller_runtime.crd import CustomResource, Struct, custom_resource
from controller_runtime.resources import STATEFUL_SETS


class Toleration(Struct, frozen=True):
    key: Annotated[str, Meta(pattern="^[a-z]{1,20}$")]


class Spec(Struct):
    tolerations: Annotated[list[Toleration], Meta(max_length=3)] = []


@custom_resource("mongodb.example.com/v1")
class Community(CustomResource):
    spec: Spec


class Mended(Operator):
    declared = Community
    kinds = (STATEFUL_SETS,)

    def bring(self, obj: Community, spec: Spec) -> None:
        self.apply(STATEFUL_SETS, self.wanted(obj, self.listed(spec)))

    def listed(self, spec: Spec) -> list[dict[str, Any]]:
        return [{"key": each.key, "operator": "Exists"} for each in spec.tolerations]

    def wanted(self, obj: Community, tolerations: list[dict[str, Any]]) -> dict[str, Any]:
        return workload(obj, **({"tolerations": tolerations} if tolerations else {}))


class Buggy(Mended):
    def bring(self, obj: Community, spec: Spec) -> None:
        have = self.see(STATEFUL_SETS) or {"spec": {"template": {"spec": {}}}}
        kept = have["spec"]["template"]["spec"].get("tolerations", [])
        self.apply(STATEFUL_SETS, self.wanted(obj, self.listed(spec) or kept))


BUG = Bug(
    "xlab-uiuc/acto#204",
    "statefulsets.apps default/db spec.template.spec.tolerations: absent",
    Buggy,
    Mended,
    Spec([Toleration("dedicated")]),
)
