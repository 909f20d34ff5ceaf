# SPDX-License-Identifier: Apache-2.0
"""The priority classes, flow control, network and API services that every server has from the beginning."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping
from importlib import resources
from typing import Any

from controller_runtime.apiserver.kinds.kind import Kinds
from controller_runtime.apiserver.storage.recorded import Drafts, drafts_of, made_from, read_recorded
from controller_runtime.apiserver.storage.storage import Storage
from controller_runtime.apiserver.storage.stored import Stored

_FILE = "objects-1.36.json.gz"
_COLLECTIONS = (
    "priorityclasses.scheduling.k8s.io",
    "flowschemas.flowcontrol.apiserver.k8s.io",
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
    "servicecidrs.networking.k8s.io",
)
_REGISTERED = "apiservices.apiregistration.k8s.io"


def provide_recorded(storage: Storage, origin: Mapping[str, Any], kinds: Kinds) -> None:
    """Have a storage contain what a new server has of these kinds; they are made at the first use of their collection.

    Args:
        storage: The storage.
        origin: The metadata of the namespace `kube-system`, from which uids and creation times follow.
        kinds: The kinds that are served, whose versions are registered.
    """
    for name in _COLLECTIONS:
        storage.provide(name, functools.partial(_made, name, origin))
    served = {f"{kind.version}.{kind.group}" for kind in kinds if kind.definition is None}
    storage.provide(_REGISTERED, functools.partial(_registered, origin, served))


def _made(collection: str, origin: Mapping[str, Any], version: int) -> Iterable[Stored]:
    return made_from(_drafts()[collection], collection, origin, version)


def _registered(origin: Mapping[str, Any], served: Collection[str], version: int) -> Iterable[Stored]:
    drafts = {key: draft for key, draft in _drafts()[_REGISTERED].items() if key in served}
    return made_from(drafts, _REGISTERED, origin, version)


@functools.cache
def _drafts() -> Drafts:
    """Return the objects by collection and key. Read at the first use, and shared by all servers of the process."""
    return drafts_of(read_recorded(resources.files(__package__) / "data" / _FILE))
