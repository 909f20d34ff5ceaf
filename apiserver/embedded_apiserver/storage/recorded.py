# SPDX-License-Identifier: Apache-2.0
"""Objects that a storage has from the beginning, as they were recorded from a real API server."""

from __future__ import annotations

import functools
import gzip
import hashlib
from collections.abc import Callable, Iterable, Mapping
from importlib.resources.abc import Traversable
from typing import Any

import msgspec

from embedded_apiserver.kinds.recorded import adapted, as_in
from embedded_apiserver.kinds.release import Release
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.storage.stored import Draft, Stored, key_of

# Stand-ins for the values that differ from server to server; each is as long as what takes its place.
_UID, NO_TIME = "00000000-0000-0000-0000-000000000000", "0000-00-00T00:00:00Z"

Drafts = Mapping[str, Mapping[str, Draft]]
"""Objects by collection and key, without their uids, times and versions."""


def read_recorded(packed: Traversable) -> dict[str, list[dict[str, Any]]]:
    """Return the objects in a gzip-compressed JSON file, by collection."""
    recorded: dict[str, list[dict[str, Any]]] = msgspec.json.decode(gzip.decompress(packed.read_bytes()))
    return recorded


def as_in_release(release: Release, recorded: Mapping[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Return recorded objects, by collection, as a server of `release` has them."""
    keyed = {name: {_place_of(obj): obj for obj in objects} for name, objects in recorded.items()}
    then = as_in(str(release), "objects", {})
    return {name: [*adapted(objects, then.get(name, {})).values()] for name, objects in keyed.items()}


def _place_of(obj: Mapping[str, Any]) -> str:
    metadata = obj["metadata"]
    return key_of(metadata.get("namespace", ""), metadata["name"])


def drafts_of(recorded: Mapping[str, Iterable[Mapping[str, Any]]]) -> Drafts:
    """Return recorded objects, by collection and key, encoded as drafts."""
    made: dict[str, dict[str, Draft]] = {}
    for name, objects in recorded.items():
        made[name] = {}
        for obj in objects:
            metadata = {**obj["metadata"], "uid": _UID, "creationTimestamp": NO_TIME}
            made[name][key_of(metadata.get("namespace", ""), metadata["name"])] = Draft.of(
                {**obj, "metadata": metadata}
            )
    return made


def provide_drafts(
    storage: Storage, collections: Iterable[str], drafts: Callable[[], Drafts], origin: Mapping[str, Any]
) -> None:
    """Let collections of a storage begin with objects that were recorded from a real API server.

    The objects of a collection are created when it is first used.

    Args:
        storage: The storage.
        collections: The names of the collections.
        drafts: A function that returns the recorded objects by collection and key, called at the latest when a
            collection is first used.
        origin: The metadata of the namespace `kube-system`, from which uids and creation times are derived. So they
            stay the same when a server restarts with the same data, and differ between servers.
    """
    for name in collections:
        storage.provide(name, functools.partial(_made, drafts, name, origin))


def _made(drafts: Callable[[], Drafts], collection: str, origin: Mapping[str, Any], version: int) -> Iterable[Stored]:
    created = origin["creationTimestamp"].encode()
    for key, draft in drafts()[collection].items():
        uid = _uid_from(f"{origin['uid']}/{collection}/{key}")
        head = draft.head.replace(_UID.encode(), uid.encode(), 1)
        tail = draft.tail.replace(NO_TIME.encode(), created)
        yield Stored(key, version, Draft(head, tail).at(version))


def _uid_from(text: str) -> str:
    """Return the uid that follows from a text, in the form of a random one."""
    digits = hashlib.sha256(text.encode()).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[12:15]}-a{digits[15:18]}-{digits[18:30]}"
