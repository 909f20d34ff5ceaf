# SPDX-License-Identifier: Apache-2.0
"""What the storage holds: objects as the bytes of their JSON, and what became of them.

The bytes lack kind and apiVersion, as an item in a list does; those are put in front
when an object is served, so that nothing is encoded twice and nothing on a read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from controller_runtime.apiserver.kinds.metadata import METADATA_ORDER

_VERSION = b'"resourceVersion":"'


def key_of(namespace: str, name: str) -> str:
    """Where the storage keeps an object of a kind: `namespace/name`, or the name alone."""
    return f"{namespace}/{name}" if namespace else name


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(dict[str, Any])


class _Labels(msgspec.Struct, gc=False):
    labels: dict[str, str] | None = None


class _WithLabels(msgspec.Struct, gc=False):
    metadata: _Labels


_labels_decoder = msgspec.json.Decoder(_WithLabels)


class Draft(NamedTuple):
    """An object that still lacks its version: the bytes on either side of it."""

    head: bytes
    tail: bytes

    @classmethod
    def of(cls, obj: Mapping[str, Any]) -> Draft:
        """Encode `obj`, metadata first and in order; a version it has is left out."""
        unordered = {**obj["metadata"], "resourceVersion": ""}
        whole = {"metadata": {name: unordered[name] for name in METADATA_ORDER if name in unordered}}
        whole |= {name: part for name, part in obj.items() if name != "metadata"}
        head, quote, tail = _encoder.encode(whole).partition(_VERSION)
        return cls(head + quote, tail)

    def at(self, version: int) -> bytes:
        """The bytes of the object, written at `version`."""
        return b"%b%d%b" % (self.head, version, self.tail)

    def unversioned(self) -> bytes:
        """The bytes of the object if it is never written: without any version."""
        return self.head[: -len(_VERSION)].removesuffix(b",") + self.tail[1:]


class Stored(msgspec.Struct, gc=False, eq=False):
    """One object at one version. Immutable, but for the two memories below.

    Attributes:
        key: `namespace/name`, or the name alone of a cluster-scoped object.
        version: Of its last write.
        raw: Its JSON, without kind and apiVersion.
        fields: What field selectors look at, once somebody has asked; filled by `selection.py`.
    """

    key: str
    version: int
    raw: bytes
    fields: Mapping[str, str] | None = None
    _labels: Mapping[str, str] | None = None

    @property
    def namespace(self) -> str:
        """Empty for a cluster-scoped object."""
        return self.key.rpartition("/")[0]

    @property
    def name(self) -> str:
        """The object's name."""
        return self.key.rpartition("/")[2]

    def labels(self) -> Mapping[str, str]:
        """The labels; shared, so do not change them."""
        if self._labels is None:
            self._labels = _labels_decoder.decode(self.raw).metadata.labels or {}
        return self._labels

    def decode(self) -> dict[str, Any]:
        """The object as a dict of the caller's own."""
        return _decoder.decode(self.raw)

    def raw_at(self, version: int) -> bytes:
        """The bytes with another version; for the last state of what is gone."""
        mine, other = (b"%b%d" % (_VERSION, number) for number in (self.version, version))
        return self.raw.replace(mine, other, 1)


class Change(msgspec.Struct, gc=False, eq=False):
    """One write: what an object was, and what it became.

    Attributes:
        version: The version the write took; that of `new` if there is one.
        at: When it was made, monotonic seconds.
        old: The object before, None if it was created.
        new: The object after, None if it was deleted.
        lines: Watch lines by what stands before the object; a memory shared by all watchers.
            Two threads may build the same line at once, and either may stay.
    """

    version: int
    at: float
    old: Stored | None
    new: Stored | None
    lines: dict[bytes, bytes] = msgspec.field(default_factory=dict)

    @property
    def key(self) -> str:
        """Whose change it is."""
        return (self.new or self.last).key

    @property
    def last(self) -> Stored:
        """The object before, of a change or a deletion."""
        assert self.old is not None, "a creation has no last state"
        return self.old

    def line(self, head: bytes, *, gone: bool) -> bytes:
        """The line that tells a watcher of this change.

        Args:
            head: `{"type":…,"object":{"kind":…,"apiVersion":…,`.
            gone: Tell the last state, with this change's version, rather than the new one.
        """
        line = self.lines.get(head)
        if line is None:
            raw = self.last.raw_at(self.version) if gone or self.new is None else self.new.raw
            line = self.lines[head] = b"".join((head, memoryview(raw)[1:], b"}\n"))
        return line
