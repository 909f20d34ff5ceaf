# SPDX-License-Identifier: Apache-2.0
"""The roles and bindings that every server has from the beginning, as recorded from a real one."""

from __future__ import annotations

import functools
import gzip
import hashlib
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

import msgspec

from controller_runtime.apiserver.authorization.roles import aggregated_rules
from controller_runtime.apiserver.kinds.registry import CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING
from controller_runtime.apiserver.storage.storage import Storage
from controller_runtime.apiserver.storage.stored import Draft, Stored, key_of

_FILE = "bootstrap-1.36.json.gz"
_COLLECTIONS = tuple(kind.resource for kind in (CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING))
# Stand-ins for the values that differ from server to server; each is as long as what takes its place.
_UID, _CREATED = "00000000-0000-0000-0000-000000000000", "0000-00-00T00:00:00Z"


def provide_bootstrap(storage: Storage, origin: Mapping[str, Any]) -> None:
    """Have a storage contain the roles and bindings of a new server.

    Args:
        storage: The storage.
        origin: The metadata of the namespace `kube-system`, from which uids and creation times follow. So they stay
            the same when the server is started again with the same data, and differ between servers.
    """
    for name in _COLLECTIONS:
        storage.provide(name, functools.partial(_made, name, origin["uid"], origin["creationTimestamp"]))


def _made(collection: str, origin: str, created: str, version: int) -> Iterable[Stored]:
    for key, draft in _drafts()[collection].items():
        uid = _uid_from(f"{origin}/{collection}/{key}")
        head = draft.head.replace(_UID.encode(), uid.encode(), 1)
        tail = draft.tail.replace(_CREATED.encode(), created.encode(), 1)
        yield Stored(key, version, Draft(head, tail).at(version))


def _uid_from(text: str) -> str:
    """Return the uid that follows from a text, in the form of a random one."""
    digits = hashlib.sha256(text.encode()).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[12:15]}-a{digits[15:18]}-{digits[18:30]}"


@functools.cache
def _drafts() -> Mapping[str, Mapping[str, Draft]]:
    """Return the objects by collection and key. Read at the first use, and shared by all servers of the process."""
    packed = (resources.files(__package__) / "data" / _FILE).read_bytes()
    recorded: dict[str, list[dict[str, Any]]] = msgspec.json.decode(gzip.decompress(packed))
    # As in a cluster whose controller manager has combined the rules of aggregated roles.
    rules = aggregated_rules(recorded[CLUSTER_ROLE.resource])
    made: dict[str, dict[str, Draft]] = {}
    for name, objects in recorded.items():
        made[name] = {}
        for obj in objects:
            metadata = {**obj["metadata"], "uid": _UID, "creationTimestamp": _CREATED}
            whole = {**obj, "metadata": metadata}
            if "aggregationRule" in obj:
                whole["rules"] = rules[metadata["name"]]
            made[name][key_of(metadata.get("namespace", ""), metadata["name"])] = Draft.of(whole)
    return made
