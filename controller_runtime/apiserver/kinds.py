# SPDX-License-Identifier: Apache-2.0
"""What the server serves: one line of data for each kind.

A kind added here is stored, listed, watched, checked against its recorded schema and
merged by it. Rules that no schema tells stand in `rules`, by group and kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import attrs

from controller_runtime.api.schema import Schema, schema_for

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
        namespaced: Whether its objects live in namespaces.
        short_names: What `kubectl` may call it.
        categories: Such as `all`.
        verbs: What may be done with it, sorted.
        subresources: Parts with a path of their own.
        create_on_update: A PUT of what does not exist creates it.
        unconditional_update: A PUT may leave out the version; the last writer wins.
        deletes_with_object: DELETE answers the object, not a `Status`.
        name_rule: `subdomain`, `label`, or `path` (whatever a path segment may be).
        fields: Selectable fields beside name and namespace, each with its text when absent.
        names_known_fields: Whether the refusal of another field selector lists the known ones.
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
    names_known_fields: bool = True
    singular: str = attrs.field()
    api_version: str = attrs.field(init=False)
    resource: str = attrs.field(init=False)

    @singular.default
    def _lower_case(self) -> str:
        return self.kind.lower()

    @api_version.default
    def _with_group(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @resource.default
    def _plural_with_group(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def schema(self) -> Schema:
        """The recorded schema; loaded when first asked for.

        Raises:
            KeyError: None was recorded.
        """
        schema = schema_for(self.group, self.version, self.kind)
        if schema is None:
            raise KeyError(f"no schema was recorded for {self.kind} of {self.api_version}")
        return schema

    @property
    def has_status(self) -> bool:
        """Whether the status is written through its own path only."""
        return "status" in self.subresources


class Kinds:
    """The kinds served, by where they are found. Immutable."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self._by_path = {(kind.group, kind.version, kind.plural): kind for kind in kinds}

    def find(self, group: str, version: str, plural: str) -> Kind | None:
        """The kind served at a path, or None."""
        return self._by_path.get((group, version, plural))

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._by_path.values())

    def __len__(self) -> int:
        return len(self._by_path)


NAMESPACE = Kind(
    group="",
    version="v1",
    kind="Namespace",
    plural="namespaces",
    namespaced=False,
    short_names=("ns",),
    verbs=tuple(verb for verb in VERBS if verb != "deletecollection"),
    subresources=("status", "finalize"),
    deletes_with_object=True,
    name_rule="label",
    fields={"status.phase": ""},
    names_known_fields=False,
)
NODE = Kind(
    group="",
    version="v1",
    kind="Node",
    plural="nodes",
    namespaced=False,
    short_names=("no",),
    subresources=("status",),
    fields={"spec.unschedulable": "false"},
    names_known_fields=False,
)
POD = Kind(
    group="",
    version="v1",
    kind="Pod",
    plural="pods",
    short_names=("po",),
    categories=("all",),
    subresources=("status",),
    deletes_with_object=True,
    fields={
        "spec.nodeName": "",
        "spec.restartPolicy": "",
        "spec.schedulerName": "",
        "spec.serviceAccountName": "",
        "spec.hostNetwork": "false",
        "status.phase": "",
        "status.podIP": "",
        "status.podIPs": "",
        "status.nominatedNodeName": "",
    },
    names_known_fields=False,
)
LEASE = Kind(
    group="coordination.k8s.io",
    version="v1",
    kind="Lease",
    plural="leases",
    create_on_update=True,
    unconditional_update=False,
)

KINDS = Kinds((NAMESPACE, NODE, POD, LEASE))
