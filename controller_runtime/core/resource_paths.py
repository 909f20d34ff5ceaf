# SPDX-License-Identifier: Apache-2.0
"""The parts of a path of the API, such as `/apis/apps/v1/namespaces/default/deployments/web/scale`."""

from __future__ import annotations

from typing import NamedTuple

_PARTS_OF_NAMESPACES = ("status", "finalize")


class ResourcePath(NamedTuple):
    """The parts of a path of the API that names a resource. Each part is empty if the path has none.

    Attributes:
        group: The API group; empty for the core group, too.
        version: The version of the group.
        plural: The plural of the kind, such as `deployments`.
        namespace: The namespace; empty for a cluster-scoped resource, for all namespaces, and for a Namespace object.
        name: The name of the object; empty for a collection.
        subresource: The subresource, such as `scale`. If more segments follow, as in the path of a proxy, the first
            segment.
    """

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def resource_and_part(self) -> str:
        """The plural with its subresource, as RBAC rules write it: `deployments/scale`."""
        return f"{self.plural}/{self.subresource}" if self.subresource else self.plural

    @property
    def plural_and_group(self) -> str:
        """The plural with its group, as `kubectl` writes kinds: `deployments.apps`, `pods`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        """The `apiVersion` of the objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """The URL path of the object without its subresource, or of the collection."""
        root = f"/apis/{self.api_version}" if self.group else f"/api/{self.version}"
        namespace = ("namespaces", self.namespace) if self.namespace else ()
        return "/".join([root, *namespace, self.plural, *([self.name] if self.name else [])])

    def named(self, name: str) -> ResourcePath:
        """Return the path of the object `name` in this collection, without a subresource."""
        return self._replace(name=name, subresource="")


def resource_path(path: str) -> ResourcePath | None:
    """Return the parts of a path, read as an API server reads it; None if it names no resource, such as `/version`.

    The function does not check whether such a resource is served.
    """
    match path.strip("/").split("/"):
        case ["api", version, *rest] if rest:
            group = ""
        case ["apis", group, version, *rest] if rest:
            pass
        case _:
            return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and rest[2] not in _PARTS_OF_NAMESPACES:
        _, namespace, *rest = rest
    plural, name, subresource = (*rest, "", "")[:3]
    return ResourcePath(group, version, plural, namespace, name, subresource)
