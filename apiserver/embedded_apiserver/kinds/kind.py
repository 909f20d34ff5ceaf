# SPDX-License-Identifier: Apache-2.0
"""A kind as the server treats it, and the set of all kinds that it serves."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

import attrs

from apimachinery.schema import Schema, schema_for
from embedded_apiserver.kinds.cells import Cells
from embedded_apiserver.kinds.checks import UNCHECKED, Checks
from embedded_apiserver.kinds.definition import WORKLOAD, Definition, ScalePaths
from embedded_apiserver.kinds.policy import PLAIN, Policy
from embedded_apiserver.kinds.recorded import schemas_of
from embedded_apiserver.kinds.release import NEWEST, Release
from embedded_apiserver.objects import Object

VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")

T = TypeVar("T")
# The size of the caches by kind: more kinds than are served at one time. Bounded, because each new version of a
# custom resource definition makes a new kind.
_KINDS = 512

SCHEME = "k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30"
"""The place of the code in a real API server that knows most built-in kinds."""


class Conversion(Protocol):
    """Converts custom objects between the API versions of their kind, as specified in their definition.

    Threads: any; the caller must not hold a lock of the server.
    """

    def converted(self, objects: Sequence[Mapping[str, Any]], before: str, after: str) -> Sequence[Mapping[str, Any]]:
        """Return objects of the API version `before` converted to the version `after`.

        Neither the arguments nor the results have kind and apiVersion.

        Raises:
            StatusError: 500, the objects cannot be converted.
        """


# There is one instance for each kind and release, so comparing and hashing by identity is right, and fast.
@attrs.frozen(kw_only=True, eq=False)
class Kind:
    """One kind of object in one API version, with everything that the server knows about it.

    Attributes:
        group: The API group; empty for the core group.
        version: The API version, such as `v1`.
        kind: The kind, such as `Lease`.
        plural: The name of the resource in paths, such as `leases`.
        namespaced: True if each object is in a namespace, False if the kind is cluster-scoped.
        short_names: Short names for `kubectl`, such as `po`.
        categories: The groups of kinds for `kubectl get`, such as `all`.
        verbs: The supported verbs, in the order of discovery.
        subresources: The names of the subresources; see `parts.PARTS`.
        create_on_update: True if a PUT creates the object if it does not exist.
        unconditional_update: True if a PUT may have no resourceVersion, so that the last writer wins.
        deletes_with_object: True if the response to a DELETE is the object, False if it is a `Status` once the object
            is gone.
        name_rule: The rule for names: `subdomain`, `label`, `service`, `key`, or `path` (any path segment).
        fields: The fields that a field selector may name besides name and namespace, each with the value for objects
            that lack the field.
        field_paths: The path in the stored object of those `fields` whose name is not their path.
        names_known_fields: True if the error for an unsupported field selector lists the supported fields.
        unknown_field: The error message for an unsupported field in a selector, if it is special for the kind;
            otherwise empty.
        scheme: The source file of a real API server that its error messages for unknown kinds name; empty for the usual
            message.
        place: The path in a real API server's etcd, for error messages; empty if it is the plural.
        is_cached: False if a real API server reads objects of the kind from etcd and not from its cache.
        creates_by_status: True if a PUT or an apply of the status creates the object if it does not exist.
        tableless: The subresources for which a real API server returns no tables.
        hashed_version: The API version for discovery's `storageVersionHash`, the oldest that a real API server can
            read; empty for `version`.
        hidden_annotation: An annotation that is left out when only metadata is requested, because a real API server
            stores it as a field.
        template: The path of the object's pod template; empty if it has none.
        orphaning: The warning for a deletion without a propagation policy that orphans the dependents; empty if there
            is none.
        policy: The effects of a write on the parts of an object.
        checks: The validation rules, without those of the metadata; for a custom kind they follow from its definition.
        metadata: The further validations of changed metadata by a real API server, in their order: `w` is that of all
            metadata, `u` that of an update; `m` and `g` are the same, but allow finalizers without a domain.
        status_metadata: Like `metadata`, for a write of a subresource.
        cells: The functions for the cells of tables, by column; None if a real API server has no table code for the
            kind.
        row_conditions: A function that returns the conditions of an object's table row; None if rows have none.
        row_order: A function that returns the sort key of an object's table row; None for the order of the list.
        stored_as: The kind in whose form its objects are stored, if that has another group or API version; otherwise
            None.
        deprecation: The warning in each response; empty if the kind is not deprecated.
        release: The served Kubernetes release, whose schema, defaults and columns are used.
        newest: The same kind in the newest release; None if this is the newest release.
        scale: The paths of the fields for the `scale` subresource, if there is one.
        definition: The schema and columns of a custom kind; None for a built-in one.
        versions: The definitions of all API versions of a custom kind, by `group/version`.
        storage: The definition of the API version in which objects are stored, if that is another version; otherwise
            None.
        conversion: Converts objects between the versions by a webhook; None if only the apiVersion differs.
        stored_version: The API version, `group/version`, in which objects of a custom kind are stored.
        unmarked: The API version of stored objects that do not name their version: the first one that was stored.
        has_changed: True if the definition has changed, so that objects may be stored in an older form.
        is_terminating: True if the definition is being deleted, so that no objects may be created.
        singular: The singular name of the resource; by default the kind in lower case.
        list_kind: The kind of lists; by default the kind followed by `List`.
        api_version: `group/version`, or only the version in the core group.
        resource: The name of the collection in the storage: `plural.group` of `stored_as`, or of this kind if that is
            None.
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = VERBS
    subresources: tuple[str, ...] = ()
    create_on_update: bool = False
    unconditional_update: bool = True
    deletes_with_object: bool = False
    name_rule: str = "subdomain"
    fields: Mapping[str, str] = {}
    field_paths: Mapping[str, str] = {}
    names_known_fields: bool = True
    unknown_field: str = ""
    scheme: str = SCHEME
    place: str = ""
    is_cached: bool = True
    creates_by_status: bool = False
    tableless: tuple[str, ...] = ()
    hashed_version: str = ""
    hidden_annotation: str = ""
    template: tuple[str, ...] = ()
    orphaning: str = ""
    policy: Policy = PLAIN
    checks: Checks = UNCHECKED
    metadata: str = "u"
    status_metadata: str = "u"
    cells: Cells | None = None
    row_conditions: Callable[[Object], Sequence[Object]] | None = None
    row_order: Callable[[Object], tuple[int, str]] | None = None
    stored_as: Kind | None = None
    deprecation: str = ""
    release: Release = NEWEST
    newest: Kind | None = None
    scale: ScalePaths = WORKLOAD
    definition: Definition | None = None
    versions: Mapping[str, Definition] = {}
    storage: Definition | None = None
    conversion: Conversion | None = None
    stored_version: str = ""
    unmarked: str = ""
    has_changed: bool = False
    is_terminating: bool = False
    singular: str = attrs.field()
    list_kind: str = attrs.field()
    api_version: str = attrs.field(init=False)
    resource: str = attrs.field(init=False)

    @singular.default
    def _lower_case(self) -> str:
        return self.kind.lower()

    @list_kind.default
    def _with_list(self) -> str:
        return f"{self.kind}List"

    @api_version.default
    def _with_group(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @resource.default
    def _collection(self) -> str:
        if self.stored_as is not None:
            return self.stored_as.resource
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def schema(self) -> Schema:
        """The schema of the kind: from the definition of a custom kind, otherwise the recorded one.

        Raises:
            KeyError: The kind is built-in and no schema was recorded for it.
        """
        if self.definition is not None:
            return self.definition.schema
        named = self.group, self.version, self.kind
        schema = schema_for(*named) if self.release is NEWEST else schemas_of(str(self.release)).get(named)
        if schema is None:
            raise KeyError(f"no schema was recorded for {self.kind} of {self.api_version}")
        return schema

    def __eq__(self, other: object) -> bool:
        """Return whether both are one kind, whatever the release of each."""
        return self is other or (isinstance(other, Kind) and (self.newest or self) is (other.newest or other))

    def __hash__(self) -> int:
        return id(self.newest or self)

    @property
    def stored(self) -> Kind:
        """The kind in whose form the objects are stored; for most kinds the kind itself."""
        return self.stored_as or self

    @property
    def is_stored(self) -> bool:
        """True if the storage has objects of the kind; False for kinds that exist only in requests and responses, such
        as reviews.
        """
        return "get" in self.verbs and "create" in self.verbs

    @property
    def has_status(self) -> bool:
        """True if there is a `status` subresource, so that other writes do not change the status."""
        return "status" in self.subresources


def cached_by_kind(function: Callable[[Kind], T]) -> Callable[[Kind], T]:
    """Return a function that caches the results of `function` for each kind.

    The same kinds of different releases compare as equal, but are cached separately.
    """
    cached = functools.lru_cache(_KINDS)(lambda kind, release: function(kind))
    return functools.wraps(function)(lambda kind: cached(kind, kind.release))


class Kinds:
    """The kinds that are served at one moment. Immutable: a change of the custom kinds leads to a new set.

    Args:
        kinds: The kinds in the order of discovery. If two have the same path, the first one is served.

    Attributes:
        stored: The stored kinds, each once, even if several groups or versions show its objects.

    Threads: any.
    """

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._by_path: dict[tuple[str, str, str], Kind] = {}
        self._by_group: dict[str, dict[str, list[Kind]]] = {}
        self._by_name: dict[tuple[str, str], Kind] = {}
        for kind in kinds:
            if self._by_path.setdefault((kind.group, kind.version, kind.plural), kind) is kind:
                self._by_group.setdefault(kind.group, {}).setdefault(kind.version, []).append(kind)
                if kind.is_stored:
                    self._by_name.setdefault((kind.api_version, kind.kind), kind.stored)
        self.stored: tuple[Kind, ...] = tuple(dict.fromkeys(kind.stored for kind in self if kind.is_stored))

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        """Return the kind that is served with this group, version and plural; None if there is none."""
        return self._by_path.get((group, version, plural))

    def named(self, api_version: str, kind: str) -> Kind | None:
        """Return the stored kind of objects with this `apiVersion` and `kind`; None if there is none."""
        return self._by_name.get((api_version, kind))

    def groups(self) -> list[str]:
        """Return the names of the served API groups, without the core group."""
        return [group for group in self._by_group if group]

    def versions(self, group: str) -> list[str]:
        """Return the served versions of a group, the preferred one first; empty if the group is not served."""
        return list(self._by_group.get(group, ()))

    def of(self, group: str, version: str) -> list[Kind]:
        """Return the kinds of a group and version in the order of discovery; empty if they are not served."""
        return self._by_group.get(group, {}).get(version, [])

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._by_path.values())

    def __len__(self) -> int:
        return len(self._by_path)
