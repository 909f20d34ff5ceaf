# SPDX-License-Identifier: Apache-2.0
"""The objects applied for each primary, kept in memory so that an idle reconcile sends no request.

Server-side apply of an unchanged object changes nothing, but it is a request. Whether one is needed cannot be told by
comparing the desired object with the present one, because the server fills in defaults and normalizes values. So the
answer of each apply is the reference: the values in it of the fields that were applied. An object in which they are
the same has not drifted, however many other fields (its status, for example) have changed. A process that has just
started remembers nothing, and applies each object once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import attrs
import msgspec

from apimachinery.host import Host
from apimachinery.objects import Cached, ObjectKey
from controller_runtime.cache.observed import ObservedReads
from controller_runtime.dependents.owned import Id, Wanted


@attrs.frozen
class Record:
    """The last apply of one object that the server carried out.

    Attributes:
        digest: A hash of the applied fields.
        uid: The object's uid in the answer.
        version: The object's resourceVersion in the answer.
        values: A hash of the values that the applied fields have in the answer.
        resets: The `resets` of the cache at that time; if the cache has more now, `version` is meaningless.
        answer: The object in the answer, until the cache shows it or a later state.
    """

    digest: bytes
    uid: str
    version: str
    values: bytes
    resets: int
    answer: Cached | None


@attrs.frozen
class RefusedApply:
    """The last apply of one object, which the server refused.

    Attributes:
        digest: A hash of the fields that the server refused.
        present: A hash of the existing object's uid and of its values in these fields; empty if it was absent.
        message: The server's reason.
        tries: The number of consecutive refusals of the same fields.
        retry_at: When to try the same fields again, in monotonic seconds.
    """

    digest: bytes
    present: bytes
    message: str
    tries: int
    retry_at: float


@attrs.define(eq=False)
class PrimaryMemory:
    """The data that is remembered about one primary object.

    Attributes:
        uid: The uid of the primary.
        applied: The applies that were carried out.
        refused: The later applies that were refused.
        not_ours: The uids of objects that the primary owns and another field manager has applied.
        deleted: The uids of objects that this program deleted, until the cache shows it.
        told: The messages of the events that were written, by object, so that each is written once.
        status_version: The resourceVersion of the last write of the primary's status.
        status_resets: The `resets` of the cache of primaries at that time; if the cache has more now, `status_version`
            is meaningless.

    Threads: one at a time; a controller never reconciles one key twice at a time.
    """

    uid: str
    applied: dict[Id, Record] = attrs.field(factory=dict)
    refused: dict[Id, RefusedApply] = attrs.field(factory=dict)
    not_ours: set[str] = attrs.field(factory=set)
    deleted: set[str] = attrs.field(factory=set)
    told: dict[Id, str] = attrs.field(factory=dict)
    status_version: str = ""
    status_resets: int = 0

    def keep(self, ids: set[Id]) -> None:
        """Forget all objects except these."""
        self.applied = {each: record for each, record in self.applied.items() if each in ids}
        self.refused = {each: refusal for each, refusal in self.refused.items() if each in ids}
        self.told = {each: message for each, message in self.told.items() if each in ids}


class Memory:
    """The data that is remembered about all primary objects of one `Dependents`.

    Args:
        host: Creates the lock.

    Threads: any.
    """

    def __init__(self, host: Host) -> None:
        # Guards the dict; a primary's own memory is used by one reconcile at a time.
        self._lock = host.lock("memory of dependents")
        self._primaries: dict[ObjectKey, PrimaryMemory] = {}

    def __len__(self) -> int:
        return len(self._primaries)  # one number, so whole without the lock

    def of(self, key: ObjectKey, uid: str) -> PrimaryMemory:
        """Return the memory of a primary; an empty one if there is none, or if its uid differs."""
        with self._lock:
            found = self._primaries.get(key)
            if found is None or found.uid != uid:
                found = self._primaries[key] = PrimaryMemory(uid)
            return found

    def forget(self, key: ObjectKey) -> None:
        """Forget a primary that is gone."""
        with self._lock:
            self._primaries.pop(key, None)


def recorded(wanted: Wanted, answer: Cached, store: ObservedReads) -> Record:
    """Return the record of an apply.

    Args:
        wanted: The fields that were applied.
        answer: The object in the server's answer.
        store: The cache of the object.
    """
    values = values_of(wanted.body, answer)
    return Record(wanted.digest, answer.uid, answer.resource_version, values, store.resets, answer)


def is_behind(record: Record, store: ObservedReads) -> bool:
    """Return whether a cache, which must not have been reset since, does not show an apply yet."""
    # A version that is not a number could never be seen to be reached.
    return record.version.isdecimal() and store.behind(record.version)


def values_of(body: Mapping[str, Any], cached: Cached) -> bytes:
    """Return a hash of the values that an object has in the fields of `body`; a list counts as a whole."""
    values = _project(body, msgspec.json.decode(cached.raw))
    return hashlib.sha256(msgspec.json.encode(values, order="deterministic")).digest()


def holds(body: Mapping[str, Any], cached: Cached) -> bool:
    """Return whether an object has the values of `body`; it may have more fields, such as the server's defaults.

    A value that the server normalizes, such as a quantity, counts as different.
    """
    present = msgspec.json.decode(cached.raw)
    # The items of a list lack these two on some servers.
    return _covers({name: value for name, value in body.items() if name not in ("apiVersion", "kind")}, present)


def identity_of(body: Mapping[str, Any], cached: Cached | None) -> bytes:
    """Return a hash of an object's uid and of its values in the fields of `body`; empty if `cached` is None."""
    return b"" if cached is None else cached.uid.encode() + values_of(body, cached)


def _project(wanted: Any, present: Any) -> Any:
    if isinstance(wanted, Mapping) and isinstance(present, Mapping):
        return {name: _project(value, present.get(name)) for name, value in wanted.items()}
    return present


def _covers(wanted: Any, present: Any) -> bool:
    if isinstance(wanted, Mapping):
        return isinstance(present, Mapping) and all(_covers(value, present.get(name)) for name, value in wanted.items())
    if isinstance(wanted, list):
        return (
            isinstance(present, list)
            and len(wanted) == len(present)
            and all(_covers(one, other) for one, other in zip(wanted, present, strict=True))
        )
    return bool(wanted == present)
