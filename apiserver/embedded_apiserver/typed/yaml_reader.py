# SPDX-License-Identifier: Apache-2.0
"""Decoding of YAML, from the events of a parser to the types of JSON.

Aliases and tags are refused, because a few aliases can expand to gigabytes. The reader is a loop over the events
that handles each once, so the time grows with the length of the text and not with its depth.
"""

from __future__ import annotations

import math
from typing import Any

import yaml
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from embedded_apiserver.bounds import MOST_VALUES

# The parser in C is about thirty times as fast, but a build of PyYAML may lack it.
_PARSER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# The deepest nesting. Later stages walk documents recursively, and Python's stack is limited.
_DEEPEST = 200
_DIGITS = 19  # a number with fewer digits is in range
_TAG = "tag:yaml.org,2002:"
_NO_TAG = (None, "!", f"{_TAG}str", f"{_TAG}map", f"{_TAG}seq")


class TooManyValues(Exception):
    """A YAML text contains more values than the server accepts."""


def from_yaml(text: bytes) -> Any:
    """Return the content of a YAML text with one document; None if it has none.

    Times and base-60 numbers stay strings. Field names are converted to strings.

    Raises:
        yaml.YAMLError: The text is not YAML, or it has a second document, a repeated name, an alias, a tag other than
            those of texts, lists and maps, too deep nesting, or a value that JSON does not have.
        ValueError: A number is too long.
        TooManyValues: The text has more than `MOST_VALUES` values.
    """
    outermost, scalars = _Sequence(), _Scalars()
    opened: list[_Sequence | _Mapping] = [outermost]
    values = -1  # the document itself is none of its values
    for event in yaml.parse(text, Loader=_PARSER):
        values += isinstance(event, yaml.NodeEvent) and not opened[-1].awaits_name
        match event:
            case yaml.AliasEvent():
                raise yaml.YAMLError("aliases are not accepted")
            case yaml.NodeEvent() if getattr(event, "tag", None) not in _NO_TAG:
                raise yaml.YAMLError("tags are not accepted")
            case yaml.ScalarEvent():
                opened[-1].put(scalars.value(event))
            case yaml.CollectionStartEvent():
                opened.append(_Mapping() if isinstance(event, yaml.MappingStartEvent) else _Sequence())
            case yaml.CollectionEndEvent():
                whole = opened.pop().content
                opened[-1].put(whole)
        if values > MOST_VALUES:
            raise TooManyValues
        if len(opened) > _DEEPEST:
            raise yaml.YAMLError("nested too deeply")
        if len(outermost.content) > 1:
            raise yaml.YAMLError("more than one document")
    return outermost.content[0] if outermost.content else None


class _Sequence:
    awaits_name = False

    def __init__(self) -> None:
        self.content: list[Any] = []

    def put(self, value: Any) -> None:
        self.content.append(value)


class _Mapping:
    def __init__(self) -> None:
        self.content: dict[str, Any] = {}
        self._name: str | None = None  # the name whose value comes next; None if a name comes next

    @property
    def awaits_name(self) -> bool:
        """True if a name comes next, and not a value."""
        return self._name is None

    def put(self, value: Any) -> None:
        if self._name is not None:
            self.content[self._name], self._name = value, None
            return
        name = _name_of(value)
        if name in self.content:
            raise yaml.YAMLError(f"{name!r} stands there twice")
        self._name = name


def _name_of(value: Any) -> str:
    match value:
        case str():
            return value
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
    raise yaml.YAMLError("a name must be a text")


class _Scalars:
    """Reads single values. Threads: one."""

    def __init__(self) -> None:
        self._resolver = Resolver()
        self._constructor = SafeConstructor()

    def value(self, event: yaml.ScalarEvent) -> Any:
        """Return the value of a scalar in JSON's types."""
        text: str = event.value
        if event.tag is not None or not event.implicit[0]:
            return text
        # The common case, without the regular expressions of the resolver. A leading zero can mean octal.
        if text.isascii() and text.isdigit() and len(text) < _DIGITS and not text.startswith("0"):
            return int(text)
        tag = self._resolver.resolve(yaml.ScalarNode, text, (True, False))  # type: ignore[no-untyped-call]
        node = yaml.ScalarNode(tag, text)
        match tag.removeprefix(_TAG):
            case "null":
                return None
            case "bool":
                return self._constructor.construct_yaml_bool(node)
            case "int" if ":" not in text:
                return _in_range(self._constructor.construct_yaml_int(node))
            case "float" if ":" not in text:
                return _finite(self._constructor.construct_yaml_float(node))
        return text


def _in_range(number: int) -> int:
    if not -(1 << 63) <= number < 1 << 64:
        raise yaml.YAMLError("a number is too large")
    return number


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise yaml.YAMLError(f"JSON has no number {number}")
    return number
