# SPDX-License-Identifier: Apache-2.0
"""The priority classes, flow control, network and API services that every server has from the beginning."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Set
from importlib import resources
from typing import Any

from embedded_apiserver.kinds.kind import Kinds
from embedded_apiserver.kinds.release import NEWEST, Release
from embedded_apiserver.storage.recorded import Drafts, as_in_release, drafts_of, provide_drafts, read_recorded
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.storage.stored import Draft

_FILE = "objects-1.36.json.gz"
_COLLECTIONS = (
    "priorityclasses.scheduling.k8s.io",
    "flowschemas.flowcontrol.apiserver.k8s.io",
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
    "servicecidrs.networking.k8s.io",
)
_REGISTERED = "apiservices.apiregistration.k8s.io"


def provide_recorded(storage: Storage, origin: Mapping[str, Any], kinds: Kinds, release: Release = NEWEST) -> None:
    """Provide a storage with the priority classes, flow control, network and API service objects of a new server.

    They are created at the first use of their collection.

    Args:
        storage: The storage.
        origin: The metadata of the namespace `kube-system`, from which uids and creation times are derived.
        kinds: The served kinds, for whose versions there are API services.
        release: The Kubernetes release that the server serves.
    """
    served = {f"{kind.version}.{kind.group}" for kind in kinds if kind.definition is None}
    provide_drafts(storage, _COLLECTIONS, functools.partial(_drafts, release), origin)
    provide_drafts(storage, (_REGISTERED,), lambda: {_REGISTERED: _registered(release, served)}, origin)


def _registered(release: Release, served: Set[str]) -> Mapping[str, Draft]:
    return {key: draft for key, draft in _drafts(release)[_REGISTERED].items() if key in served}


@functools.cache
def _drafts(release: Release) -> Drafts:
    """Return the objects by collection and key. Read at the first use, and shared by all servers of the process."""
    return drafts_of(as_in_release(release, read_recorded(resources.files(__package__) / "data" / _FILE)))
