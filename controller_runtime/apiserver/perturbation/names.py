# SPDX-License-Identifier: Apache-2.0
"""The names of objects in every run of a story."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Name(NamedTuple):
    """An object's name in every run: one that the server generated is cut to its prefix and `*`.

    Attributes:
        resource: The collection, such as `deployments.apps`.
        key: `namespace/name`, or the name alone if it is cluster-scoped.
    """

    resource: str
    key: str

    def __str__(self) -> str:
        return f"{self.resource} {self.key}"


def name_of(resource: str, metadata: Mapping[str, Any]) -> Name:
    """Return the name of an object in every run."""
    name = metadata["name"]
    prefix = metadata.get("generateName")
    if prefix and name.startswith(prefix):
        name = f"{prefix}*"
    namespace = metadata.get("namespace")
    return Name(resource, f"{namespace}/{name}" if namespace else name)
