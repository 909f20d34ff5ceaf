# SPDX-License-Identifier: Apache-2.0
"""The values in the storage: objects as the bytes of their JSON, and their changes.

The bytes are without `kind` and `apiVersion`, as the items of a list are. For a single object or a watch event these
are put in front of the bytes, so an object is encoded once, when it is written, and never when it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from embedded_apiserver.kinds.metadata import METADATA_ORDER

_VERSION = b'"resourceVersion":"'
_UNTIDY = b" }"  # the end of an object that is untidy; the encoder writes no blanks


def key_of(namespace: str, name: str) -> str:
    """Return the key of an object: `namespace/name`, or only the name if it is cluster-scoped."""
    return f"{namespace}/{name}" if namespace else name


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(dict[str, Any])


class _Labels(msgspec.Struct, gc=False):
    labels: dict[str, str] | None = None


class _WithLabels(msgspec.Struct, gc=False):
    metadata: _Labels


_labels_decoder = msgspec.json.Decoder(_WithLabels)


class Draft(NamedTuple):
    """An object that is encoded except for its version, which only the commit knows.

    Attributes:
        head: The bytes before the version's digits.
        tail: The bytes after them.
    """

    head: bytes
    tail: bytes

    @classmethod
    def of(cls, obj: Mapping[str, Any]) -> Draft:
        """Encode an object without its resourceVersion: metadata comes first, its keys in the real server's order."""
        unordered = {**obj["metadata"], "resourceVersion": ""}
        whole = {"metadata": {name: unordered[name] for name in METADATA_ORDER if name in unordered}}
        whole |= {name: part for name, part in obj.items() if name != "metadata"}
        # The first match is the version itself: before it, metadata has only plain texts, whose quotes are escaped.
        head, quote, tail = _encoder.encode(whole).partition(_VERSION)
        return cls(head + quote, tail)

    def at(self, version: int) -> bytes:
        """Return the bytes of the object with this version."""
        return b"%b%d%b" % (self.head, version, self.tail)

    def untidy(self) -> Draft:
        """Return the same object, marked so that even a next write without a change is made; see `Stored.is_untidy`."""
        return self._replace(tail=self.tail[:-1] + _UNTIDY)

    def unversioned(self) -> bytes:
        """Return the bytes of the object without a version: for an object that is not stored, as in a dry run."""
        return self.head[: -len(_VERSION)].removesuffix(b",") + self.tail[1:]


class Stored(msgspec.Struct, gc=False, eq=False):
    """One object at one version. Immutable except for two cached values, which are computed at first use.

    Attributes:
        key: `namespace/name`, or only the name if the object is cluster-scoped.
        version: The version of its last write.
        raw: Its JSON, without `kind` and `apiVersion`.
        fields: The values of the selectable fields, cached by `selection.py`; None until a selector needs them.
    """

    key: str
    version: int
    raw: bytes
    fields: Mapping[str, str] | None = None
    _labels: Mapping[str, str] | None = None

    @property
    def namespace(self) -> str:
        """The object's namespace; empty if it is cluster-scoped."""
        return self.key.rpartition("/")[0]

    @property
    def name(self) -> str:
        """The object's name."""
        return self.key.rpartition("/")[2]

    @property
    def is_untidy(self) -> bool:
        """Whether a real server has stored empty metadata with it, which no answer shows, until the next write.

        It stores a custom object as the apply has left it, and so the next write changes something even if it says
        nothing new.
        """
        return self.raw.endswith(_UNTIDY)

    def labels(self) -> Mapping[str, str]:
        """Return the labels. They are shared: do not change them."""
        if self._labels is None:
            self._labels = _labels_decoder.decode(self.raw).metadata.labels or {}
        return self._labels

    def decode(self) -> dict[str, Any]:
        """Return the object as a new dict, which the caller may change."""
        return _decoder.decode(self.raw)

    def raw_at(self, version: int) -> bytes:
        """Return the bytes with another version: watches show a deleted object with the version of its deletion."""
        mine, other = (b"%b%d" % (_VERSION, number) for number in (self.version, version))
        return self.raw.replace(mine, other, 1)


class Change(msgspec.Struct, gc=False, eq=False):
    """One write to one object.

    Attributes:
        version: The version of the write, which `new` has, too.
        at: The time of the write in monotonic seconds.
        old: The object before; None if it was created.
        new: The object after; None if it was deleted.
        lines: The events built so far, by their form. All watchers share them. Two threads may build the same
            event at once; the results are equal, and one is kept.
    """

    version: int
    at: float
    old: Stored | None
    new: Stored | None
    lines: dict[bytes, bytes] = msgspec.field(default_factory=dict)

    @property
    def key(self) -> str:
        """The key of the object."""
        return (self.new or self.last).key

    @property
    def last(self) -> Stored:
        """The object before the write, which must not be a creation."""
        assert self.old is not None, "a creation has no last state"
        return self.old

    def shown(self, *, gone: bool) -> bytes:
        """Return the bytes of the object that a watch shows for this change.

        Args:
            gone: True to show the state before, with the version of this change: the object was deleted, or the
                watch's selector does not match it any more.
        """
        return self.last.raw_at(self.version) if gone or self.new is None else self.new.raw

    def line(self, head: bytes, *, gone: bool) -> bytes:
        """Return the line of a watch for this change; it is built once for all watchers.

        Args:
            head: The beginning of the line: `{"type":…,"object":{"kind":…,"apiVersion":…,`.
            gone: See `shown`.
        """
        return self.encoded(head, lambda raw: b"".join((head, memoryview(raw)[1:], b"}\n")), gone=gone)

    def encoded(self, form: bytes, encode: Callable[[bytes], bytes], *, gone: bool) -> bytes:
        """Return the event of a watch for this change in some form; it is built once for all watchers.

        Args:
            form: Bytes that differ for each form and each type of event.
            encode: From the bytes of the object to those of the event.
            gone: See `shown`.
        """
        line = self.lines.get(form)
        if line is None:
            line = self.lines[form] = encode(self.shown(gone=gone))
        return line
