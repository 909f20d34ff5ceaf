# SPDX-License-Identifier: Apache-2.0
"""Tokens of an expression."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import NamedTuple

from embedded_apiserver.cel.errors import Issue

_ESCAPE = r"""\\(?:[abfnrtv"'\\?`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"""
_STRING = (
    rf'[rR]"""(?:.|\n)*?"""|[rR]\'\'\'(?:.|\n)*?\'\'\'|[rR]"[^"\n\r]*"|[rR]\'[^\'\n\r]*\''
    rf'|"""(?:{_ESCAPE}|[^\\])*?"""|\'\'\'(?:{_ESCAPE}|[^\\])*?\'\'\''
    rf'|"(?:{_ESCAPE}|[^\\"\n\r])*"|\'(?:{_ESCAPE}|[^\\\'\n\r])*\''
)
_TOKEN = re.compile(
    rf"""(?P<space>[\t \r\n\f]+|//[^\n]*)
    |(?P<BYTES>[bB](?:{_STRING}))
    |(?P<STRING>{_STRING})
    |(?P<NUM_FLOAT>\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?)
    |(?P<NUM_UINT>(?:0x[0-9a-fA-F]+|\d+)[uU])
    |(?P<NUM_INT>0x[0-9a-fA-F]+|\d+)
    |(?P<IDENTIFIER>[_a-zA-Z][_a-zA-Z0-9]*)
    |(?P<ESC_IDENTIFIER>`[a-zA-Z0-9_.\-/\ ]+`)
    |(?P<mark>==|!=|<=|>=|&&|\|\||[<>\[\]{{}}().,?:\-!+*/%])""".replace("\n    |", "|"),
    re.ASCII,
)
_BEGUN = re.compile(r"[bB]?(?:[rR])?([\"'])")
_ESCAPED = re.compile(_ESCAPE)
_PARTLY_ESCAPED = re.compile(r"\\(?:[xXuU][0-9a-fA-F]*|[0-3][0-7]?)")
_KEYWORDS = frozenset({"in", "true", "false", "null"})
END = "<EOF>"


class Token(NamedTuple):
    """A token of an expression.

    Attributes:
        kind: The class of the token, such as `IDENTIFIER`; for symbols and keywords the text itself.
        text: The text of the token; `<EOF>` for the end of the expression.
        offset: The offset of the token's first character.
    """

    kind: str
    text: str
    offset: int


class Source:
    """The text of an expression, with the offsets of its lines."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(place + 1 for place, character in enumerate(text) if character == "\n")]

    def issue(self, offset: int, message: str) -> Issue:
        """Return an `Issue` with the line and column of an offset."""
        line = bisect_right(self._starts, offset)
        return Issue(line, offset - self._starts[line - 1], message)


def tokens_of(source: Source, issues: list[Issue]) -> list[Token]:
    """Return the tokens of an expression, ended by `<EOF>`. Invalid characters are appended to `issues`."""
    text, offset, found = source.text, 0, []
    while offset < len(text):
        match = _TOKEN.match(text, offset)
        if match is None:
            end = _end_of_garbage(text, offset)
            garbage = text[offset:end].replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
            issues.append(source.issue(offset, f"Syntax error: token recognition error at: '{garbage}'"))
            offset = end
            continue
        kind = match.lastgroup
        if kind != "space" and kind is not None:
            word = match.group()
            found.append(Token(word if kind == "mark" or word in _KEYWORDS else kind, word, offset))
        offset = match.end()
    found.append(Token(END, END, len(text)))
    return found


def _end_of_garbage(text: str, offset: int) -> int:
    """Return where the text goes on that has no token here: after the character at which every token fails."""
    begun = _BEGUN.match(text, offset)
    if begun is not None:
        quote, place = begun.group(1), begun.end()
        while place < len(text) and text[place] not in ("\n", "\r", quote):
            if text[place] != "\\":
                place += 1
                continue
            escape = _ESCAPED.match(text, place)
            if escape is None:
                partly = _PARTLY_ESCAPED.match(text, place)
                return min((partly.end() if partly else place + 1) + 1, len(text))
            place = escape.end()
        return min(place + 1, len(text))
    if text[offset] in "|&=":
        return min(offset + 2, len(text))
    return offset + 1
