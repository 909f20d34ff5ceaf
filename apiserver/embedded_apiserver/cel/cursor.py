# SPDX-License-Identifier: Apache-2.0
"""Where the parser is in the tokens, and how it tells what it did not expect: in the words of ANTLR."""

from __future__ import annotations

from embedded_apiserver.cel.errors import Issue
from embedded_apiserver.cel.lexer import END, Source, Token, tokens_of

PRIMARY = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)
OPERATORS = {
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), 1),
    **dict.fromkeys(("+", "-"), 2),
    **dict.fromkeys(("*", "/", "%"), 3),
}
LITERALS = ("NUM_INT", "NUM_UINT", "NUM_FLOAT", "STRING", "BYTES", "true", "false", "null")
BEGINS = frozenset({*LITERALS, "IDENTIFIER", "ESC_IDENTIFIER", "(", "[", "{", ".", "-", "!", "?"})
"""The tokens that an operand begins with."""
FOLLOWS = frozenset({*OPERATORS, "&&", "||", "?", ":", ",", ")", "]", "}", END})
"""The tokens that may follow an operand."""


class TextError(Exception):
    """Raised where the rest of a text cannot be parsed; the issue is recorded before."""


class Cursor:
    """A place in the tokens of a text.

    Attributes:
        issues: The faults of the text.
        tokens: The tokens.
        place: The number of the next token.
        is_plain: Whether the language is that of cel-go without options: no macros, and no optional syntax.
        binds: Whether there is the macro `cel.bind`, by which a part of an expression gets a name.
    """

    def __init__(self, source: Source, is_plain: bool, binds: bool) -> None:
        self.issues: list[Issue] = []
        self.source = source
        self.is_plain = is_plain
        self.binds = binds
        self.tokens = tokens_of(source, self.issues)
        self.place = 0

    @property
    def next(self) -> Token:
        """The next token."""
        return self.tokens[self.place]

    def take(self) -> Token:
        """Take the next token."""
        token = self.tokens[self.place]
        self.place += 1
        return token

    def accept(self, kind: str) -> Token | None:
        """Take the next token if it is of a kind."""
        return self.take() if self.next.kind == kind else None

    def accept_optional(self, place: int, mark: str) -> bool:
        """Take a question mark if there is one, and return whether there was."""
        if self.accept("?") is None:
            return False
        if self.is_plain:
            self.issue(place, f"unsupported syntax '{mark}'")
        return True

    def expect(self, kind: str, name: str = "") -> Token:
        """Take a token; as ANTLR does, go on without it if it is all that is missing, or if one is too many."""
        if self.next.kind == kind:
            return self.take()
        token, expected = self.next, name or f"'{kind}'"
        following = self.tokens[self.place + 1 : self.place + 2]
        if following and following[0].kind == kind:
            self.told(f"extraneous input '{token.text}' expecting {expected}")
            self.take()
            return self.take()
        if token.kind in (BEGINS if kind == ":" else FOLLOWS) and not name:
            self.told(f"missing {expected} at '{token.text}'")
            return token
        self.unexpected(expected)
        return token

    def unexpected(self, expected: str, how: str = "mismatched") -> None:
        """Note what is here instead of what is expected, and give up."""
        self.told(f"{how} input '{self.next.text}' expecting {expected}")
        raise TextError

    def told(self, message: str) -> None:
        """Note an error of syntax at the next token."""
        self.issue(self.next.offset, f"Syntax error: {message}")

    def issue(self, offset: int, message: str) -> None:
        """Note an issue."""
        self.issues.append(self.source.issue(offset, message))

    def expected(self) -> str:
        """Return what may stand here: more, right after a bracket that has been opened."""
        before = [token.kind for token in self.tokens[max(self.place - 2, 0) : self.place]]
        match before:
            case ["IDENTIFIER", "("]:
                return PRIMARY.replace("'(', ", "'(', ')', ")
            case ["IDENTIFIER" | ")" | "]" | "}" | "STRING", "["]:
                return PRIMARY.replace("'!', ", "'!', '?', ")
            case [*_, "["]:
                return PRIMARY.replace("'[', ", "'[', ']', ").replace("'.', '-', '!', ", "'.', ',', '-', '!', '?', ")
            case [*_, "{"]:
                return PRIMARY.replace("'{', ", "'{', '}', ").replace("'.', '-', '!', ", "'.', ',', '-', '!', '?', ")
        return PRIMARY
