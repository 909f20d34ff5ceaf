# SPDX-License-Identifier: Apache-2.0
"""Responses in YAML: made from the body of a JSON form, in the style of a real API server."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from embedded_apiserver.bounds import values_in
from embedded_apiserver.reads.forms import Form
from embedded_apiserver.storage.stored import Stored

_MOST_IN_BLOCKS = 40_000  # values; a larger document is sent as JSON, see `to_yaml`


class YAMLForm:
    """Encodes objects and lists as YAML, from the JSON of another form. Watches are not supported. Immutable."""

    content_type = "application/yaml"

    def __init__(self, form: Form) -> None:
        self._form = form

    def single(self, raw: bytes) -> bytes:
        """Return the body of a response with one object, whose stored JSON is `raw`."""
        return to_yaml(self._form.single(raw))

    def list(self, items: Sequence[Stored], version: int, token: str, remaining: int | None, shards: str = "") -> bytes:
        """Return the body of a response with a list."""
        return to_yaml(self._form.list(items, version, token, remaining, shards))


def to_yaml(document: bytes) -> bytes:
    """Return a JSON document as YAML with sorted keys; strings have double quotes only where they need quotes.

    A document with very many values is returned unchanged: JSON is valid YAML, and PyYAML is so slow that other
    requests would have to wait for it.
    """
    if values_in(document, _MOST_IN_BLOCKS) > _MOST_IN_BLOCKS:
        return document
    from embedded_apiserver.reads.yaml_writer import yaml_of  # most clients read JSON alone

    return yaml_of(msgspec.json.decode(document)).encode()
