# SPDX-License-Identifier: Apache-2.0
"""Resolves a URL path to the kind, namespace, object and subresource that it names."""

from __future__ import annotations

from typing import NamedTuple

from embedded_apiserver.groups.parts import PARTS
from embedded_apiserver.kinds.kind import Kind, Kinds
from embedded_apiserver.status import not_found
from embedded_apiserver.storage.stored import key_of

# `/namespaces/x/status` is the status of the namespace x, but `/namespaces/x/pods` are the pods in it.
_PARTS_OF_NAMESPACES = ("status", "finalize")


class Route(NamedTuple):
    """The collection, object or subresource that a URL path names.

    Attributes:
        kind: The kind of the objects.
        namespace: The namespace; empty for a cluster-scoped kind, or for a collection across all namespaces.
        name: The object's name; empty for a collection.
        subresource: The subresource, such as `status`; empty for the object itself. It may be a subresource that a
            custom kind does not have; such a request fails with another error than an unknown path.
    """

    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def sent(self) -> Kind:
        """The kind of the request and response bodies: the subresource's own kind, such as `Scale`, or else that of the
        object.
        """
        part = PARTS.get(self.subresource)
        return (part and part.kind) or self.kind

    @property
    def key(self) -> str:
        """The key of the object within the storage's collection."""
        return key_of(self.namespace, self.name)


def find_route(kinds: Kinds, path: str) -> Route | None:
    """Return the route for `path`; None if it is not the path of a served kind.

    For a cluster-scoped kind, a path with a namespace has no route, and for an object of a namespaced kind, a path
    without one.
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


def check_part(kinds: Kinds, path: str) -> None:
    """Refuse a path below a custom object if the kind has no subresource of that name.

    Raises:
        StatusError: 404; like a real API server's, it names the object, even if the object exists.
    """
    parent = find_route(kinds, path.rpartition("/")[0])
    if parent is not None and parent.name and not parent.subresource and parent.kind.definition is not None:
        raise not_found(parent.kind, parent.name)


def _of_kind(kinds: Kinds, group: str, version: str, namespace: str, rest: list[str]) -> Route | None:
    if rest[2:3] == ["proxy"]:
        rest = rest[:3]  # what follows is a path at the other side of the proxy
    if not 1 <= len(rest) <= 3:
        return None
    plural, name, subresource = (*rest, "", "")[:3]
    kind = kinds.find(group, version, plural)
    if kind is None or (namespace and not kind.namespaced) or (name and kind.namespaced and not namespace):
        return None
    if "get" not in kind.verbs and (name or (kind.namespaced and not namespace)):
        return None  # such objects are created alone, in their namespace
    if subresource and subresource not in kind.subresources and kind.definition is None:
        return None
    return Route(kind, namespace, name, subresource)
