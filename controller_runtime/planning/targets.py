# SPDX-License-Identifier: Apache-2.0
"""The object or collection that a request is about, with its version, so that its path can be made again."""

from __future__ import annotations

from typing import NamedTuple

from controller_runtime.core.resource_paths import resource_path


class RequestTarget(NamedTuple):
    """The target of a request.

    Attributes:
        group: The API group; empty for the core group.
        version: The API version.
        plural: The resource.
        namespace: The namespace; empty for a cluster-scoped resource, and for all namespaces.
        name: The object's name; empty for a collection.
        subresource: The subresource; empty for the object itself.
    """

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def api_version(self) -> str:
        """The `apiVersion` of the objects."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """The path of the object without its subresource, or of the collection."""
        return "/".join(
            [
                f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}",
                *(["namespaces", self.namespace] if self.namespace else []),
                self.plural,
                *([self.name] if self.name else []),
            ]
        )

    def named(self, name: str) -> RequestTarget:
        """Return the object of that name in this collection."""
        return self._replace(name=name, subresource="")


def target_of(path: str) -> RequestTarget | None:
    """Return the target of a path; None if it names no resource, such as `/version`."""
    found = resource_path(path)
    if found is None:
        return None
    version = path.strip("/").split("/")[2 if found.group else 1]
    return RequestTarget(found.group, version, found.resource, found.namespace, found.name, found.subresource)
