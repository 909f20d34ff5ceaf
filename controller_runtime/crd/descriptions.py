# SPDX-License-Identifier: Apache-2.0
"""Descriptions from docstrings, which `kubectl explain` shows."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping

_SECTION = re.compile(r"^(?:Attributes|Args):\s*$", re.MULTILINE)
_NEXT_SECTION = re.compile(r"^\S", re.MULTILINE)
_ENTRY = re.compile(r"^ {4}(\w+):\s*(.+(?:\n {5,}\S.*)*)", re.MULTILINE)


def _docstring(cls: type) -> str:
    text = inspect.cleandoc(vars(cls).get("__doc__") or "")
    return "" if text.startswith(f"{cls.__name__}(") else text  # what dataclasses make up: the signature


def description_of(cls: type) -> str:
    """Return the docstring of a class up to its first section, with its lines joined; empty if it has none."""
    return _flowing(_SECTION.split(_docstring(cls), 1)[0])


def described_fields(cls: type) -> Mapping[str, str]:
    """Return the texts of the section `Attributes` (or `Args`) in a class's docstring and in those of its bases."""
    texts: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        _, *sections = _SECTION.split(_docstring(base))
        for section in sections:
            own = _NEXT_SECTION.split(section, 1)[0]
            texts |= {name: _flowing(text) for name, text in _ENTRY.findall(own)}
    return texts


def _flowing(text: str) -> str:
    return "\n".join(" ".join(paragraph.split()) for paragraph in text.strip().split("\n\n"))
