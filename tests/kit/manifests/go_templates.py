# SPDX-License-Identifier: Apache-2.0
"""Renders the few constructs of Go's templates that charts of ours have, and refuses all others.

`tests/data/manifests` has what Go's own `text/template` makes of the same charts, so this is held against it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

_ACTION = re.compile(r"\{\{(-?) ?(.*?) ?(-?)\}\}", re.DOTALL)
_WORD = re.compile(r'"(?:[^"\\]|\\.)*"|\S+')

Tokens = list[tuple[str, str]]


def render(template: str, data: Mapping[str, Any]) -> str:
    """Returns the text of a template; raises a ValueError for a construct that is not known, or a value that is not."""
    tokens = [*_tokens(template)]
    text, rest = _block(tokens, data, data, ends=())
    assert not rest
    return text


def _tokens(template: str) -> Iterator[tuple[str, str]]:
    """Yields texts and actions; a dash in an action has taken the white space beside it."""
    at, trims = 0, False
    for action in _ACTION.finditer(template):
        text = template[at : action.start()]
        text = text.lstrip() if trims else text
        yield "text", text.rstrip() if action[1] else text
        if not (action[2].startswith("/*") and action[2].endswith("*/")):
            yield "action", action[2]
        at, trims = action.end(), bool(action[3])
    yield "text", template[at:].lstrip() if trims else template[at:]


def _block(tokens: Tokens, dot: Any, root: Mapping[str, Any], ends: tuple[str, ...]) -> tuple[str, Tokens]:
    """Returns the text up to one of the actions `ends`, and the tokens from it on."""
    made = []
    while tokens:
        (kind, text), tokens = tokens[0], tokens[1:]
        if kind == "text":
            made.append(text)
        elif text in ends:
            return "".join(made), [("action", text), *tokens]
        elif text.startswith(("if ", "with ")):
            word, _, rest = text.partition(" ")
            value = _pipeline(rest, dot, root)
            inner = value if word == "with" else dot
            yes, tokens = _block(tokens, inner, root, ("else", "end")) if value else (_skipped(tokens))
            no = ""
            if tokens[0][1] == "else":
                no, tokens = _block(tokens[1:], dot, root, ("end",)) if not value else _skipped(tokens[1:])
            made.append(yes if value else no)
            tokens = tokens[1:]
        else:
            value = _pipeline(text, dot, root)
            made.append(str(value).lower() if isinstance(value, bool) else str(value))
    if ends:
        raise ValueError(f"no {' or '.join(ends)}")
    return "".join(made), []


def _skipped(tokens: Tokens) -> tuple[str, Tokens]:
    depth = 0
    for index, (kind, text) in enumerate(tokens):
        if kind == "action" and depth == 0 and text in ("else", "end"):
            return "", tokens[index:]
        if kind == "action":
            depth += text.startswith(("if ", "with ")) - (text == "end")
    raise ValueError("no end")


def _pipeline(text: str, dot: Any, root: Mapping[str, Any]) -> Any:
    value: Any = None
    for index, command in enumerate(text.split(" | ")):
        words = _WORD.findall(command)
        last = [] if index == 0 else [value]
        if words[0][0] in '."0123456789':
            assert (len(words), last) == (1, []), command
            value = _operand(words[0], dot, root)
        else:
            value = _call(words[0], [*(_operand(word, dot, root) for word in words[1:]), *last])
    return value


def _operand(word: str, dot: Any, root: Mapping[str, Any]) -> Any:
    if word == ".":
        return dot
    if word.isdecimal():
        return int(word)
    if re.fullmatch(r'"[^"\\]*"', word):
        return word[1:-1]
    if not word.startswith("."):
        raise ValueError(f"unknown operand {word}")
    if dot is not root:
        raise ValueError(f"{word} inside of `with` is a path in another value")
    value: Any = root
    for name in word[1:].split("."):
        value = value[name]
    return value


def _call(name: str, given: list[Any]) -> Any:
    if name == "toYaml":
        (value,) = given
        return yaml.safe_dump(value, default_flow_style=False).rstrip("\n").removesuffix("\n...")
    if name == "nindent":
        count, text = given
        return "\n" + "\n".join(" " * count + line for line in text.split("\n"))
    if name == "default":
        fallback, value = given
        return value or fallback
    if name == "quote":
        (value,) = given
        return f'"{value}"'
    if name == "not":
        (value,) = given
        return not value
    if name == "and":
        first, second = given
        return second if first else first
    raise ValueError(f"unknown function {name}")
