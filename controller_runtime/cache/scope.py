# SPDX-License-Identifier: Apache-2.0
"""Which collections a cache of a kind holds, where a program sets this once for all readers, field by field."""

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
    """The part of a kind that caches hold, and how they store it. Each field counts for itself.

    A field that is None is not set, and the next wider scope decides: that of the namespace within the scope of the
    kind, that of the kind, that of the namespace within the scope of all kinds, that of all kinds. An empty one is set:
    to everything.

    Attributes:
        namespaces: Only these namespaces: their names, or scopes by their names. With `""` as one of them, all the
            others are cached as well. It does not count for cluster-scoped kinds.
        label_selector: Only objects whose labels match.
        field_selector: Only objects whose fields match.
        transform: Changes objects before they are stored. It belongs to a kind as a whole, so the scope of a single
            namespace cannot have one.
        compress: Whether the caches compress their objects, as `CacheOptions.compress` says; of a kind as a whole. To
            leave it to the size of each collection, set it in no scope.
        bodies: Which objects are kept whole; of all others the caches keep the metadata, and fetch the rest when it is
            read. None keeps all whole. It belongs to a kind as a whole, and all kinds cannot have one.

    Raises:
        UsageError: `namespaces` is one name, or the scope of a namespace has more than selectors.
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
        namespace: The only namespace of kinds whose own scope names none; empty if it is not set.
    """

    all: CacheScope = _UNSET
    kind: CacheScope = _UNSET
    namespace: str = ""

    def of(self, collection: Collection) -> list[Collection]:
        """Return the collections to cache for readers that ask for `collection`; what it names itself counts first.

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
    """Return the options of a cache of one kind: what its scopes set, the narrower first, else what `options` say.

    Args:
        scopes: Those of the kind and of all kinds.
        options: The options of all caches.
        transform: The transform that was set for the kind alone, which comes before all others; None without one.
    """
    scopes = [*scopes]
    transforms = (transform, *(scope.transform for scope in scopes), options.transform)
    compress = [scope.compress for scope in scopes if scope.compress is not None]
    first, *_ = (*compress, options.compress)
    bodies = next(filter(None, (*(scope.bodies for scope in scopes), options.bodies)), None)
    return attrs.evolve(options, transform=next(filter(None, transforms), None), compress=first, bodies=bodies)


def bodies_of(collection: Collection, options: CacheOptions) -> Bodies | None:
    """Return which bodies a cache of a collection keeps; None if it keeps all, as that of a second watch does."""
    bodies = options.bodies
    if bodies is None or collection.resource.is_partial or options.make_store is not None:
        return None
    watched = bodies.watched(Collection(collection.resource))
    return None if watched is not None and covers(watched, collection) else bodies


def options_of_heads(options: CacheOptions) -> CacheOptions:
    """Return the options of a cache of metadata: a transform that may expect whole objects changes bodies alone."""
    return options if isinstance(options.transform, Without) else attrs.evolve(options, transform=None)


def covers(wide: Collection, narrow: Collection) -> bool:
    """Return whether each object of `narrow` is sure to be in `wide`: whether `wide` asks for no more than `narrow`."""
    if wide.resource != narrow.resource or wide.namespace not in ("", narrow.namespace):
        return False
    labels, fields = LabelSelector.parse(wide.label_selector), FieldSelector.parse(wide.field_selector)
    return set(labels.requirements) <= set(LabelSelector.parse(narrow.label_selector).requirements) and set(
        fields.requirements
    ) <= set(FieldSelector.parse(narrow.field_selector).requirements)


def without_covered(collections: Iterable[Collection]) -> list[Collection]:
    """Return the collections, each once, without those that another one covers: one cache is enough for both."""
    wanted = list(dict.fromkeys(collection.normalized() for collection in collections))
    return [one for one in wanted if not any(other != one and covers(other, one) for other in wanted)]
