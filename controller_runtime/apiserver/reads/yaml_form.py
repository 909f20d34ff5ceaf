# SPDX-License-Identifier: Apache-2.0
"""YAML out: what a JSON form says, written as a real server writes it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import yaml

from controller_runtime.apiserver.bounds import values_in
from controller_runtime.apiserver.reads.forms import Form
from controller_runtime.apiserver.storage.stored import Stored

_MOST_IN_BLOCKS = 40_000  # values
_BOOLEANS_ELSEWHERE = ("y", "Y", "n", "N")  # to readers of old YAML, if not to ours


class YAMLForm:
    """Another form's objects and lists as YAML; it has no lines, so nothing is watched in it. Immutable."""

    content_type = "application/yaml"

    def __init__(self, form: Form) -> None:
        self._form = form

    def single(self, raw: bytes) -> bytes:
        """One object."""
        return to_yaml(self._form.single(raw))

    def list(self, items: Sequence[Stored], version: int, token: str, remaining: int | None) -> bytes:
        """A list."""
        return to_yaml(self._form.list(items, version, token, remaining))


def to_yaml(document: bytes) -> bytes:
    """A JSON document as YAML: names sorted, lists not indented, texts in double quotes where they need any.

    What holds very many values stays as it is: JSON is YAML, too, and to write it in blocks would hold up all others.
    """
    if values_in(document, _MOST_IN_BLOCKS) > _MOST_IN_BLOCKS:
        return document
    content = msgspec.json.decode(document)
    text: str = yaml.dump(content, Dumper=_Dumper, width=float("inf"), allow_unicode=True, default_flow_style=False)
    return text.encode()


class _Dumper(yaml.SafeDumper):
    """Writes no anchors, and quotes as a real server does."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def choose_scalar_style(self) -> str:
        style: str = super().choose_scalar_style()
        return '"' if style == "'" else style


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else '"' if text in _BOOLEANS_ELSEWHERE else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
