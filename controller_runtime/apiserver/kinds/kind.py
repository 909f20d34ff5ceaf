# SPDX-License-Identifier: Apache-2.0
"""What a kind of object is to the server, and the set of kinds it serves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import attrs

from controller_runtime.api.schema import Schema, schema_for
from controller_runtime.apiserver.kinds.definition import WORKLOAD, Definition, ScalePaths

VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")


@attrs.frozen(kw_only=True, eq=False)  # one object for each kind: compared and hashed by identity, which is cheap
class Kind:
    """One kind of object and how the API treats it.

    Attributes:
        group: API group, empty for the core group.
        version: Such as `v1`.
        kind: Such as `Lease`.
        plural: Name in paths.
        singular: The kind in lower case, as a rule.
        list_kind: What a list of its objects is, the kind with `List` as a rule.
        namespaced: Whether its objects live in namespaces.
        short_names: What `kubectl` may call it.
        categories: Such as `all`.
        verbs: What may be done with it, sorted.
        subresources: Parts with a path of their own.
        create_on_update: A PUT of what does not exist creates it.
        unconditional_update: A PUT may leave out the version; the last writer wins.
        deletes_with_object: DELETE answers the object, not a `Status`.
        name_rule: `subdomain`, `label`, `dns1035`, `key`, or `path` (whatever a path segment may be).
        fields: Selectable fields beside name and namespace, each with its text when absent.
        field_paths: Where a selectable field stands in the stored object, if not where its name says.
        names_known_fields: Whether the refusal of another field selector lists the known ones.
        stored_as: The kind whose objects these are, seen through another group or version.
        deprecation: What every answer warns of; empty for nothing.
        scale: Where its number of replicas stands, if it has a scale.
        definition: What says how its objects look, if somebody has defined the kind at run time.
        is_terminating: Whether its definition is being deleted, so that nothing new may be made.
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
    stored_as: Kind | None = None
    deprecation: str = ""
    scale: ScalePaths = WORKLOAD
    definition: Definition | None = None
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
        """The schema it was defined with, or the recorded one, which is loaded when first asked for.

        Raises:
            KeyError: None was recorded.
        """
        if self.definition is not None:
            return self.definition.schema
        schema = schema_for(self.group, self.version, self.kind)
        if schema is None:
            raise KeyError(f"no schema was recorded for {self.kind} of {self.api_version}")
        return schema

    @property
    def stored(self) -> Kind:
        """The kind whose objects the storage holds: itself, as a rule."""
        return self.stored_as or self

    @property
    def is_stored(self) -> bool:
        """Whether there are objects of it: a review is answered and forgotten."""
        return "get" in self.verbs

    @property
    def has_status(self) -> bool:
        """Whether the status is written through its own path only."""
        return "status" in self.subresources


class Kinds:
    """The kinds served at one time, by where they are found. Immutable: what is served may change, a snapshot does not.

    Args:
        kinds: In the order in which they are discovered. Of two at one path, the first is served.
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
        # Every kind of which there are objects, each once, however many groups and versions show it.
        self.stored: tuple[Kind, ...] = tuple(dict.fromkeys(kind.stored for kind in self if kind.is_stored))

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        """The kind served at a path, or None."""
        return self._by_path.get((group, version, plural))

    def named(self, api_version: str, kind: str) -> Kind | None:
        """The stored kind that objects mean by these words, or None."""
        return self._by_name.get((api_version, kind))

    def groups(self) -> list[str]:
        """The groups, without the core group."""
        return [group for group in self._by_group if group]

    def versions(self, group: str) -> list[str]:
        """The versions of a group, the preferred one first; none if it is not served."""
        return list(self._by_group.get(group, ()))

    def of(self, group: str, version: str) -> list[Kind]:
        """The kinds of a group version, in the order they were given."""
        return self._by_group.get(group, {}).get(version, [])

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._by_path.values())

    def __len__(self) -> int:
        return len(self._by_path)
