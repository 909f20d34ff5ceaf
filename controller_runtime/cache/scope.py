# SPDX-License-Identifier: Apache-2.0
"""The part of a kind that caches hold, set once for all readers of a program, field by field."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import attrs

from apimachinery.errors import UsageError
from apimachinery.plain_functions import plain
from apimachinery.selectors import FieldSelector, LabelSelector
from controller_runtime.api.collection import Collection
from controller_runtime.cache.bodies import Bodies
from controller_runtime.cache.compression import Compression
from controller_runtime.cache.options import CacheOptions
from controller_runtime.cache.transforms import Transform, Without


def _by_name(namespaces: Iterable[str] | Mapping[str, CacheScope] | None) -> Mapping[str, CacheScope] | None:
    if isinstance(namespaces, str):
        raise UsageError(f"namespaces ({namespaces!r}) must be several names: write ({namespaces!r},)")
    if namespaces is None or isinstance(namespaces, Mapping):
        return namespaces
    return dict.fromkeys(namespaces, CacheScope())


@attrs.frozen(kw_only=True)
class CacheScope:
    """The part of a kind that caches hold, and how they store it. Each field is set separately.

    A field that is None is not set. Then the next scope in this order decides: the namespace's scope within the kind's
    scope, the kind's scope, the namespace's scope within the scope of all kinds, the scope of all kinds. An empty value
    is set, and means everything.

    Attributes:
        namespaces: Only these namespaces: their names, or a scope by each name. The name `""` stands for all other
            namespaces. Those of all kinds do not apply to cluster-scoped kinds, whose own scope must have none.
        label_selector: Only objects whose labels match.
        field_selector: Only objects whose fields match.
        transform: Changes objects before they are stored. It applies to a whole kind, so the scope of a namespace
            cannot have one.
        compress: Whether the caches compress their objects; see `CacheOptions.compress`. It applies to a whole kind. If
            no scope sets it, the options of the program's caches decide.
        bodies: Selects the objects that are kept whole. Of the others the caches have only the metadata, and fetch the
            whole object when it is read. None keeps all whole. Only the scope of one kind may set it.

    Raises:
        UsageError: `namespaces` is a single text, or the scope of a namespace has fields other than selectors.
    """

    namespaces: Mapping[str, CacheScope] | None = attrs.field(default=None, converter=_by_name)
    label_selector: str | None = None
    field_selector: str | None = None
    transform: Transform | None = None
    compress: bool | Compression | None = None
    bodies: Bodies | None = None

    def __attrs_post_init__(self) -> None:
        plain("transform of a CacheScope", self.transform)
        for name, scope in (self.namespaces or {}).items():
            if any((scope.namespaces, scope.transform, scope.bodies)) or scope.compress is not None:
                raise UsageError(f"the scope of namespace {name!r} can have selectors alone")


_UNSET = CacheScope()


@attrs.frozen
class Scopes:
    """The scopes of one program.

    Attributes:
        all: The scope of all kinds.
        kind: The scope of one kind.
        namespace: The namespace for kinds whose own scope has no namespaces; empty if it is not set.
    """

    all: CacheScope = _UNSET
    kind: CacheScope = _UNSET
    namespace: str = ""

    def of(self, collection: Collection) -> list[Collection]:
        """Return the collections to cache for readers of `collection`. Its own fields take precedence over the scopes.

        Raises:
            UsageError: A cluster-scoped kind has a scope with namespaces.
        """
        if not collection.resource.namespaced:
            if self.kind.namespaces:
                raise UsageError(f"{collection.resource} are cluster-scoped: their scope has no namespaces")
            return [self._narrowed(collection, collection.namespace, ())]
        if collection.namespace:
            return [self._narrowed(collection, collection.namespace, ())]
        names = self.kind.namespaces
        if names is None:
            names = {self.namespace: _UNSET} if self.namespace else self.all.namespaces
        names = names or {"": _UNSET}
        return [self._narrowed(collection, name, [other for other in names if other]) for name in names]

    def _narrowed(self, collection: Collection, namespace: str, named: Sequence[str]) -> Collection:
        inner = (self.kind.namespaces or {}).get(namespace, _UNSET)
        outer = (self.all.namespaces or {}).get(namespace, _UNSET)
        scopes = (inner, self.kind, outer, self.all)
        labels = collection.label_selector or _first(scope.label_selector for scope in scopes)
        fields = collection.field_selector or _first(scope.field_selector for scope in scopes)
        if not namespace:  # those that are named have a cache of their own
            fields = ",".join(filter(None, [*(f"metadata.namespace!={name}" for name in named), fields]))
        return attrs.evolve(collection, namespace=namespace, label_selector=labels, field_selector=fields)


def _first(values: Iterable[str | None]) -> str:
    return next((value for value in values if value is not None), "")


def options_of(scopes: Iterable[CacheScope], options: CacheOptions, transform: Transform | None) -> CacheOptions:
    """Return the options of a cache of one kind.

    Values of the scopes, the narrower first, take precedence over `options`.

    Args:
        scopes: The scope of the kind, then that of all kinds.
        options: The options of all caches.
        transform: The transform that was set for this kind, which takes precedence; None if there is none.
    """
    scopes = [*scopes]
    transforms = (transform, *(scope.transform for scope in scopes), options.transform)
    compress = [scope.compress for scope in scopes if scope.compress is not None]
    first, *_ = (*compress, options.compress)
    bodies = next(filter(None, (*(scope.bodies for scope in scopes), options.bodies)), None)
    return attrs.evolve(options, transform=next(filter(None, transforms), None), compress=first, bodies=bodies)


def bodies_of(collection: Collection, options: CacheOptions) -> Bodies | None:
    """Return how a cache of a collection selects the objects that it keeps whole; None if it keeps all whole.

    It is also None for the second watch, which brings just those objects that a selector of `Bodies` selects.
    """
    bodies = options.bodies
    if bodies is None or collection.resource.is_partial or options.make_store is not None:
        return None
    watched = bodies.watched(Collection(collection.resource))
    return None if watched is not None and covers(watched, collection) else bodies


def options_of_heads(options: CacheOptions) -> CacheOptions:
    """Return the options for a cache of metadata.

    Of transforms it keeps only one that removes fields, since others need whole objects.
    """
    return options if isinstance(options.transform, Without) else attrs.evolve(options, transform=None)


def covers(wide: Collection, narrow: Collection) -> bool:
    """Return whether every object of `narrow` is certainly in `wide`: all requirements of `wide` are those of `narrow`,
    too.
    """
    if wide.resource != narrow.resource or wide.namespace not in ("", narrow.namespace):
        return False
    labels, fields = LabelSelector.parse(wide.label_selector), FieldSelector.parse(wide.field_selector)
    return set(labels.requirements) <= set(LabelSelector.parse(narrow.label_selector).requirements) and set(
        fields.requirements
    ) <= set(FieldSelector.parse(narrow.field_selector).requirements)


def without_covered(collections: Iterable[Collection]) -> list[Collection]:
    """Return the collections without duplicates, and without those that another one contains."""
    wanted = list(dict.fromkeys(collection.normalized() for collection in collections))
    return [one for one in wanted if not any(other != one and covers(other, one) for other in wanted)]
