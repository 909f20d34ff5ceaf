# SPDX-License-Identifier: Apache-2.0
"""The caches of a manager: the listers and informers that its controllers share, and the definitions of their kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar, overload

import attrs

from apimachinery.errors import UsageError
from apimachinery.host import Host
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import Kind
from controller_runtime.cache.audit import CacheAudit
from controller_runtime.cache.informer import Informer
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.lister import Lister
from controller_runtime.cache.scope import CacheScope
from controller_runtime.cache.union import Union
from controller_runtime.client.counting import CountingTransport
from controller_runtime.client.listwatch import ListWatch
from controller_runtime.controller.controller import Controller
from controller_runtime.crd.types import CustomResource
from controller_runtime.manager.definitions import Definitions
from controller_runtime.manager.lifecycle import Runnable
from controller_runtime.manager.members import Members

T = TypeVar("T")
V = TypeVar("V")


class ManagedCaches:
    """The part of a manager that gives its users caches; the base of `Manager`, which makes the attributes.

    Threads: any.
    """

    host: Host
    informers: Informers
    definitions: Definitions
    transport: CountingTransport
    audits_caches: bool = False
    """Whether `audit_caches` was called."""
    _members: Members

    @property
    def runnables(self) -> list[Runnable]:
        """All that was added beside controllers, recorders of events among it."""
        return [member for member in self._members.all() if not isinstance(member, Controller)]

    def add(self, thing: Controller | Runnable) -> None:
        """See `Manager.add`."""
        raise NotImplementedError

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
            namespace: Only this namespace; empty is the manager's or those of the kind's scope, or else all of them.
            label_selector: Only objects that the server finds to match it; empty is that of the kind's scope, or else
                all of them.
            field_selector: The same for fields.
            any_version: Begin with any state that the server has at hand, which may be older than what this program
                saw before it was restarted. It spares a server older than Kubernetes 1.31 a list from etcd. The first
                call for a collection decides; others, and controllers that watch it, share its cache.

        Raises:
            ValueError: `view` has fields that objects of this kind cannot have.
            UsageError: `any_version` is asked for, and the collection is cached already from the most recent state.
        """
        collection = Collection(resource, namespace, label_selector, field_selector)
        return self._union((collection,), view, any_version=any_version)

    @overload
    def union_lister(self, *collections: Collection) -> Lister[Any]: ...

    @overload
    def union_lister(self, *collections: Collection, view: type[V]) -> Lister[V]: ...

    def union_lister(self, *collections: Collection, view: type[Any] | None = None) -> Lister[Any]:
        """Return a lister of several collections of one kind: each object once, in its newest state.

        Each collection has a cache, shared with all other readers of it, unless another of the collections covers it.
        An object that is in two of them is in memory once. The collections follow the server each by itself: an object
        that moves from one to another may for a moment be in both, where the newer state is read, or in neither.

        Args:
            collections: Such as `Collection(PODS, label_selector="app=a"), Collection(PODS, "kube-system")`.
            view: The class to decode objects to; None is the resource's own.

        Raises:
            UsageError: There is no collection, or they are of several kinds.
            ValueError: A selector is malformed, or `view` has fields that objects of this kind cannot have.
        """
        kinds = {collection.resource for collection in collections}
        if len(kinds) != 1:
            raise UsageError(f"a lister reads one kind, not {len(kinds)}: give collections of one resource")
        return self._union(collections, view)

    def scope_caches(
        self, all_kinds: CacheScope | None = None, kinds: Mapping[Kind[Any], CacheScope] = MappingProxyType({})
    ) -> None:
        """Set what the caches hold of all kinds, and of single kinds; call it before the first lister or controller.

        Each field is the first that is set (not None) of: the argument of the call that makes the lister or the watch,
        the scope of the kind, the manager's namespace, the scope of all kinds. A kind with several namespaces has a
        cache for each, which a lister and `Controller.watch` use together.

        Args:
            all_kinds: The scope of all kinds.
            kinds: The scopes of single kinds.

        Raises:
            UsageError: Something that this would change is cached already.
        """
        self.informers.scope(all_kinds or CacheScope(), kinds)

    def _union(self, wanted: Sequence[Collection], view: type[Any] | None, *, any_version: bool = False) -> Lister[Any]:
        resource = wanted[0].resource
        self.definitions.see(resource)
        stores = [informer.store for informer in self.informers.each(*wanted, any_version=any_version)]
        lister: Lister[Any] = Lister(stores[0] if len(stores) == 1 else Union(self.host, stores), resource, view)
        self.informers.note_view(resource, resource.default_view() if view is None else view)
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

        Raises:
            UsageError: The scope of the kind has several namespaces, and none of them is named here.
        """
        collection = Collection(resource, namespace, label_selector, field_selector)
        self.definitions.see(collection.resource)
        informer = self.informers.of(collection, any_version=any_version)
        self.informers.note_view(collection.resource, dict)
        return informer

    def audit_caches(self, *, every: float = 60.0, most_objects: int | None = 50_000) -> None:
        """Compare the caches with the server while the manager runs, slowly, and list again one that lost a change.

        A watch that loses a change, by a fault of the server or of a proxy, leaves a wrong object in the cache until
        the next list. Each turn asks for one page: the metadata of up to 500 objects at the resourceVersion that the
        cache has reached. With the defaults 10,000 objects take 20 minutes. Differences are logged, counted
        and mended.

        Args:
            every: Seconds between two pages, of all caches together.
            most_objects: Caches with more objects are not audited; None: all are.

        Raises:
            UsageError: The caches are audited already, or the manager is stopping or has stopped.
            ValueError: `every` is not positive.
        """

        def source_of(informer: Informer) -> ListWatch:
            collection = attrs.evolve(informer.collection, resource=informer.resource.only_metadata())
            return ListWatch(self.host, self.transport, collection)

        self.add(CacheAudit(self.host, self.informers, source_of, every=every, most_objects=most_objects))
        self.audits_caches = True

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
