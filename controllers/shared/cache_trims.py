# SPDX-License-Identifier: Apache-2.0
"""What the caches of this program leave out: what is large and none of its controllers reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controller_runtime.api.resources import LEASES, NODES, PODS, Resource
from controller_runtime.cache.transforms import without
from controller_runtime.manager.manager import Manager

_OWNERS = "metadata.managedFields"
LEFT_OUT: Mapping[Resource[Any], Sequence[str]] = {
    LEASES: (_OWNERS,),
    NODES: (_OWNERS, "status.images", "status.nodeInfo", "status.volumesAttached", "status.volumesInUse"),
    PODS: (
        _OWNERS,
        "metadata.annotations",
        "spec.containers",
        "spec.ephemeralContainers",
        "spec.initContainers",
        "spec.volumes",
        "status.containerStatuses",
        "status.ephemeralContainerStatuses",
        "status.initContainerStatuses",
    ),
}
"""Paths by collection. Whoever comes to need one asks the server, or takes it off."""


def trim_caches(manager: Manager) -> None:
    """Let the caches of `manager` leave them out; before anything is added to it.

    Raises:
        UsageError: It has such a cache already.
    """
    for resource, paths in LEFT_OUT.items():
        manager.informers.transform(resource, without(*(path.split(".") for path in paths)))
