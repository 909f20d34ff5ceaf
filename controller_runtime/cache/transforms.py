# SPDX-License-Identifier: Apache-2.0
"""Transforms: functions that change an object's bytes before a cache stores them, usually to save memory.

A transform is a pure function from the server's JSON to the JSON to store. The name, the namespace, the
uid and the resourceVersion by which the store knows the object stay those that the server sent, whatever the transform
returns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs
import msgspec

from apimachinery.errors import UNREADABLE, DecodeError
from apimachinery.objects import Cached, Received
from apimachinery.plain_functions import called, plain
from controller_runtime.api.resources import Kind, resource_of

Transform = Callable[[bytes], bytes]
"""Returns the JSON to store for an object's JSON.

It must be pure and idempotent: the same object may come again, and its transformed bytes are compared with the stored
ones. If it raises `DecodeError`, the object is skipped and counted; any other exception is a bug and stops the program.
"""

_Parts = dict[str, msgspec.Raw]
_parts = msgspec.json.Decoder(_Parts)
_whole = msgspec.json.Decoder(dict[str, Any])

_OBJECT = ord("{")

Path = tuple[str, ...]


@attrs.frozen
class Without:
    """A transform that removes fields; made by `without`."""

    paths: tuple[Path, ...]

    def __call__(self, raw: bytes) -> bytes:
        """Return the JSON of the object without the fields.

        Raises:
            DecodeError: The object is not readable JSON.
        """
        try:
            return _without(raw, self.paths)
        except UNREADABLE as error:
            raise DecodeError(f"fields cannot be removed: {error}") from error


def without(*paths: Iterable[str]) -> Without:
    """Return a transform that removes fields, as in `without(("metadata", "managedFields"), ("status", "images"))`.

    The other fields are copied without being decoded, so a 7 KB node costs a few microseconds. A path that
    the Kubernetes object does not have, or that leads through a JSON value other than an object, is ignored.

    Raises:
        ValueError: A path is empty, or is a string in place of a sequence of strings.
    """
    for path in paths:
        if isinstance(path, str) or not tuple(path):
            raise ValueError(f"{path!r} is not a path: name each step, as in ('metadata', 'managedFields')")
    return Without(tuple(sorted({tuple(path) for path in paths})))


MANAGED_FIELDS = ("metadata", "managedFields")
"""The path of the field in which the server records which client set which fields."""


def removes(transform: Transform | None, path: Path) -> bool:
    """Return whether a transform surely removes a field; False for a transform of unknown effect."""
    return isinstance(transform, Without) and any(path[: len(known)] == known for known in transform.paths)


@attrs.frozen
class Edited:
    """A transform that decodes, edits and encodes; made by `edited`."""

    edit: Callable[[dict[str, Any]], None]

    def __call__(self, raw: bytes) -> bytes:
        """Return the JSON of the edited object.

        Raises:
            DecodeError: The object is not readable JSON.
        """
        try:
            whole = _whole.decode(raw)
        except UNREADABLE as error:
            raise DecodeError(f"the object cannot be read: {error}") from error
        called("edited", self.edit, whole)
        return msgspec.json.encode(whole)


def edited(edit: Callable[[dict[str, Any]], None]) -> Edited:
    """Return a transform that decodes each object to a dict, lets `edit` change it in place, and encodes it again."""
    return Edited(plain("edited", edit))


def plain_transform(kind: Kind[Any], transform: Transform) -> Transform:
    """Return `transform` if it is a plain function. `kind` is named in the error.

    Raises:
        UsageError: It is an `async def`.
    """
    return plain(f"the transform of {resource_of(kind)}", transform)


def transformed(cached: Cached, transform: Transform | None) -> Cached:
    """Return `cached` with its bytes changed by `transform`; unchanged if `transform` is None.

    Raises:
        DecodeError: The transform could not read the object; the message names the object.
    """
    if transform is None:
        return cached
    try:
        raw = called("a transform", transform, cached.raw)
    except DecodeError as error:
        raise DecodeError(f"{cached.key}: {error}") from error
    return Received(raw, cached.name, cached.namespace, cached.uid, cached.resource_version)


def _without(raw: bytes | msgspec.Raw, paths: Iterable[Path]) -> bytes:
    parts = _parts.decode(raw)
    below: dict[str, list[Path]] = {}
    for first, *rest in paths:
        if not rest:
            parts.pop(first, None)
        elif first in parts:
            below.setdefault(first, []).append(tuple(rest))
    for name, rest_of in below.items():
        if name in parts and memoryview(parts[name])[0] == _OBJECT:
            parts[name] = msgspec.Raw(_without(parts[name], rest_of))
    return msgspec.json.encode(parts)
