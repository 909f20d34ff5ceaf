# SPDX-License-Identifier: Apache-2.0
"""Tables: objects as rows of cells, the form that `kubectl get` requests."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec

from embedded_apiserver.reads.columns import Layout
from embedded_apiserver.reads.forms import (
    EventType,
    Form,
    JSONForm,
    bookmark_metadata,
    error_line,
    list_metadata,
)
from embedded_apiserver.reads.views import metadata_view
from embedded_apiserver.storage.stored import Change, Stored

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class Include(enum.Enum):
    """The part of the object that each row of a table contains: the values of the parameter `includeObject`."""

    NONE = "None"
    METADATA = "Metadata"
    OBJECT = "Object"


class TableForm:
    """Encodes objects of one kind as tables, for one request: a watch gets the column definitions only once.

    Args:
        layout: The layout of the kind's tables.
        include: The part of the object that each row contains.
        version: The requested API version of the table, such as `v1`.
        whole: The JSON form of whole objects of the kind.
        now: A function that returns the current time, for ages.
        hidden: An annotation to leave out of the metadata; empty for none.
        opened: A function that converts a stored object to the version of the columns; None for no conversion.

    Threads: only the thread of the request.
    """

    content_type = JSONForm.content_type
    stream_type = JSONForm.stream_type

    def __init__(
        self,
        layout: Layout,
        include: Include,
        version: str,
        whole: Form,
        now: Callable[[], datetime],
        hidden: str = "",
        opened: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None,
    ) -> None:
        self._layout = layout
        self._cells = [column.cell for column in layout.columns]
        self._api_version = f"meta.k8s.io/{version}"
        self._include = include
        self._whole = whole
        self._hidden = hidden
        self._now = now
        self._opened = opened
        self._has_sent_columns = False

    def single(self, raw: bytes) -> bytes:
        """Return the body of a response with one object: a table with one row."""
        obj = _decode(raw)
        metadata = obj["metadata"]  # an object of a dry run of a create has no version
        version = {"resourceVersion": metadata["resourceVersion"]} if "resourceVersion" in metadata else {}
        return self._table(version, [(raw, obj)])

    def list(self, items: Sequence[Stored], version: int, token: str, remaining: int | None, shards: str = "") -> bytes:
        """Return the body of a response with a list: a table with a row for each object. As on a real API server,
        `shards` is ignored.
        """
        rows: Iterable[tuple[bytes, dict[str, Any]]] = ((item.raw, item.decode()) for item in items)
        if (order := self._layout.order) is not None:
            rows = sorted(rows, key=lambda row: order(row[1]))
        return self._table(list_metadata(version, token, remaining), rows)

    def event(self, type_: EventType, change: Change) -> bytes:
        """Return the line for a change: an event whose object is a table with one row."""
        return self._line(type_.value, self.single(change.shown(gone=type_ is EventType.DELETED)))

    def initial(self, item: Stored) -> bytes:
        """Return the line for an object that existed when the watch began, as an event of type `ADDED`."""
        return self._line(EventType.ADDED.value, self.single(item.raw))

    def bookmark(self, version: int, *, initial_end: bool) -> bytes:
        """Return the line for a bookmark: an event whose object is a table without rows."""
        return self._line("BOOKMARK", self._table(bookmark_metadata(version, initial_end=initial_end), ()))

    def error(self, status: Mapping[str, object]) -> bytes:
        """Return the line for an error, which ends the watch. Its object is a `Status`, not a table."""
        return error_line(status)

    def _line(self, type_: str, table: bytes) -> bytes:
        self._has_sent_columns = True
        return b'{"type":"%b","object":%b}\n' % (type_.encode(), table)

    def _table(self, metadata: dict[str, Any], objects: Iterable[tuple[bytes, dict[str, Any]]]) -> bytes:
        columns = None if self._has_sent_columns else [column.definition for column in self._layout.columns]
        rows = [self._row(raw, obj) for raw, obj in objects]
        return _encode(
            {
                "kind": "Table",
                "apiVersion": self._api_version,
                "metadata": metadata,
                "columnDefinitions": columns,
                "rows": rows if rows or self._layout.has_empty_rows else None,
            }
        )

    def _row(self, raw: bytes, obj: dict[str, Any]) -> dict[str, Any]:
        now, conditions_of = self._now(), self._layout.conditions
        if self._opened is not None:
            obj = {**self._opened(obj)}
        row: dict[str, Any] = {"cells": [cell(obj, now) for cell in self._cells]}
        if conditions_of is not None and (conditions := conditions_of(obj)):
            row["conditions"] = conditions
        row["object"] = self._carried(raw)
        return row

    def _carried(self, raw: bytes) -> msgspec.Raw | None:
        match self._include:
            case Include.NONE:
                return None
            case Include.METADATA:
                return msgspec.Raw(metadata_view(self._api_version, self._hidden).single(raw))
            case Include.OBJECT:
                return msgspec.Raw(self._whole.single(raw))
