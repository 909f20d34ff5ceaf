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
    """Return the key of an object in its collection: `namespace/name`, or only the name if it is cluster-scoped."""
    return f"{namespace}/{name}" if namespace else name


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(dict[str, Any])


class _Labels(msgspec.Struct, gc=False):
    labels: dict[str, str] | None = None


class _WithLabels(msgspec.Struct, gc=False):
    metadata: _Labels


_labels_decoder = msgspec.json.Decoder(_WithLabels)


class Draft(NamedTuple):
    """An encoded object without its resourceVersion, which is known only at the commit.

    Attributes:
        head: The bytes before the digits of the version.
        tail: The bytes after the digits.
    """

    head: bytes
    tail: bytes

    @classmethod
    def of(cls, obj: Mapping[str, Any]) -> Draft:
        """Return an object encoded without its resourceVersion. Metadata comes first, with its fields in a real API
        server's order.
        """
        unordered = {**obj["metadata"], "resourceVersion": ""}
        whole = {"metadata": {name: unordered[name] for name in METADATA_ORDER if name in unordered}}
        whole |= {name: part for name, part in obj.items() if name != "metadata"}
        # The first match is the version itself: before it, metadata has only plain texts, whose quotes are escaped.
        head, quote, tail = _encoder.encode(whole).partition(_VERSION)
        return cls(head + quote, tail)

    def at(self, version: int) -> bytes:
        """Return the JSON of the object with this version."""
        return b"%b%d%b" % (self.head, version, self.tail)

    def untidy(self) -> Draft:
        """Return the object marked as one that a real API server stores with empty metadata fields; see `is_untidy`.

        The next write is then stored even if it changes nothing, unless its result is marked as well.
        """
        return self._replace(tail=self.tail[:-1] + _UNTIDY)

    def unversioned(self) -> bytes:
        """Return the JSON of the object without a resourceVersion, such as for a dry run, which stores nothing."""
        return self.head[: -len(_VERSION)].removesuffix(b",") + self.tail[1:]


class Stored(msgspec.Struct, gc=False, eq=False):
    """One object at one version. Immutable except for two values that are computed and cached at first use.

    Attributes:
        key: `namespace/name`, or only the name if the object is cluster-scoped.
        version: The resourceVersion of the object's last write.
        raw: The object's JSON, without `kind` and `apiVersion`.
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
        """True if a real API server would have stored empty metadata fields, such as `labels: {}`, with the object.

        Responses do not show such fields. A real API server stores an applied custom object with them, so that the next
        other write, even one without a change, removes them and gets a new resourceVersion.
        """
        return self.raw.endswith(_UNTIDY)

    def labels(self) -> Mapping[str, str]:
        """Return the object's labels. The mapping is shared: do not change it."""
        if self._labels is None:
            self._labels = _labels_decoder.decode(self.raw).metadata.labels or {}
        return self._labels

    def decode(self) -> dict[str, Any]:
        """Return the object as a new dict, which the caller may change."""
        return _decoder.decode(self.raw)

    def raw_at(self, version: int) -> bytes:
        """Return the JSON with another resourceVersion: watches show a deleted object with the version of its
        deletion.
        """
        mine, other = (b"%b%d" % (_VERSION, number) for number in (self.version, version))
        return self.raw.replace(mine, other, 1)


class Change(msgspec.Struct, gc=False, eq=False):
    """One write of one object.

    Attributes:
        version: The version of the write, and of `new`.
        at: The time of the write, in seconds of `Clock.monotonic`.
        old: The object before the write; None if the write created it.
        new: The object after the write; None if the write deleted it.
        lines: The encoded watch events built so far, by their form, shared by all watches. If two threads build the
            same event at the same time, the results are equal and one is kept.
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
        """Return the JSON of the object in the watch event for this change.

        Args:
            gone: True to show the object before the write, with the version of the write: it was deleted, or the
                selector of the watch no longer matches it.
        """
        return self.last.raw_at(self.version) if gone or self.new is None else self.new.raw

    def line(self, head: bytes, *, gone: bool) -> bytes:
        """Return the JSON line of the watch event for this change.

        The line is cached by `head`, and shared by all watches, as long as the change is among the newest.

        Args:
            head: The beginning of the line: `{"type":…,"object":{"kind":…,"apiVersion":…,`.
            gone: True if the event shows the object before the write; see `shown`.
        """
        return self.encoded(head, lambda raw: b"".join((head, memoryview(raw)[1:], b"}\n")), gone=gone)

    def encoded(self, form: bytes, encode: Callable[[bytes], bytes], *, gone: bool) -> bytes:
        """Return the encoded watch event for this change.

        It is cached by `form`, and shared by all watches, as long as the change is among the newest.

        Args:
            form: The key of the cached event, which differs for each encoding and each type of event.
            encode: A function that returns the event for the JSON of the object.
            gone: True if the event shows the object before the write; see `shown`.
        """
        line = self.lines.get(form)
        if line is None:
            line = self.lines[form] = encode(self.shown(gone=gone))
        return line
