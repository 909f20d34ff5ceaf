# SPDX-License-Identifier: Apache-2.0
"""percona/percona-server-mongodb-operator, K8SPSMDB-696: an annotation of a replica set's pods cannot be removed.

The operator takes the annotations that the stateful set has and adds its own, so that it keeps those of others. It
keeps its own of yesterday as well.
"""

from __future__ import annotations

from typing import Any

from kit.perturbation.declaring import Bug, Operator, workload

from controller_runtime.crd import CustomResource, Struct, custom_resource
from controller_runtime.resources import STATEFUL_SETS


class Spec(Struct):
    annotations: dict[str, str] = {}


@custom_resource("percona.example.com/v1")
class ReplicaSet(CustomResource):
    spec: Spec


class Mended(Operator):
    declared = ReplicaSet
    kinds = (STATEFUL_SETS,)

    def bring(self, obj: ReplicaSet, spec: Spec) -> None:
        self.apply(STATEFUL_SETS, workload(obj, annotations=spec.annotations))


class Buggy(Mended):
    def bring(self, obj: ReplicaSet, spec: Spec) -> None:
        have = self.see(STATEFUL_SETS)
        if have is None:
            self.client.create(STATEFUL_SETS, workload(obj, annotations=spec.annotations))
            return
        template: dict[str, Any] = have["spec"]["template"]
        annotations = {**template["metadata"].get("annotations", {}), **spec.annotations}
        if annotations:
            template = {**template, "metadata": {**template["metadata"], "annotations": annotations}}
            self.update(STATEFUL_SETS, have, spec={**have["spec"], "template": template})


BUG = Bug(
    "K8SPSMDB-696",
    "statefulsets.apps default/db spec.template.metadata.annotations: absent",
    Buggy,
    Mended,
    Spec({"a": "1"}),
)
