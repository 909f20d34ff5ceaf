# SPDX-License-Identifier: Apache-2.0
"""From a path to what it names: a kind, a namespace, an object, a part of it."""

from __future__ import annotations

from typing import NamedTuple

from controller_runtime.apiserver.kinds.kind import Kind, Kinds
from controller_runtime.apiserver.kinds.parts import PARTS
from controller_runtime.apiserver.storage.stored import key_of

# `/namespaces/x/status` is a part of the namespace x; `/namespaces/x/pods` is the pods in it.
_PARTS_OF_NAMESPACES = ("status", "finalize")


class Route(NamedTuple):
    """What a path names.

    Attributes:
        kind: Of the objects.
        namespace: Empty for cluster-scoped kinds, and for a collection across all namespaces.
        name: Empty for a collection.
        subresource: Such as `status`, empty for the object itself.
    """

    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def sent(self) -> Kind:
        """The kind of what is sent and shown there."""
        return (PARTS[self.subresource].kind if self.subresource else None) or self.kind

    @property
    def key(self) -> str:
        """The object's key in the storage's collection of its kind."""
        return key_of(self.namespace, self.name)


def find_route(kinds: Kinds, path: str) -> Route | None:
    """What `path` names, or None if it is no path of a kind that is served.

    Cluster-scoped kinds have no namespaced paths, and an object of a namespaced kind
    has no path without its namespace.
    """
    match path.split("/"):
        case ["", "api", version, *rest]:
            group = ""
        case ["", "apis", group, version, *rest] if group:
            pass
        case _:
            return None
    if "" in rest:
        return None
    match rest:
        case ["namespaces", _, part] if part in _PARTS_OF_NAMESPACES:
            namespace = ""
        case ["namespaces", namespace, _, *_]:
            rest = rest[2:]
        case _:
            namespace = ""
    return _of_kind(kinds, group, version, namespace, rest)


def _of_kind(kinds: Kinds, group: str, version: str, namespace: str, rest: list[str]) -> Route | None:
    if not 1 <= len(rest) <= 3:
        return None
    plural, name, subresource = (*rest, "", "")[:3]
    kind = kinds.find(group, version, plural)
    if kind is None or (namespace and not kind.namespaced) or (name and kind.namespaced and not namespace):
        return None
    if subresource and subresource not in kind.subresources:
        return None
    return Route(kind, namespace, name, subresource)
