# SPDX-License-Identifier: Apache-2.0
"""The parts of a path of the API, such as `/apis/apps/v1/namespaces/default/deployments/web/scale`."""

from __future__ import annotations

from typing import NamedTuple

_PARTS_OF_NAMESPACES = ("status", "finalize")


class ResourcePath(NamedTuple):
    """The parts of a path of the API, below the version of its group. Each part is empty if the path has none.

    Attributes:
        group: The API group; empty for the core group, too.
        namespace: The namespace; empty at the scope of the cluster, and for a namespace itself.
        resource: The plural of the kind, such as `deployments`.
        name: The name of the object; empty for a collection.
        subresource: The subresource, such as `scale`; of a longer path, such as that of a proxy, its first segment.
    """

    group: str
    namespace: str
    resource: str
    name: str
    subresource: str

    @property
    def resource_and_part(self) -> str:
        """The resource with its subresource, as rules of RBAC name them: `deployments/scale`."""
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def resource_path(path: str) -> ResourcePath | None:
    """Return what a path names, read as an API server reads it; None if it is not below a version, such as `/version`.

    Whether such a resource is served is not asked.
    """
    match path.strip("/").split("/"):
        case ["api", _, *rest] if rest:
            group = ""
        case ["apis", group, _, *rest] if rest:
            pass
        case _:
            return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in _PARTS_OF_NAMESPACES:
        _, namespace, *rest = rest
    resource, name, subresource = (*rest, "", "")[:3]
    return ResourcePath(group, namespace, resource, name, subresource)
