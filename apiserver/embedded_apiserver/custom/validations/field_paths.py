# SPDX-License-Identifier: Apache-2.0
"""The names of fields in CEL expressions, and the `fieldPath` of a rule, to which its error belongs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from embedded_apiserver.kinds.definition import Raw

RESERVED = frozenset(
    (
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import"),
        *("let", "loop", "package", "namespace", "return", "var", "void", "while"),
    )
)
"""The reserved words of CEL, which cannot be names of variables."""

_ESCAPES = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_ESCAPED = re.compile(r"__|[-./]")
_NAME = re.compile(r"[A-Za-z_./-][A-Za-z0-9_./-]*", re.ASCII)
_QUOTE_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "'": "'", "\\": "\\"}


def escaped(name: str) -> str | None:
    """Return the name of a field in CEL expressions; None if they cannot name the field."""
    if name in RESERVED:
        return f"__{name}__"
    if not _NAME.fullmatch(name):
        return None
    return _ESCAPED.sub(lambda match: _ESCAPES[match[0]], name)


def field_path(schema: Raw, path: str) -> str | None:
    """Return a `fieldPath` such as `.spec['a.b']` in the form for error messages; None if it names no field of the
    schema.
    """
    steps: list[str] = []
    here: Any = schema
    tokens = _tokens(path)
    for token in tokens:
        if token == ".":
            name = next(tokens, None)
        elif token == "[":
            name = _unquoted(next(tokens, ""))
            if next(tokens, None) != "]":
                return None
        else:
            return None
        if name is None or not isinstance(here, Mapping):
            return None
        if here.get("properties"):
            here = here["properties"].get(name)
            steps.append(f".{name}")
        else:
            here = here.get("additionalProperties")
            steps.append(f"[{name}]")
        if here is None:
            return None
    return "".join(steps).removeprefix(".")


def _tokens(path: str) -> Iterator[str]:
    """Return the parts of a path: dots, brackets, texts in single quotes with these, and all other texts."""
    at = 0
    while at < len(path):
        end = at + 1
        if path[at] == "'":
            while end < len(path) and (path[end] != "'" or path[end - 1] == "\\"):
                end += 1
            end += 1
        elif path[at] not in ".[]":
            while end < len(path) and path[end] not in ".[]":
                end += 1
        yield path[at:end]
        at = end


def _unquoted(token: str) -> str | None:
    if len(token) < 2 or token[0] != "'" or token[-1] != "'":
        return None
    made, at, inner = [], 0, token[1:-1]
    while at < len(inner):
        if inner[at] == "\\" and at + 1 < len(inner):
            if inner[at + 1] not in _QUOTE_ESCAPES:
                return None
            made.append(_QUOTE_ESCAPES[inner[at + 1]])
            at += 2
        else:
            made.append(inner[at])
            at += 1
    return "".join(made)
