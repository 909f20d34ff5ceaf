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
"""The place of the code in a real server that knows most built-in kinds."""


class Conversion(Protocol):
    """Converts custom objects between the API versions of their kind, as their definition says.

    Threads: any; no lock of the server may be held.
    """

    def converted(self, objects: Sequence[Mapping[str, Any]], before: str, after: str) -> Sequence[Mapping[str, Any]]:
        """Return objects of the version `before` in the version `after`; all have neither kind nor apiVersion.

        Raises:
            StatusError: 500, they cannot be converted.
        """


# There is one instance for each kind and release, so comparing and hashing by identity is right, and fast.
@attrs.frozen(kw_only=True, eq=False)
class Kind:
    """One kind of object in one API version, and all that the server knows of it.

    Attributes:
        group: The API group; empty for the core group.
        version: The API version, such as `v1`.
        kind: The kind, such as `Lease`.
        plural: The name in paths, such as `leases`.
        namespaced: True if each object is in a namespace, False if the kind is cluster-scoped.
        short_names: Short names for `kubectl`, such as `po`.
        categories: The groups of kinds for `kubectl get`, such as `all`.
        verbs: The verbs that are allowed, in the order of discovery.
        subresources: The names of its subresources; see `parts.PARTS`.
        create_on_update: True if a PUT of an object that does not exist creates it.
        unconditional_update: True if a PUT may come without a resourceVersion, so that the last writer wins.
        deletes_with_object: True if DELETE responds with the object, False if with a `Status`.
        name_rule: The rule for names: `subdomain`, `label`, `key`, or `path` (any path segment).
        fields: The fields that a field selector may name besides name and namespace. The value of each is what a
            selector compares if an object lacks the field.
        field_paths: For each of `fields` whose name is not its path in the stored object: that path.
        names_known_fields: True if the response that refuses a field selector lists the fields that it may name.
        unknown_field: The response that refuses another field, if a real server has one of its own for the kind.
        scheme: The place of the code in a real server that knows the kind, which refusals of unknown kinds name; empty
            if unknown kinds are refused as others are.
        place: The path in the storage of a real server, which refusals name; the plural if it is empty.
        is_cached: False if a real server reads single objects from its storage, as it does lists.
        creates_by_status: True if a PUT or an apply of the status of an object that does not exist creates it.
        tableless: The subresources that a real server shows as objects only, whatever form is asked for.
        hashed_version: The version whose hash discovery tells, the oldest that a real server reads; empty for its own.
        hidden_annotation: The annotation without which metadata are shown alone: a real server keeps it as a field.
        template: The path of the template of the pods that a controller makes of an object; empty if absent.
        orphaning: The warning of a deletion that keeps the dependents because its client names no policy.
        policy: The parts that a write sets, keeps and counts.
        checks: The rules for objects, except for their metadata; those of a custom kind are in its definition.
        metadata: The rules that a real server applies to changed metadata besides the general ones, in their order: `w`
            those of all metadata, `u` those of an update, `m` and `g` the same, but for finalizers without a domain,
            which they allow.
        status_metadata: The same for a write of a subresource.
        cells: The cells of its tables, by the names of the columns; None if a real server has no code for them.
        row_conditions: From an object to the conditions of its row; None if rows have none.
        row_order: From an object to its place among the rows; None for the order of the list.
        stored_as: The kind as which its objects are stored, if that is another group or API version of this kind.
        deprecation: The warning that each response carries; empty if the kind is not deprecated.
        release: The release as which it is served, whose schema, defaults and columns its objects have.
        newest: The kind in the newest release, of which this one was made; None for that one itself.
        scale: The paths of the fields that its `scale` subresource shows, if it has one.
        definition: The schema and columns of a custom kind; None for a built-in one.
        versions: The definitions of all API versions of a custom kind, by `group/version`.
        storage: The definition of the API version in whose form objects are stored, if that is another version.
        conversion: Converts objects between the versions by a webhook; None if only the apiVersion differs.
        stored_version: The API version, `group/version`, in which objects of a custom kind are stored.
        unmarked: The API version of stored objects that do not name theirs: the first that was ever stored.
        has_changed: True if the definition was changed, so that objects may be stored in an older form.
        is_terminating: True if its definition is being deleted, so that no object may be created.
        singular: The name of one object; by default the kind in lower case.
        list_kind: The kind of a list; by default the kind with `List` added.
        api_version: `group/version`, or only the version in the core group.
        resource: The name of the collection in the storage: `plural.group` of `stored_as`, or of this kind without it.
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
        """The schema of its definition if it is custom, otherwise the recorded one.

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
        """The kind as which its objects are stored; for most kinds the kind itself."""
        return self.stored_as or self

    @property
    def is_stored(self) -> bool:
        """True if the storage has objects of the kind; False for what is only answered or shown, such as reviews."""
        return "get" in self.verbs and "create" in self.verbs

    @property
    def has_status(self) -> bool:
        """True if there is a `status` subresource, so that other writes leave the status as it is."""
        return "status" in self.subresources


def cached_by_kind(function: Callable[[Kind], T]) -> Callable[[Kind], T]:
    """Cache what a function makes of a kind of one release; kinds of two releases are equal, and cached apart."""
    cached = functools.lru_cache(_KINDS)(lambda kind, release: function(kind))
    return functools.wraps(function)(lambda kind: cached(kind, kind.release))


class Kinds:
    """The kinds that are served at one moment. Immutable: when a custom kind comes or goes, a new set is made.

    Args:
        kinds: The kinds in the order of discovery. If two have the same path, the first is served.

    Attributes:
        stored: The kinds that are stored, each once, however many groups and versions show its objects.

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
        """Return the kind that is served under a group, version and plural, or None."""
        return self._by_path.get((group, version, plural))

    def named(self, api_version: str, kind: str) -> Kind | None:
        """Return the kind as which objects with this `apiVersion` and `kind` are stored, or None."""
        return self._by_name.get((api_version, kind))

    def groups(self) -> list[str]:
        """Return the names of the groups, without the core group."""
        return [group for group in self._by_group if group]

    def versions(self, group: str) -> list[str]:
        """Return the versions of a group, the preferred one first; empty if the group is not served."""
        return list(self._by_group.get(group, ()))

    def of(self, group: str, version: str) -> list[Kind]:
        """Return the kinds of a group version, in the order of discovery; empty if it is not served."""
        return self._by_group.get(group, {}).get(version, [])

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._by_path.values())

    def __len__(self) -> int:
        return len(self._by_path)
