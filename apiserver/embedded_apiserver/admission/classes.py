# SPDX-License-Identifier: Apache-2.0
"""Steps about classes: `DefaultStorageClass`, `DefaultIngressClass` and `PersistentVolumeClaimResize`."""

from __future__ import annotations

from decimal import Decimal
from typing import Any, NamedTuple

from apimachinery.quantities import parse_quantity
from embedded_apiserver.admission.step import Attributes, Operation, Step
from embedded_apiserver.groups.networking.kinds import INGRESS, INGRESS_CLASS
from embedded_apiserver.groups.pods.kinds import CLAIM
from embedded_apiserver.groups.storage.kinds import STORAGE_CLASS
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object, part
from embedded_apiserver.storage.storage import Storage

_DEFAULT_STORAGE = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")
_STORAGE_OF_CLAIM = "volume.beta.kubernetes.io/storage-class"
_DEFAULT_INGRESS = ("ingressclass.kubernetes.io/is-default-class",)
_CLASS_OF_INGRESS = "kubernetes.io/ingress.class"
_NOT_BOUND = "Only bound persistent volume claims can be expanded"
_FIXED = (
    "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize"
)


def default_class(storage: Storage, collection: str, annotations: tuple[str, ...]) -> str:
    """Return the name of the newest class that one of `annotations` marks as the default; empty if there is none."""
    defaults = []
    for item in storage.read(collection).items:
        metadata = item.decode()["metadata"]
        given = metadata.get("annotations") or {}
        if any(given.get(name) == "true" for name in annotations):
            defaults.append(metadata)
    if not defaults:
        return ""
    newest = max(one["creationTimestamp"] for one in defaults)
    name: str = min(one["name"] for one in defaults if one["creationTimestamp"] == newest)
    return name


def _annotation(obj: Object, name: str) -> str | None:
    found: str | None = (obj.get("metadata", {}).get("annotations") or {}).get(name)
    return found


class _DefaultOf(NamedTuple):
    """Gives an object that names no class the default one; an empty name is one, and asks for none.

    Attributes:
        classes: The classes of such objects.
        field: The field of the spec that names the class.
        annotation: The older form of that field; an object that has it names its class.
        marks: The annotations, one of which makes a class the default one.
    """

    classes: Kind
    field: str
    annotation: str
    marks: tuple[str, ...]

    def given(self, obj: Object, storage: Storage) -> Object:
        """Return the object with its class."""
        spec = part(obj, "spec")
        if _annotation(obj, self.annotation) is not None or spec.get(self.field) is not None:
            return obj
        name = default_class(storage, self.classes.resource, self.marks)
        return {**obj, "spec": {**spec, self.field: name}} if name else obj


_STORAGE_DEFAULT = _DefaultOf(STORAGE_CLASS, "storageClassName", _STORAGE_OF_CLAIM, _DEFAULT_STORAGE)
_INGRESS_DEFAULT = _DefaultOf(INGRESS_CLASS, "ingressClassName", _CLASS_OF_INGRESS, _DEFAULT_INGRESS)


class DefaultStorageClass(Step):
    """Sets the newest default storage class in a claim that names no class."""

    name = "DefaultStorageClass"
    kinds = (CLAIM,)
    operations = (Operation.CREATE,)

    def is_idle(self) -> bool:
        return self._storage.is_empty(STORAGE_CLASS.resource)

    def admit(self, attributes: Attributes) -> Object:
        return _STORAGE_DEFAULT.given(attributes.obj, self._storage)


class DefaultIngressClass(Step):
    """Sets the newest default ingress class in an ingress that names no class."""

    name = "DefaultIngressClass"
    kinds = (INGRESS,)
    operations = (Operation.CREATE,)

    def is_idle(self) -> bool:
        return self._storage.is_empty(INGRESS_CLASS.resource)

    def admit(self, attributes: Attributes) -> Object:
        return _INGRESS_DEFAULT.given(attributes.obj, self._storage)


class PersistentVolumeClaimResize(Step):
    """Refuses to enlarge a claim, unless it is bound and its class has `allowVolumeExpansion`."""

    name = "PersistentVolumeClaimResize"
    kinds = (CLAIM,)
    operations = (Operation.UPDATE,)

    def validate(self, attributes: Attributes) -> None:
        obj, old = attributes.obj, attributes.old or {}
        if _asked(obj) <= _asked(old):
            return
        if part(old, "status").get("phase") != "Bound":
            raise attributes.refused(_NOT_BOUND)
        if not self._may_grow(_class_of(obj), _class_of(old)):
            raise attributes.refused(_FIXED)

    def _may_grow(self, now: str, before: str) -> bool:
        if not now or now != before or (found := self._storage.get(STORAGE_CLASS.resource, now)) is None:
            return False
        return bool(found.decode().get("allowVolumeExpansion"))


def _asked(claim: Object) -> Decimal:
    """Return the storage that a claim asks for."""
    requests: dict[str, Any] = part(part(claim, "spec"), "resources").get("requests") or {}
    return parse_quantity(str(requests.get("storage", "0")))


def _class_of(claim: Object) -> str:
    named = _annotation(claim, _STORAGE_OF_CLAIM)
    return part(claim, "spec").get("storageClassName") or "" if named is None else named
