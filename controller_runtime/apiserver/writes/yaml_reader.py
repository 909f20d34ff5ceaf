# SPDX-License-Identifier: Apache-2.0
"""YAML in: the events of a parser, put together to what JSON can say.

Neither aliases nor tags: a few aliases can stand for gigabytes. Nothing recurses and nothing
looks back, so a text takes time by its length alone.
"""

from __future__ import annotations

import math
from typing import Any

import yaml
from yaml.constructor import SafeConstructor
from yaml.resolver import Resolver

from controller_runtime.apiserver.bounds import MOST_VALUES

# The parser in C is some thirty times as fast; a build of PyYAML may lack it.
_PARSER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DEEPEST = 200
_DIGITS = 19  # of a number that is in range in any case
_MOST_NODES = 2 * MOST_VALUES  # a field is two, its name and its value
_TAG = "tag:yaml.org,2002:"
_NO_TAG = (None, "!", f"{_TAG}str", f"{_TAG}map", f"{_TAG}seq")


class TooManyValues(Exception):
    """The text holds more values than a server accepts."""


def from_yaml(text: bytes) -> Any:
    """The one document in a YAML text; None if there is none.

    Times stay texts, and so do numbers of base 60; names are texts.

    Raises:
        yaml.YAMLError: It is no YAML, or says what is not accepted: a name twice, an alias, a tag, what JSON has
            no word for.
        ValueError: A number is too long.
        TooManyValues: More of them than `MOST_VALUES`.
    """
    outermost, scalars = _Sequence(), _Scalars()
    opened: list[_Sequence | _Mapping] = [outermost]
    nodes = 0
    for event in yaml.parse(text, Loader=_PARSER):
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
        nodes += isinstance(event, yaml.NodeEvent)
        if nodes > _MOST_NODES:
            raise TooManyValues
        if len(opened) > _DEEPEST:
            raise yaml.YAMLError("nested too deeply")
        if len(outermost.content) > 1:
            raise yaml.YAMLError("more than one document")
    return outermost.content[0] if outermost.content else None


class _Sequence:
    def __init__(self) -> None:
        self.content: list[Any] = []

    def put(self, value: Any) -> None:
        self.content.append(value)


class _Mapping:
    def __init__(self) -> None:
        self.content: dict[str, Any] = {}
        self._name: str | None = None  # whose value comes next

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
        """What a scalar says in JSON's types."""
        text: str = event.value
        if event.tag is not None or not event.implicit[0]:
            return text
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
