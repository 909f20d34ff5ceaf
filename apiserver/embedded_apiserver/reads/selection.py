# SPDX-License-Identifier: Apache-2.0
"""The objects of a kind that a list, a watch or the deletion of a collection selects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from apimachinery.selectors import FieldSelector
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.list_options import ListOptions, parsed_selectors
from embedded_apiserver.reads.selector_fields import check_fields, fields_for_selector
from embedded_apiserver.status import untyped
from embedded_apiserver.storage.stored import Stored

if TYPE_CHECKING:
    from embedded_apiserver.reads.shards import ShardSelector

_NAME, _NAMESPACE = "metadata.name", "metadata.namespace"


class Selection:
    """Selects objects of one kind by a namespace, a label selector, a field selector and a shard selector.

    Args:
        kind: The kind of the objects.
        namespace: The namespace; empty for all namespaces.
        labels: The text of the label selector.
        fields: The text of the field selector.
        shards: The text of the shard selector.

    Attributes:
        prefix: The prefix of the keys of all selected objects. A selector by name and namespace makes the whole key the
            prefix, so that a watch of one object among many costs little.
        is_narrowed: True if a selector may exclude objects whose keys have the prefix.
        is_counted: True if a list gives the number of remaining objects. As on a real API server, a shard selector does
            not prevent that.
        shards: The shard selector, as in the metadata of a list; empty if absent.
        is_single: True if the field selector requires a certain name.

    Raises:
        StatusError: 400, a selector cannot be parsed, or names a field that cannot be selected; 500, as from a real API
            server, for a shard selector.

    Threads: any. Immutable, except for the fields that `matches` caches in a `Stored`.
    """

    def __init__(self, kind: Kind, namespace: str = "", labels: str = "", fields: str = "", shards: str = "") -> None:
        by_labels, by_fields = parsed_selectors(labels, fields)
        names = tuple(requirement.field for requirement in by_fields.requirements)
        check_fields(kind, names)
        self._kind = kind
        self._labels = None if by_labels.is_everything else by_labels
        self._fields = by_fields if names else None
        # Name and namespace are in the key; for any other field the object has to be decoded.
        self._by_key = all(name in (_NAME, _NAMESPACE) for name in names)
        self.prefix = _prefix(kind, namespace, by_fields)
        self.is_single = any(one.equal and one.field == _NAME for one in by_fields.requirements)
        self._shards = _shards(shards)
        self.shards = str(self._shards or "")
        self.is_counted = self._labels is None and self._fields is None
        self.is_narrowed = not self.is_counted or self._shards is not None

    @classmethod
    def of(cls, kind: Kind, namespace: str, options: ListOptions) -> Selection:
        """Return the selection that the options of a list or watch describe."""
        return cls(kind, namespace, options.labels, options.fields, options.shards)

    def matches(self, item: Stored) -> bool:
        """Return whether `item` is selected."""
        if not item.key.startswith(self.prefix):
            return False
        if self._labels is not None and not self._labels.matches(item.labels()):
            return False
        if self._fields is not None and not self._fields.matches(self._fields_of(item)):
            return False
        return self._shards is None or self._shards.matches(item)

    def _fields_of(self, item: Stored) -> Mapping[str, str]:
        if self._by_key:
            return {_NAME: item.name, _NAMESPACE: item.namespace}
        # Not cached in the object: this kind has other field names than the kind it is stored as, or its definition may
        # change the selectable fields.
        if self._kind.stored_as is not None or self._kind.definition is not None:
            return fields_for_selector(self._kind, item.decode())
        if item.fields is None:
            item.fields = fields_for_selector(self._kind, item.decode())
        return item.fields


def _shards(text: str) -> ShardSelector | None:
    if not text:
        return None
    from embedded_apiserver.reads.shards import ShardSelector  # with the parser of expressions, which few servers need

    try:
        return ShardSelector.parse(text)
    except ValueError as error:
        raise untyped(f"invalid shard selector: {error}") from None


def _prefix(kind: Kind, namespace: str, fields: FieldSelector) -> str:
    exact = {one.field: one.value for one in fields.requirements if one.equal}
    namespace = namespace or exact.get(_NAMESPACE, "")
    if not kind.namespaced:
        return exact.get(_NAME, "")
    return f"{namespace}/{exact.get(_NAME, '')}" if namespace else ""
