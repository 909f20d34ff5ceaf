# SPDX-License-Identifier: Apache-2.0
"""Resources: the collections of the API, such as Nodes or Pods, with their paths."""

from __future__ import annotations

import importlib
import re
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar, cast

import attrs

from apimachinery.errors import UsageError

if TYPE_CHECKING:  # importing the models takes 0.2 s and 30 MiB, which programs that use views do not need
    from kubernetes.client import (
        CoreV1Event,
        EventsV1Event,
        V1beta1LeaseCandidate,
        V1Lease,
        V1Namespace,
        V1Node,
        V1Pod,
    )

    from apimachinery.objects import PartialObjectMetadata

T = TypeVar("T")

_GROUP = re.compile(r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*)?")
_SEGMENT = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def _matching(pattern: re.Pattern[str]) -> Any:
    return attrs.validators.matches_re(pattern, func=re.fullmatch)


@attrs.frozen
class Resource(Generic[T]):
    """A collection of the API: all objects of one kind. `T` is the class into which they are decoded by default.

    For a kind without a constant in this module, such as a custom one, construct one. For example:
    `Resource("example.com", "v1", "Database", "databases")`.

    Attributes:
        group: The API group; empty for the core group.
        version: The API version, such as `v1`.
        kind: The kind of the objects, such as `Node`.
        plural: The name in paths, such as `nodes`.
        namespaced: True if each object is in a namespace, False if the kind is cluster-scoped.
        model: The default class, or its name as `module:Class`, imported at first use; None decodes into dicts.
        is_partial: True if only the metadata of the objects is requested; see `only_metadata`.

    Raises:
        ValueError: Group, version, kind or plural is not in the form that the API requires.
    """

    group: str = attrs.field(validator=_matching(_GROUP))
    version: str = attrs.field(validator=_matching(_SEGMENT))
    kind: str = attrs.field(validator=_matching(re.compile(r"[A-Z][A-Za-z0-9]*")))
    plural: str = attrs.field(validator=_matching(re.compile(r"[a-z][a-z0-9]*")))
    namespaced: bool = True
    model: str | type[Any] | None = attrs.field(default=None, eq=False)
    is_partial: bool = attrs.field(default=False, kw_only=True)

    @property
    def api_version(self) -> str:
        """The `apiVersion` of the objects: `group/version`, or only the version in the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        name = f"{self.plural}.{self.group}" if self.group else self.plural
        return f"{name} (metadata)" if self.is_partial else name

    def only_metadata(self) -> Resource[PartialObjectMetadata]:
        """Return the same resource, with only the metadata of its objects, which is enough to read names and labels.

        The server leaves out the rest, so less is transferred and cached. Caches treat the two resources as different
        collections: a program that uses both watches and stores both.
        """
        model = "apimachinery.objects:PartialObjectMetadata"
        return cast("Resource[PartialObjectMetadata]", attrs.evolve(self, model=model, is_partial=True))

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the URL path of the collection, of one object, or of a subresource.

        Args:
            namespace: The namespace; empty for a cluster-scoped kind, and for the collection across all namespaces.
            name: The object's name; empty for the collection.
            subresource: A subresource of the object, such as `status`; empty for the object itself.

        Raises:
            ValueError: A namespace is given for a cluster-scoped kind, a name is given without a namespace for a
                namespaced kind, or a segment would change the path (`.`, `..`, or a text with `/` or `%`).
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
        """Return the class into which objects are decoded by default. If `model` is a name, its module is imported.

        Raises:
            UsageError: The installed release of the official client has no such model. The message names the releases
                that have one, if they are known.
        """
        if self.model is None:
            return cast("type[T]", dict)
        if isinstance(self.model, type):
            return cast("type[T]", self.model)
        module, _, name = self.model.partition(":")
        found = getattr(importlib.import_module(module), name, None)
        if found is None and module == "kubernetes.client":
            from controller_runtime.api.model_releases import why_missing  # only this message needs them

            raise UsageError(why_missing(str(self), name, importlib.import_module("kubernetes").__version__))
        if found is None:
            raise UsageError(f"{self}: {module} has no class {name}")
        return cast("type[T]", found)


Kind: TypeAlias = Resource[T] | type[T]
"""A resource, or a class that `custom_resource` has made one: both name a collection and the class of its objects."""


def resource_of(kind: Resource[T] | type[T]) -> Resource[T]:
    """Return the resource that a custom resource class declares; return a `Resource` unchanged.

    Raises:
        TypeError: `kind` is a class that is not declared as a custom resource. A subclass needs its own declaration,
            because its objects would otherwise be read as its base class.
    """
    if isinstance(kind, Resource):
        return kind
    found: Resource[T] | None = getattr(kind, "__dict__", {}).get(RESOURCE_ATTRIBUTE)  # not that of a base
    if found is None:
        name = getattr(kind, "__name__", repr(kind))
        raise TypeError(f"{name} is not a kind: give a Resource, or a class declared with @custom_resource")
    return found


RESOURCE_ATTRIBUTE = "__resource__"
"""The attribute in which a class that is declared as a custom resource has its resource."""

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
# The same objects as `EVENTS`, served in the core group with the older field names.
CORE_EVENTS: Resource[CoreV1Event] = Resource("", "v1", "Event", "events", True, "kubernetes.client:CoreV1Event")
