# SPDX-License-Identifier: Apache-2.0
"""Resources: what the API calls a collection of one kind, and where its paths are."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import attrs

if TYPE_CHECKING:  # the models take 0.2 s and 30 MiB to import, which a program that uses views need not pay
    from kubernetes.client import (
        CoreV1Event,
        EventsV1Event,
        V1beta1LeaseCandidate,
        V1Lease,
        V1Namespace,
        V1Node,
        V1Pod,
    )

    from controller_runtime.api.objects import PartialObjectMetadata

T = TypeVar("T")

_GROUP = re.compile(r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?")
_SEGMENT = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def _matching(pattern: re.Pattern[str]) -> Any:
    return attrs.validators.matches_re(pattern, func=re.fullmatch)


@attrs.frozen
class Resource(Generic[T]):
    """One collection of the API; `T` is the class its objects are read as by default.

    Attributes:
        group: API group, empty for the core group.
        version: API version, such as `v1`.
        kind: Kind of its objects, such as `Node`.
        plural: Name in paths, such as `nodes`.
        namespaced: Whether its objects live in namespaces.
        model: Default class as `module:Class`, imported when first needed; None reads dicts.
        is_partial: Whether only the metadata of its objects is served; see `only_metadata`.
    """

    group: str = attrs.field(validator=_matching(_GROUP))
    version: str = attrs.field(validator=_matching(_SEGMENT))
    kind: str = attrs.field(validator=_matching(re.compile(r"[A-Z][A-Za-z0-9]*")))
    plural: str = attrs.field(validator=_matching(re.compile(r"[a-z][a-z0-9]*")))
    namespaced: bool = True
    model: str | None = attrs.field(default=None, eq=False)
    is_partial: bool = attrs.field(default=False, kw_only=True)

    @property
    def api_version(self) -> str:
        """`group/version`, or the version alone in the core group; as objects carry it."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        name = f"{self.plural}.{self.group}" if self.group else self.plural
        return f"{name} (metadata)" if self.is_partial else name

    def only_metadata(self) -> Resource[PartialObjectMetadata]:
        """The same objects without all but their metadata: a fraction of the bytes, where names and labels are enough.

        The server strips them, so they cost no transfer. To a cache this is another
        collection: who lists the whole objects as well pays for both.
        """
        model = "controller_runtime.api.objects:PartialObjectMetadata"
        return cast("Resource[PartialObjectMetadata]", attrs.evolve(self, model=model, is_partial=True))

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """The path of the collection, of one object, or of a part of it.

        Args:
            namespace: Empty for cluster-scoped kinds, and for a collection across all namespaces.
            name: Empty for the collection.
            subresource: Such as `status`; needs a name.

        Raises:
            ValueError: A namespace for a cluster-scoped kind, a name without a
                namespace for a namespaced one, or a part that would break the path.
        """
        if namespace and not self.namespaced:
            raise ValueError(f"{self} is cluster-scoped: no namespace, got {namespace!r}")
        if name and self.namespaced and not namespace:
            raise ValueError(f"{self} is namespaced: {name!r} needs a namespace")
        for part in (namespace, name, subresource):
            if "/" in part or part in (".", "..") or "%" in part:
                raise ValueError(f"{part!r} is not a path segment name: it may not be '.', '..' or contain '/' or '%'")
        path = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        if namespace:
            path += f"/namespaces/{namespace}"
        path += f"/{self.plural}"
        if name:
            path += f"/{name}"
        return f"{path}/{subresource}" if subresource else path

    def default_view(self) -> type[T]:
        """The class its objects are read as when nothing else is asked for; imports the models."""
        if self.model is None:
            return cast("type[T]", dict)
        module, _, name = self.model.partition(":")
        return cast("type[T]", getattr(importlib.import_module(module), name))


NODES: Resource[V1Node] = Resource("", "v1", "Node", "nodes", False, "kubernetes.client:V1Node")
PODS: Resource[V1Pod] = Resource("", "v1", "Pod", "pods", True, "kubernetes.client:V1Pod")
NAMESPACES: Resource[V1Namespace] = Resource(
    "", "v1", "Namespace", "namespaces", False, "kubernetes.client:V1Namespace"
)
LEASES: Resource[V1Lease] = Resource("coordination.k8s.io", "v1", "Lease", "leases", True, "kubernetes.client:V1Lease")
LEASE_CANDIDATES: Resource[V1beta1LeaseCandidate] = Resource(
    "coordination.k8s.io",
    "v1beta1",
    "LeaseCandidate",
    "leasecandidates",
    True,
    "kubernetes.client:V1beta1LeaseCandidate",
)
EVENTS: Resource[EventsV1Event] = Resource(
    "events.k8s.io", "v1", "Event", "events", True, "kubernetes.client:EventsV1Event"
)
# The same objects under their older names of fields.
CORE_EVENTS: Resource[CoreV1Event] = Resource("", "v1", "Event", "events", True, "kubernetes.client:CoreV1Event")
