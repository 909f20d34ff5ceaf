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
"""Called with all stored objects of a list before they are converted, so that they can be converted together."""

META_VERSION = "meta.k8s.io/v1"
"""The apiVersion of objects with their metadata only, unless a client asks for `v1beta1`."""

PARTIAL = "PartialObjectMetadata"
"""The kind of objects with their metadata only."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class View:
    """A form that converts each stored object, for example to its metadata only, before encoding it. Immutable.

    Args:
        form: The form that encodes the converted objects.
        show: The function that converts the JSON of a stored object.
        items_named: True if each item of a list has its kind and apiVersion.
        prepare: A function that is called with all items of a list before they are converted; None for none.
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
        """Return the body of a response with one object, whose stored JSON is `raw`."""
        return self._form.single(self._show(raw))

    def list(self, items: Sequence[Stored], version: int, token: str, remaining: int | None, shards: str = "") -> bytes:
        """Return the body of a response with a list of the converted objects."""
        if self._prepare is not None:
            self._prepare([_decode(item.raw) for item in items])
        shown = [Stored(item.key, item.version, self._item(item.raw)) for item in items]
        return self._form.list(shown, version, token, remaining, shards)

    def event(self, type_: EventType, change: Change) -> bytes:
        """Return the line for a change. It is built again for each watch, because few clients watch in this form."""
        return self._form.line(type_, self._show(change.shown(gone=type_ is EventType.DELETED)))

    def initial(self, item: Stored) -> bytes:
        """Return the line for an object that existed when the watch began, as an event of type `ADDED`."""
        return self._form.line(EventType.ADDED, self._show(item.raw))

    def bookmark(self, version: int, *, initial_end: bool) -> bytes:
        """Return the line for a bookmark at the resourceVersion `version`."""
        return self._form.bookmark(version, initial_end=initial_end)

    def error(self, status: Mapping[str, object]) -> bytes:
        """Return the line for an error, which ends the watch."""
        return self._form.error(status)


class _Described(msgspec.Struct, gc=False):
    metadata: msgspec.Raw


_metadata_of = msgspec.json.Decoder(_Described).decode


def metadata_alone(raw: bytes, hidden: str = "") -> bytes:
    """Return the JSON of a stored object reduced to its metadata, without the annotation `hidden`."""
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
    """Return the JSON of a stored object without its `managedFields`; all other fields are copied unchanged."""
    if b'"managedFields"' not in raw:
        return raw
    parts = _parts_of(raw)
    metadata = _parts_of(parts["metadata"])
    metadata.pop("managedFields", None)
    return _encode({**parts, "metadata": metadata})


@functools.lru_cache(16)
def metadata_view(api_version: str = META_VERSION, hidden: str = "", *, lean: bool = False) -> View:
    """Return the `Form` that encodes only the metadata of objects as JSON, without the annotation `hidden`.

    If `lean` is True, the `managedFields` are left out as well.
    """
    show = functools.partial(metadata_alone, hidden=hidden) if hidden else metadata_alone
    if lean:
        return View(json_form(api_version, PARTIAL), lambda raw: show(without_managed_fields(raw)), items_named=True)
    return View(json_form(api_version, PARTIAL), show, items_named=True)


class OneOrMany:
    """A form for a client that requested either a single object or a list by its kind; the other one is refused.

    Like a real API server, this form detects a mismatch only after the request has been carried out: a write whose
    response is a 406 was stored.

    Args:
        form: The form that encodes both.
        kind: The kind of the objects.
        is_list: True if the client requested a list.
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
        """Return the body of a response with one object.

        Raises:
            StatusError: 406, or 500 for a custom kind: the client's Accept header asks for a list, but this response is
                a single object.
        """
        if not self._is_list:
            return self._form.single(raw)
        if self._kind.definition is not None:
            raise untyped("content is not a list")
        raise self._mismatch(f"{PARTIAL}List", f"not a list ({_go_type(self._kind, self._kind.kind)})")

    def list(self, items: Sequence[Stored], version: int, token: str, remaining: int | None, shards: str = "") -> bytes:
        """Return the body of a response with a list.

        Args:
            items: The objects of this page.
            version: The resourceVersion of the list.
            token: The continue token for the next page; empty for the last one.
            remaining: The number of objects on later pages; None to leave it out.
            shards: Ignored: a real API server does not add the shard selector to this form of a list either.

        Raises:
            StatusError: 406, the client's Accept header asks for a single object (`as=PartialObjectMetadata`), but this
                response is a list.
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
    """Return the name of a type in a real API server, which is part of its refusals."""
    if kind.definition is not None:
        return "*unstructured.Unstructured" + ("List" if name == kind.list_kind else "")
    package = kind.stored.group.partition(".")[0] or "core"
    return f"*{package}.{name}"


@functools.lru_cache
def whole_view(kind: Kind) -> JSONForm | View:
    """Return the `Form` that encodes whole objects of a kind as JSON, with the field names of that kind."""
    form = json_form(kind.api_version, kind.kind, kind.list_kind, items_named=kind.definition is not None)
    show = shown_as(kind)
    if show is None:
        return form
    return View(form, show, prepare=_prepare(kind))


@functools.lru_cache
def lean_view(kind: Kind) -> View:
    """Return the `Form` that encodes objects of a kind as JSON without their `managedFields` (KEP-5958)."""
    form = json_form(kind.api_version, kind.kind, kind.list_kind, items_named=kind.definition is not None)
    show = shown_as(kind)
    if show is None:
        return View(form, without_managed_fields)
    return View(form, lambda raw: without_managed_fields(show(raw)), prepare=_prepare(kind))


def _prepare(kind: Kind) -> Prepare | None:
    return None if kind.conversion is None else functools.partial(forms.prepare, kind)


def shown_as(kind: Kind) -> Show | None:
    """Return the function that converts the JSON of stored objects to a kind; None if objects are stored as that
    kind.
    """
    if kind.stored_as is None and kind.storage is None and not kind.has_changed and kind.conversion is None:
        return None
    return lambda raw: _encode(forms.shown(kind, _decode(raw)))
