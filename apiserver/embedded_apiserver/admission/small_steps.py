# SPDX-License-Identifier: Apache-2.0
"""Steps of a few lines: `TaintNodesByCondition`, `StorageObjectInUseProtection` and `RuntimeClass`."""

from __future__ import annotations

from embedded_apiserver.admission.step import Attributes, Operation, Step
from embedded_apiserver.groups.core.kinds import NODE
from embedded_apiserver.groups.pods.kinds import CLAIM, POD
from embedded_apiserver.groups.storage.kinds import ATTRIBUTES_CLASS, VOLUME
from embedded_apiserver.objects import Object, part

_RUNTIME_CLASSES = "runtimeclasses.node.k8s.io"
_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
FINALIZERS = {
    CLAIM: "kubernetes.io/pvc-protection",
    VOLUME: "kubernetes.io/pv-protection",
    ATTRIBUTES_CLASS: "kubernetes.io/vac-protection",
}
"""The finalizers of claims, volumes and attributes classes, which delay their deletion while they are in use."""


class TaintNodesByCondition(Step):
    """Adds a taint to a new node, so that no pod is scheduled there until a controller finds the node ready."""

    name = "TaintNodesByCondition"
    kinds = (NODE,)
    operations = (Operation.CREATE,)

    def admit(self, attributes: Attributes) -> Object:
        obj = attributes.obj
        spec = part(obj, "spec")
        taints = spec.get("taints") or []
        if any((one.get("key"), one.get("effect")) == tuple(_NOT_READY.values()) for one in taints):
            return obj
        return {**obj, "spec": {**spec, "taints": [*taints, {**_NOT_READY}]}}


class StorageObjectInUseProtection(Step):
    """Adds a finalizer to new claims, volumes and attributes classes, so that they are not deleted while they are in
    use.

    After the deletion, a controller of the server removes the finalizer once the object is no longer used; attributes
    classes never count as used.
    """

    name = "StorageObjectInUseProtection"
    kinds = (CLAIM, VOLUME, ATTRIBUTES_CLASS)
    operations = (Operation.CREATE,)

    def admit(self, attributes: Attributes) -> Object:
        obj, finalizer = attributes.obj, FINALIZERS[attributes.kind]
        metadata = obj.get("metadata", {})
        finalizers = metadata.get("finalizers") or []
        if finalizer in finalizers:
            return obj
        return {**obj, "metadata": {**metadata, "finalizers": [*finalizers, finalizer]}}


class RuntimeClass(Step):
    """Refuses a pod whose runtime class does not exist, or that has an overhead without a runtime class."""

    name = "RuntimeClass"
    kinds = (POD,)
    operations = (Operation.CREATE,)

    def admit(self, attributes: Attributes) -> Object:
        obj = attributes.obj
        spec = part(obj, "spec")
        name = spec.get("runtimeClassName")
        if name and self._storage.get(_RUNTIME_CLASSES, name) is None:
            raise attributes.refused(f'pod rejected: RuntimeClass "{name}" not found')
        return obj

    def validate(self, attributes: Attributes) -> None:
        spec = part(attributes.obj, "spec")
        if spec.get("overhead") is not None and not spec.get("runtimeClassName"):
            raise attributes.refused(
                "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
            )
