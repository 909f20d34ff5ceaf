# SPDX-License-Identifier: Apache-2.0
"""What becomes of an object's bytes before a cache keeps them: leaner ones, as a rule.

A transform is a pure function from the server's JSON to the JSON to keep. The name, the
namespace, the uid and the version stay those that the server sent, whatever it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs
import msgspec

from controller_runtime.api.objects import Cached
from controller_runtime.core.errors import UNREADABLE, DecodeError

Transform = Callable[[bytes], bytes]
"""Pure, and right when it is applied again to what it gave: the same object may come twice. It may raise
`DecodeError` for an object that it cannot read, which is then skipped and counted; all else is a bug."""

_Parts = dict[str, msgspec.Raw]
_parts = msgspec.json.Decoder(_Parts)
_whole = msgspec.json.Decoder(dict[str, Any])

_OBJECT = ord("{")

Path = tuple[str, ...]


@attrs.frozen
class Without:
    """Leaves fields out; made by `without`."""

    paths: tuple[Path, ...]

    def __call__(self, raw: bytes) -> bytes:
        """The object without them."""
        try:
            return _left(raw, self.paths)
        except UNREADABLE as error:
            raise DecodeError(f"fields cannot be left out: {error}") from error


def without(*paths: Iterable[str]) -> Without:
    """A transform that leaves fields out, such as `without(("metadata", "managedFields"), ("status", "images"))`.

    What it leaves is not decoded, so a 7 KB node costs a few microseconds. A path that leads
    nowhere, or through something that is no object, is no error.

    Raises:
        ValueError: A path is empty, or is one text in place of several.
    """
    for path in paths:
        if isinstance(path, str) or not tuple(path):
            raise ValueError(f"{path!r} is no path: name each step, as in ('metadata', 'managedFields')")
    return Without(tuple(sorted({tuple(path) for path in paths})))


@attrs.frozen
class Edited:
    """Decodes, edits and encodes; made by `edited`."""

    edit: Callable[[dict[str, Any]], None]

    def __call__(self, raw: bytes) -> bytes:
        """The object as it was edited."""
        try:
            whole = _whole.decode(raw)
        except UNREADABLE as error:
            raise DecodeError(f"the object cannot be read: {error}") from error
        self.edit(whole)
        return msgspec.json.encode(whole)


def edited(edit: Callable[[dict[str, Any]], None]) -> Edited:
    """A transform by a function that changes a dict in place; it costs a decoding and an encoding of each object."""
    return Edited(edit)


def transformed(cached: Cached, transform: Transform | None) -> Cached:
    """The object as it is to be kept.

    Raises:
        DecodeError: The transform could not read it.
    """
    if transform is None:
        return cached
    try:
        raw = transform(cached.raw)
    except DecodeError as error:
        raise DecodeError(f"{cached.key}: {error}") from error
    return Cached(raw, cached.name, cached.namespace, cached.uid, cached.resource_version)


def _left(raw: bytes | msgspec.Raw, paths: Iterable[Path]) -> bytes:
    parts = _parts.decode(raw)
    below: dict[str, list[Path]] = {}
    for first, *rest in paths:
        if not rest:
            parts.pop(first, None)
        elif first in parts:
            below.setdefault(first, []).append(tuple(rest))
    for name, rest_of in below.items():
        if name in parts and memoryview(parts[name])[0] == _OBJECT:
            parts[name] = msgspec.Raw(_left(parts[name], rest_of))
    return msgspec.json.encode(parts)
