# SPDX-License-Identifier: Apache-2.0
"""Views: objects shown as another kind, with their metadata only or with another group's field names."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from embedded_apiserver.custom import forms
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.reads.forms import EventType, JSONForm, LineForm, json_form
from embedded_apiserver.status import StatusError, untyped
from embedded_apiserver.storage.stored import Change, Stored

Show = Callable[[bytes], bytes]
"""Returns the bytes to send from the stored bytes of an object, both without kind and apiVersion."""

Prepare = Callable[[Sequence[Mapping[str, Any]]], None]
"""Prepares the conversion of several stored objects."""

META_VERSION = "meta.k8s.io/v1"
"""The apiVersion of objects with their metadata only, unless a client asks for `v1beta1`."""

PARTIAL = "PartialObjectMetadata"
"""Their kind."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class View:
    """A form that converts each stored object before it is sent; immutable.

    Args:
        form: The form of the kind that is shown.
        show: The conversion of an object.
        items_named: Whether each item of a list has its kind and apiVersion.
        prepare: Called with the items of a list before each is converted; None for nothing.
    """

    content_type = JSONForm.content_type
    stream_type = JSONForm.stream_type

    def __init__(
        self, form: JSONForm, show: Show, *, items_named: bool = False, prepare: Prepare | None = None
    ) -> None:
        self._form = form
        self._prepare = prepare
        self._show = show
        self._item = self.single if items_named else show

    def single(self, raw: bytes) -> bytes:
        """Return the body of one object."""
        return self._form.single(self._show(raw))

    def list(self, items: Sequence[Stored], version: int, token: str, remaining: int | None, shards: str = "") -> bytes:
        """Return the body of a list."""
        if self._prepare is not None:
            self._prepare([_decode(item.raw) for item in items])
        shown = [Stored(item.key, item.version, self._item(item.raw)) for item in items]
        return self._form.list(shown, version, token, remaining, shards)

    def event(self, type_: EventType, change: Change) -> bytes:
        """Return the line of a change. It is built for each watcher, not cached: few clients watch in this form."""
        return self._form.line(type_, self._show(change.shown(gone=type_ is EventType.DELETED)))

    def initial(self, item: Stored) -> bytes:
        """Return the line of an object that existed when the watch began: a watcher sees it as added."""
        return self._form.line(EventType.ADDED, self._show(item.raw))

    def bookmark(self, version: int, *, initial_end: bool) -> bytes:
        """Return the line of a bookmark."""
        return self._form.bookmark(version, initial_end=initial_end)

    def error(self, status: Mapping[str, object]) -> bytes:
        """Return the line that ends a watch with a failure."""
        return self._form.error(status)


class _Described(msgspec.Struct, gc=False):
    metadata: msgspec.Raw


_metadata_of = msgspec.json.Decoder(_Described).decode


def metadata_alone(raw: bytes, hidden: str = "") -> bytes:
    """Return the stored bytes of an object without all but its metadata, and without the annotation `hidden`."""
    metadata = bytes(_metadata_of(raw).metadata)
    if hidden and hidden.encode() in metadata:
        metadata = _encode(_without_annotation(_decode(metadata), hidden))
    return b'{"metadata":%b}' % metadata


def _without_annotation(metadata: Mapping[str, Any], hidden: str) -> Mapping[str, Any]:
    shown = {name: value for name, value in (metadata.get("annotations") or {}).items() if name != hidden}
    rest = {name: shown if name == "annotations" else value for name, value in metadata.items()}
    return {name: value for name, value in rest.items() if name != "annotations" or value}


_parts_of = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def without_managed_fields(raw: bytes) -> bytes:
    """Return the stored bytes of an object without its managed fields; the other fields are copied as they are."""
    if b'"managedFields"' not in raw:
        return raw
    parts = _parts_of(raw)
    metadata = _parts_of(parts["metadata"])
    metadata.pop("managedFields", None)
    return _encode({**parts, "metadata": metadata})


@functools.lru_cache(16)
def metadata_view(api_version: str = META_VERSION, hidden: str = "", *, lean: bool = False) -> View:
    """Return the form of objects with their metadata only, without the annotation `hidden`.

    Without their managed fields, too, if `lean` is True.
    """
    show = functools.partial(metadata_alone, hidden=hidden) if hidden else metadata_alone
    if lean:
        return View(json_form(api_version, PARTIAL), lambda raw: show(without_managed_fields(raw)), items_named=True)
    return View(json_form(api_version, PARTIAL), show, items_named=True)


class OneOrMany:
    """A form for either one object or a list, which a client asked for by name; the other is refused.

    A real server finds out when it has carried out the request, and so does this form: a write that is answered with
    406 has happened.

    Args:
        form: The form of both.
        kind: The kind of the objects.
        is_list: Whether the client asked for a list.
    """

    def __init__(self, form: LineForm, kind: Kind, *, is_list: bool) -> None:
        self._form = form
        self._kind = kind
        self._is_list = is_list
        self.content_type = form.content_type
        self.stream_type = form.stream_type
        self.event = form.event
        self.initial = form.initial
        self.bookmark = form.bookmark
        self.error = form.error

    def single(self, raw: bytes) -> bytes:
        """Return the body of one object.

        Raises:
            StatusError: The client asked for a list: 406, or 500 for a custom kind.
        """
        if not self._is_list:
            return self._form.single(raw)
        if self._kind.definition is not None:
            raise untyped("content is not a list")
        raise self._mismatch(f"{PARTIAL}List", f"not a list ({_go_type(self._kind, self._kind.kind)})")

    def list(self, items: Sequence[Stored], version: int, token: str, remaining: int | None, shards: str = "") -> bytes:
        """Return the body of a list.

        Raises:
            StatusError: 406, the client asked for one object.
        """
        if self._is_list:
            body = self._form.list(items, version, token, remaining)  # without `shards`, as a real server
            # In Go, the list of no items is another one than an empty list.
            return body if items else body.replace(b'"items":[]', b'"items":null')
        raise self._mismatch(PARTIAL, f"a list ({_go_type(self._kind, self._kind.list_kind)})")

    @staticmethod
    def _mismatch(wanted: str, found: str) -> StatusError:
        return StatusError(406, "NotAcceptable", f"you requested {wanted}, but the requested object is {found}")


def _go_type(kind: Kind, name: str) -> str:
    """Return the name of a type in a real server, which is part of its refusals."""
    if kind.definition is not None:
        return "*unstructured.Unstructured" + ("List" if name == kind.list_kind else "")
    package = kind.stored.group.partition(".")[0] or "core"
    return f"*{package}.{name}"


@functools.lru_cache
def whole_view(kind: Kind) -> JSONForm | View:
    """Return the form that shows whole objects of a kind, with the field names of that kind."""
    form = json_form(kind.api_version, kind.kind, kind.list_kind, items_named=kind.definition is not None)
    show = shown_as(kind)
    if show is None:
        return form
    return View(form, show, prepare=_prepare(kind))


@functools.lru_cache
def lean_view(kind: Kind) -> View:
    """Return the form of whole objects of a kind without their managed fields (KEP-5958)."""
    form = json_form(kind.api_version, kind.kind, kind.list_kind, items_named=kind.definition is not None)
    show = shown_as(kind)
    if show is None:
        return View(form, without_managed_fields)
    return View(form, lambda raw: without_managed_fields(show(raw)), prepare=_prepare(kind))


def _prepare(kind: Kind) -> Prepare | None:
    return None if kind.conversion is None else functools.partial(forms.prepare, kind)


def shown_as(kind: Kind) -> Show | None:
    """Return the conversion of stored objects to those of a kind; None if they are stored as that kind."""
    if kind.stored_as is None and kind.storage is None and not kind.has_changed and kind.conversion is None:
        return None
    return lambda raw: _encode(forms.shown(kind, _decode(raw)))
