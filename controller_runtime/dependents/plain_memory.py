# SPDX-License-Identifier: Apache-2.0
"""The memory of one primary as JSON, for a record of a reconcile that can be replayed.

Secrets are left out: an answer has their values, and a short value can be guessed from its hash.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from apimachinery.decoding import converter_of
from apimachinery.objects import Cached, ObjectKey, cached_from_bytes
from controller_runtime.api.resources import Resource
from controller_runtime.dependents.memory import PrimaryMemory, Record, RefusedApply
from controller_runtime.dependents.owned import Id


class _Applied(msgspec.Struct, frozen=True):
    resource: str
    name: str
    namespace: str
    digest: bytes
    uid: str
    version: str
    values: bytes
    resets: int
    answer: str


class _Refused(msgspec.Struct, frozen=True):
    resource: str
    name: str
    namespace: str
    digest: bytes
    present: bytes
    message: str
    tries: int
    retry_in: float


class _Plain(msgspec.Struct, frozen=True):
    applied: list[_Applied]
    refused: list[_Refused]
    not_ours: list[str]
    deleted: list[str]
    told: list[tuple[str, str, str, str]]
    status_version: str
    status_resets: int


_converted: Callable[[Any], _Plain] = converter_of(_Plain)


def plain_memory(memory: PrimaryMemory, now: float) -> Any:
    """Return the memory of a primary as a JSON-compatible value; `now` is in monotonic seconds."""
    return _Plain(
        [
            _Applied(*_plain(each), of.digest, of.uid, of.version, of.values, of.resets, _text(of.answer))
            for each, of in memory.applied.items()
            if not _is_secret(each)
        ],
        [
            _Refused(*_plain(each), of.digest, of.present, of.message, of.tries, of.retry_at - now)
            for each, of in memory.refused.items()
            if not _is_secret(each)
        ],
        sorted(memory.not_ours),
        sorted(memory.deleted),
        [(*_plain(each), message) for each, message in memory.told.items()],
        memory.status_version,
        memory.status_resets,
    )


def restore_memory(memory: PrimaryMemory, plain: Any, resources: Mapping[str, Resource[Any]], now: float) -> None:
    """Fill a memory from a value of `plain_memory`. Objects of resources that are no longer owned are left out.

    Args:
        memory: The memory to fill.
        plain: The value, decoded from JSON.
        resources: The owned resources, by `str(resource)`.
        now: The time in monotonic seconds.
    """
    found = _converted(plain)

    def id_of(each: Any) -> Id:
        return resources[each.resource], ObjectKey(each.name, each.namespace)

    memory.applied = {
        id_of(each): Record(each.digest, each.uid, each.version, each.values, each.resets, _cached(each.answer))
        for each in found.applied
        if each.resource in resources
    }
    memory.refused = {
        id_of(each): RefusedApply(each.digest, each.present, each.message, each.tries, now + each.retry_in)
        for each in found.refused
        if each.resource in resources
    }
    memory.not_ours, memory.deleted = {*found.not_ours}, {*found.deleted}
    memory.told = {
        (resources[resource], ObjectKey(name, namespace)): message
        for resource, name, namespace, message in found.told
        if resource in resources
    }
    memory.status_version, memory.status_resets = found.status_version, found.status_resets


def _plain(each: Id) -> tuple[str, str, str]:
    return str(each[0]), each[1].name, each[1].namespace


def _is_secret(each: Id) -> bool:
    return each[0].kind == "Secret"


def _text(answer: Cached | None) -> str:
    return "" if answer is None else answer.raw.decode()


def _cached(text: str) -> Cached | None:
    return cached_from_bytes(text.encode()) if text else None
