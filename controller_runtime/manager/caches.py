# SPDX-License-Identifier: Apache-2.0
"""The caches of a manager: the listers and informers that its controllers share, and the definitions of their kinds."""

from __future__ import annotations

from typing import Any, TypeVar, overload

from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import Kind
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.lister import Lister
from controller_runtime.crd.types import CustomResource
from controller_runtime.manager.definitions import Definitions

T = TypeVar("T")
V = TypeVar("V")


class ManagedCaches:
    """The part of a manager that gives its users caches; the base of `Manager`, which makes the two attributes.

    Threads: any.
    """

    informers: Informers
    definitions: Definitions

    @overload
    def lister(
        self,
        resource: Kind[T],
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        any_version: bool = False,
    ) -> Lister[T]: ...

    @overload
    def lister(
        self,
        resource: Kind[Any],
        view: type[V],
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        any_version: bool = False,
    ) -> Lister[V]: ...

    def lister(
        self,
        resource: Kind[Any],
        view: type[Any] | None = None,
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        any_version: bool = False,
    ) -> Lister[Any]:
        """Return a lister, which reads the cache of one collection.

        Args:
            resource: The collection, or the declared class of its objects.
            view: The class to decode objects to; None is the resource's own.
            namespace: Only this namespace; empty is the manager's, or else all of them.
            label_selector: Only objects that the server finds to match it; empty is all of them.
            field_selector: The same for fields.
            any_version: Begin with any state that the server has at hand, which may be older than what this program
                saw before it was restarted. It spares a server older than Kubernetes 1.31 a list from etcd. The first
                call for a collection decides; others, and controllers that watch it, share its cache.

        Raises:
            ValueError: `view` has fields that objects of this kind cannot have.
            UsageError: `any_version` is asked for, and the collection is cached already from the most recent state.
        """
        collection = Collection(resource, namespace, label_selector, field_selector)
        informer = self._informer(collection, any_version=any_version)
        lister = Lister(informer.store, resource, view)
        known = collection.resource
        self.informers.note_view(known, known.default_view() if view is None else view)
        return lister

    def informer(
        self,
        resource: Kind[Any],
        *,
        namespace: str = "",
        label_selector: str = "",
        field_selector: str = "",
        any_version: bool = False,
    ) -> Informer:
        """Return the informer of one collection, to subscribe to; the informer runs while the manager does.

        The arguments are those of `lister`.
        """
        collection = Collection(resource, namespace, label_selector, field_selector)
        self.informers.note_view(collection.resource, dict)
        return self._informer(collection, any_version=any_version)

    def _informer(self, collection: Collection, *, any_version: bool) -> Informer:
        self.definitions.see(collection.resource)
        return self.informers.of(collection, any_version=any_version)

    def install(self, *classes: type[CustomResource], storage: type[CustomResource] | None = None) -> None:
        """Install the definition of a declared class when the manager starts, before its caches do.

        The definition is applied on the server's side, and the manager waits until its kind is served. A definition
        that another field manager owns is not taken over. Whether it is installed or not, a class that is cached is
        compared with the definition that the server has: the manager does not start if the class could not read the
        objects, and logs what else differs.

        Args:
            *classes: The versions of one kind. Without any, the classes of all caches get a definition each, unless
                there is one of their name already.
            storage: The version in which the server stores objects; by default the first.

        Raises:
            TypeError: A class is not declared with `custom_resource`.
            ValueError: The classes are not versions of one kind.
        """
        self.definitions.add(classes, storage)
