# SPDX-License-Identifier: Apache-2.0
"""Fields that the caches of the command line leave out: they are large, and none of its controllers reads them.

A library could not leave them out, because it does not know which fields its users read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from controller_runtime.api.resources import LEASES, NODES, PODS, Resource
from controller_runtime.cache.transforms import without
from controller_runtime.manager.manager import Manager

_MANAGED_FIELDS = "metadata.managedFields"
TRIMMED_FIELDS: Mapping[Resource[Any], Sequence[str]] = {
    LEASES: (_MANAGED_FIELDS,),
    NODES: (_MANAGED_FIELDS, "status.images", "status.nodeInfo", "status.volumesAttached", "status.volumesInUse"),
    PODS: (
        _MANAGED_FIELDS,
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
"""Paths of the fields, by collection.

A controller that needs one of these reads the object from the server, or the path is removed here.
"""


def trim_caches(manager: Manager, *, but: Collection[Resource[Any]] = ()) -> None:
    """Let the caches of `manager` drop the fields of `TRIMMED_FIELDS`, except for those of the collections in `but`.

    Call it before anything is added to `manager`, because an existing cache would keep these fields.

    Raises:
        UsageError: `manager` caches one of these collections already.
    """
    for resource, paths in TRIMMED_FIELDS.items():
        if resource in but:
            continue
        manager.informers.transform(resource, without(*(path.split(".") for path in paths)))
