# SPDX-License-Identifier: Apache-2.0
"""Names of objects that are the same in every run of a test."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


class Name(NamedTuple):
    """The name of an object that is the same in every run of a test: `*` replaces generated parts and uids.

    Attributes:
        resource: The resource, such as `deployments.apps`.
        key: `namespace/name`, or only the name if it is cluster-scoped.
    """

    resource: str
    key: str

    def __str__(self) -> str:
        return f"{self.resource} {self.key}"


def name_of(resource: str, metadata: Mapping[str, Any]) -> Name:
    """Return the name of an object that is the same in every run, from its metadata."""
    name = metadata["name"]
    prefix = metadata.get("generateName")
    if prefix and name.startswith(prefix):
        name = f"{prefix}*"
    name = _UID.sub("*", name)  # such as that of a volume, which is made of its claim's uid
    namespace = metadata.get("namespace")
    return Name(resource, f"{namespace}/{name}" if namespace else name)
