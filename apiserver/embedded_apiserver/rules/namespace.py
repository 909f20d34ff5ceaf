# SPDX-License-Identifier: Apache-2.0
"""Rules of namespaces: the phase, the label with the name, and the finalizer that waits for the content."""

from __future__ import annotations

from datetime import datetime

from embedded_apiserver.kinds.registry import Kind
from embedded_apiserver.objects import Object, part, with_status_of
from embedded_apiserver.rules.rules import Rules

FINALIZER = "kubernetes"
_NAME_LABEL = "kubernetes.io/metadata.name"


class NamespaceRules(Rules):
    """A namespace has its name as a label, and a finalizer in its spec that stays until all its objects are gone."""

    def on_create(self, obj: Object) -> Object:
        finalizers = part(obj, "spec").get("finalizers", [])
        if FINALIZER not in finalizers:
            finalizers = [*finalizers, FINALIZER]
        return _labelled({**obj, "spec": {"finalizers": finalizers}, "status": {"phase": "Active"}})

    def on_update(self, kind: Kind, old: Object, new: Object, subresource: str) -> Object:
        if subresource == "finalize":
            return _labelled(with_status_of(old, new))
        isolated = super().on_update(kind, old, new, subresource)
        return _labelled({**isolated, "spec": part(old, "spec")})

    def on_delete(self, obj: Object, now: datetime) -> Object:
        return {**obj, "status": {**part(obj, "status"), "phase": "Terminating"}}


def _labelled(obj: Object) -> Object:
    metadata = obj["metadata"]
    labels = {**metadata.get("labels", {}), _NAME_LABEL: metadata["name"]}
    return {**obj, "metadata": {**metadata, "labels": labels}}
