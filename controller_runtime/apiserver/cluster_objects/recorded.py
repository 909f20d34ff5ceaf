# SPDX-License-Identifier: Apache-2.0
"""The priority classes, the flow control and the network of services that every server has from the beginning."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib import resources
from typing import Any

from controller_runtime.apiserver.storage.recorded import Drafts, drafts_of, provide_drafts, read_recorded
from controller_runtime.apiserver.storage.storage import Storage

_FILE = "objects-1.36.json.gz"
_COLLECTIONS = (
    "priorityclasses.scheduling.k8s.io",
    "flowschemas.flowcontrol.apiserver.k8s.io",
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
    "servicecidrs.networking.k8s.io",
)


def provide_recorded(storage: Storage, origin: Mapping[str, Any]) -> None:
    """Have a storage contain what a new server has of these kinds; they are made at the first use of their collection.

    Args:
        storage: The storage.
        origin: The metadata of the namespace `kube-system`, from which uids and creation times follow.
    """
    provide_drafts(storage, _COLLECTIONS, _drafts, origin)


@functools.cache
def _drafts() -> Drafts:
    """Return the objects by collection and key. Read at the first use, and shared by all servers of the process."""
    return drafts_of(read_recorded(resources.files(__package__) / "data" / _FILE))
