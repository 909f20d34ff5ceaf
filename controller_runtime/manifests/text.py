# SPDX-License-Identifier: Apache-2.0
"""YAML in blocks, of plain values and of the few template constructs that a chart has."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

Value = Any
"""A JSON value, or one with the constructs below in it."""


class Literal(str):
    """A text that is not a template, even if it contains braces."""

    __slots__ = ()


class Bare(str):
    """A template whose result is not a text, such as a number, so it is written without quotes."""

    __slots__ = ()


@attrs.frozen
class When:
    """A field or a list element that exists only if a template condition holds.

    Attributes:
        condition: The condition in the template language, such as `.Values.metrics.enabled`.
        value: The value.
    """

    condition: str
    value: Value


@attrs.frozen
class ToYaml:
    """A field whose value comes from the chart's values.

    Attributes:
        path: The path in the values, such as `.Values.resources`.
        optional: Omit the field if the value is empty.
    """

    path: str
    optional: bool = False


class _Absent:
    """The type of `ABSENT`."""


ABSENT = _Absent()
"""Stands for a field or an element that is not there."""


def when(condition: bool | str, value: Value) -> Value:
    """Return `value` if the condition is true, else `ABSENT`; if the condition is a text, return a `When`."""
    if isinstance(condition, str):
        return When(condition, value)
    return value if condition else ABSENT


def present(value: Value) -> Value:
    """Return a value without `ABSENT` fields and elements."""
    if isinstance(value, When):
        return When(value.condition, present(value.value))
    if isinstance(value, Mapping):
        return {name: present(field) for name, field in value.items() if field is not ABSENT}
    if isinstance(value, list | tuple):
        return [present(one) for one in value if one is not ABSENT]
    return value


def literal(value: Value) -> Value:
    """Return a JSON value in which all texts are `Literal`."""
    if isinstance(value, Mapping):
        return {Literal(name): literal(field) for name, field in value.items()}
    if isinstance(value, list | tuple):
        return [literal(one) for one in value]
    return Literal(value) if isinstance(value, str) else value


def plain(value: Value) -> Value:
    """Return a value, which must have no template constructs, with ordinary texts and without `ABSENT` parts."""
    if isinstance(value, Mapping):
        return {str(name): plain(field) for name, field in value.items() if field is not ABSENT}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value if one is not ABSENT]
    return str(value) if isinstance(value, str) else value


def document(value: Mapping[str, Value], *, template: bool = False) -> str:
    """Return a mapping as a YAML document, with its fields in order.

    Args:
        value: The mapping.
        template: Whether the result is a template, in which texts with braces are expressions unless they are
            `Literal`. If not, all texts are written literally, and `value` must have no template constructs.
    """
    made = present(value if template else literal(value))
    text = "".join(f"{line}\n" for line in _mapping(made, ""))
    return text.replace(_BRACES, '{{ "{{" }}' if template else "{{")


# A text that begins with a digit is in quotes, unless it is a quantity such as 64Mi: it could be a number or a time.
_PLAIN = re.compile(
    r"(?:[A-Za-z/]|--[A-Za-z]|\.[A-Za-z]|\$\()[\w ./$()=:,*+<>'@-]*|[1-9][0-9]*(?:m|s|[KMG]i)", re.ASCII
)
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", ".inf", ".nan"})  # of YAML 1.1
_NEWLINE = "\n"
# Characters that YAML forbids or reads as ends of lines, and the one that stands for braces.
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ud800-\udfff\ue000\ufffe\uffff]")
_BRACES = "\ue000"  # stands for braces that open no template, until the text is complete


def _mapping(fields: Mapping[str, Value], indent: str) -> Iterator[str]:
    for name, value in fields.items():
        key = f"{indent}{_scalar(name)}:"
        if isinstance(value, When):
            yield f"{{{{- if {value.condition} }}}}"
            yield from _field(key, value.value, indent)
            yield "{{- end }}"
        else:
            yield from _field(key, value, indent)


def _field(key: str, value: Value, indent: str) -> Iterator[str]:
    if isinstance(value, ToYaml):
        deeper = len(indent) + 2
        if value.optional:
            yield f"{{{{- with {value.path} }}}}"
            yield key
            yield f"{indent}  {{{{- toYaml . | nindent {deeper} }}}}"
            yield "{{- end }}"
        else:
            yield key
            yield f"{indent}  {{{{- toYaml {value.path} | nindent {deeper} }}}}"
    elif isinstance(value, Mapping) and value:
        yield key
        yield from _mapping(value, indent + "  ")
    elif isinstance(value, Sequence) and not isinstance(value, str) and value:
        yield key
        yield from _sequence(value, indent + "  ")
    elif isinstance(value, str) and _fits_block(value):
        yield f"{key} {'|' if value.endswith(_NEWLINE) else '|-'}"
        for line in _escaped(value).removesuffix("\n").split("\n"):
            yield f"{indent}  {line}" if line else ""
    else:
        yield f"{key} {_scalar(value)}"


def _sequence(values: Sequence[Value], indent: str) -> Iterator[str]:
    # Elements under one condition share one block.
    for condition, group in itertools.groupby(values, lambda one: one.condition if isinstance(one, When) else ""):
        if condition:
            yield f"{{{{- if {condition} }}}}"
        for one in group:
            yield from _element(one.value if isinstance(one, When) else one, indent)
        if condition:
            yield "{{- end }}"


def _element(value: Value, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        lines = [*_mapping(value, indent + "  ")]
        if lines[0].startswith("{{"):
            raise ValueError("the first field of an element must be there in any case, since the dash stands before it")
        yield f"{indent}- {lines[0].lstrip()}"
        yield from lines[1:]
    else:
        yield f"{indent}- {_scalar(value)}"


def _scalar(value: Value) -> str:
    if isinstance(value, Bare):
        return str(value)
    if isinstance(value, str) and not isinstance(value, Literal) and "{{" in value:
        return f'"{value}"'
    if isinstance(value, str):
        return _escaped(_text(str(value)))
    return json.dumps(value)


def _text(value: str) -> str:
    """Return a text as YAML reads it: plain where that is safe for any reader, else in quotes."""
    is_plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS and ": " not in value and value[-1] not in " :"
    return value if is_plain else _UNSAFE.sub(_as_escape, json.dumps(value, ensure_ascii=False))


def _as_escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found.group()):04x}"


def _fits_block(value: str) -> bool:
    """Return whether a text can be written as a block: several lines, each without what a block cannot keep."""
    lines = value.removesuffix("\n").split("\n")
    is_literal = isinstance(value, Literal) or "{{" not in value
    return (
        is_literal
        and len(lines) > 1
        and bool(lines[0].strip())
        and not value.endswith("\n\n")
        and all(line == line.rstrip() and line.isprintable() for line in lines)
        and not lines[0].startswith(" ")
    )


def _escaped(value: str) -> str:
    return value.replace("{{", _BRACES)
