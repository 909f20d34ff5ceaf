# SPDX-License-Identifier: Apache-2.0
"""`NamespaceLifecycle`: no new object in a namespace that does not exist, or that is being deleted."""

from __future__ import annotations

from embedded_apiserver.admission.step import Attributes, Operation, Step
from embedded_apiserver.groups.core.kinds import NAMESPACE
from embedded_apiserver.objects import Object
from embedded_apiserver.status import namespace_terminating, not_found

PERMANENT = ("default", "kube-system", "kube-public")
"""The namespaces that cannot be deleted."""


class NamespaceLifecycle(Step):
    """Refuses new objects in namespaces that do not exist or are being deleted."""

    name = "NamespaceLifecycle"
    operations = (Operation.CREATE,)

    def admit(self, attributes: Attributes) -> Object:
        kind, namespace = attributes.kind, attributes.namespace
        if kind.namespaced:
            found = self._storage.get(NAMESPACE.resource, namespace)
            if found is None:
                raise not_found(NAMESPACE, namespace)
            if "deletionTimestamp" in found.decode()["metadata"]:
                raise namespace_terminating(kind, attributes.obj.get("metadata", {}).get("name", ""), namespace)
        return attributes.obj
