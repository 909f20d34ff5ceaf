# SPDX-License-Identifier: Apache-2.0
"""Objects shown as another kind: by their metadata alone, or by the names another group has for them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import msgspec

from controller_runtime.apiserver.kinds.kind import Kind
from controller_runtime.apiserver.reads.forms import EventType, JSONForm, json_form
from controller_runtime.apiserver.rules.ruleset import rules_of
from controller_runtime.apiserver.storage.stored import Change, Stored

Show = Callable[[bytes], bytes]
"""From an object's stored bytes to those that are shown, both without kind and apiVersion."""

_META = "meta.k8s.io/v1"
_PARTIAL = "PartialObjectMetadata"

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class View:
    """A form that shows something else than what is stored; immutable.

    Args:
        form: Of the kind shown.
        show: What is shown of an object.
        items_named: Whether each item of a list carries its kind, as those of lists of many kinds do.
    """

    content_type = JSONForm.content_type

    def __init__(self, form: JSONForm, show: Show, *, items_named: bool = False) -> None:
        self._form = form
        self._show = show
        self._item = self.single if items_named else show

    def single(self, raw: bytes) -> bytes:
        """One object."""
        return self._form.single(self._show(raw))

    def list(self, items: Sequence[Stored], version: int, token: str, remaining: int | None) -> bytes:
        """A list."""
        shown = [Stored(item.key, item.version, self._item(item.raw)) for item in items]
        return self._form.list(shown, version, token, remaining)

    def event(self, type_: EventType, change: Change) -> bytes:
        """A line of a watch, made anew for each watcher: few watch like this."""
        raw = change.last.raw_at(change.version) if type_ is EventType.DELETED or not change.new else change.new.raw
        return self._form.line(type_, self._show(raw))

    def initial(self, item: Stored) -> bytes:
        """An object that was there before, as added."""
        return self._form.line(EventType.ADDED, self._show(item.raw))

    def bookmark(self, version: int, *, initial_end: bool) -> bytes:
        """A version."""
        return self._form.bookmark(version, initial_end=initial_end)


class _Described(msgspec.Struct, gc=False):
    metadata: msgspec.Raw


_metadata_of = msgspec.json.Decoder(_Described).decode


def _metadata_alone(raw: bytes) -> bytes:
    return b'{"metadata":%b}' % bytes(_metadata_of(raw).metadata)


@functools.cache
def metadata_view() -> View:
    """Objects of any kind by their metadata alone."""
    return View(json_form(_META, _PARTIAL), _metadata_alone, items_named=True)


@functools.lru_cache
def whole_view(kind: Kind) -> JSONForm | View:
    """Objects of a kind, whole, by the names it has for their fields."""
    form = json_form(kind.api_version, kind.kind, kind.list_kind, items_named=kind.definition is not None)
    if kind.stored_as is None:
        return form
    rules = rules_of(kind)
    return View(form, lambda raw: _encode(rules.shown_form(_decode(raw))))
