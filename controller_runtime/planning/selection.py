# SPDX-License-Identifier: Apache-2.0
"""Selects the planned objects that are in a collection: by namespace, labels and fields. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import msgspec

from apimachinery.selectors import FieldSelector, LabelSelector
from controller_runtime.api.collection import Collection
from controller_runtime.planning.outcomes import meta_of
from controller_runtime.planning.overlay import Object

PARTIAL = {"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata"}


@attrs.frozen
class Selection:
    """A selection of objects of one resource.

    Attributes:
        namespace: Only objects in this namespace; empty for all.
        labels: The label selector.
        fields: The field selector.
    """

    namespace: str
    labels: LabelSelector
    fields: FieldSelector

    @classmethod
    def of(cls, collection: Collection) -> Selection:
        """Return the selection of a cached collection."""
        return cls(
            collection.namespace,
            LabelSelector.parse(collection.label_selector),
            FieldSelector.parse(collection.field_selector),
        )

    @classmethod
    def asked(cls, namespace: str, query: Mapping[str, str]) -> Selection:
        """Return the selection of a request, from its namespace and query parameters.

        Raises:
            ValueError: A selector is malformed.
        """
        labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
        return cls(namespace, LabelSelector.parse(labels), FieldSelector.parse(fields))

    def has(self, obj: Object) -> bool:
        """Return whether an object matches the selection."""
        metadata = meta_of(obj)
        if self.namespace and metadata.get("namespace") != self.namespace:
            return False
        if not self.labels.matches(metadata.get("labels") or {}):
            return False
        wanted = {one.field: _text(obj, one.field) for one in self.fields.requirements}
        return self.fields.matches(wanted)


def only_metadata(obj: Object) -> dict[str, Any]:
    """Return the partial form of an object, which has only its metadata."""
    return {**PARTIAL, "metadata": obj.get("metadata") or {}}


def _text(obj: Any, path: str) -> str:
    for step in path.split("."):
        obj = obj.get(step) if isinstance(obj, Mapping) else None
    if obj is None:
        return ""
    return obj if isinstance(obj, str) else msgspec.json.encode(obj).decode()
