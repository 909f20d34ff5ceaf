# SPDX-License-Identifier: Apache-2.0
"""The roles and bindings that every server has from the beginning, as recorded from a real one."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib import resources
from typing import Any

from embedded_apiserver.authorization.roles import aggregated_rules
from embedded_apiserver.groups.rbac.kinds import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING
from embedded_apiserver.kinds.release import NEWEST, Release
from embedded_apiserver.storage.recorded import Drafts, as_in_release, drafts_of, provide_drafts, read_recorded
from embedded_apiserver.storage.storage import Storage

_FILE = "bootstrap-1.36.json.gz"
_COLLECTIONS = tuple(kind.resource for kind in (CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING))


def provide_bootstrap(storage: Storage, origin: Mapping[str, Any], release: Release = NEWEST) -> None:
    """Provide a storage with the roles and bindings of a new server.

    Args:
        storage: The storage.
        origin: The metadata of the namespace `kube-system`, from which uids and creation times are derived. So they
            stay the same when a server restarts with the same data, and differ between servers.
        release: The Kubernetes release that the server serves.
    """
    provide_drafts(storage, _COLLECTIONS, functools.partial(_drafts, release), origin)


@functools.cache
def _drafts(release: Release) -> Drafts:
    """Return the objects by collection and key. Read at the first use, and shared by all servers of the process."""
    recorded = as_in_release(release, read_recorded(resources.files(__package__) / "data" / _FILE))
    # As in a cluster whose controller manager has combined the rules of aggregated roles.
    rules = aggregated_rules(recorded[CLUSTER_ROLE.resource])
    for obj in recorded[CLUSTER_ROLE.resource]:
        if "aggregationRule" in obj:
            obj["rules"] = rules[obj["metadata"]["name"]]
    return drafts_of(recorded)
