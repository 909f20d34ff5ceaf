# SPDX-License-Identifier: Apache-2.0
"""The position of the parser in the tokens, and the messages for unexpected tokens, in the words of ANTLR."""

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
    """The rest of a text cannot be parsed; the error has already been recorded as an issue."""


class TextCursor:
    """The parser's position in the tokens of an expression.

    Attributes:
        issues: The syntax errors found so far.
        tokens: The tokens.
        place: The index of the next token.
        is_plain: True for cel-go's language without options: no macros, and no optional syntax.
        binds: True for the macro `cel.bind`, which names the value of a subexpression.
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
        """The next token, which is not consumed."""
        return self.tokens[self.place]

    def take(self) -> Token:
        """Consume the next token and return it."""
        token = self.tokens[self.place]
        self.place += 1
        return token

    def accept(self, kind: str) -> Token | None:
        """Consume and return the next token if it has this kind; otherwise return None."""
        return self.take() if self.next.kind == kind else None

    def accept_optional(self, place: int, mark: str) -> bool:
        """Consume a question mark if it is the next token, and return whether it was.

        If optional syntax is not supported, record an error at the offset `place`; `mark` is the syntax to name.
        """
        if self.accept("?") is None:
            return False
        if self.is_plain:
            self.issue(place, f"unsupported syntax '{mark}'")
        return True

    def expect(self, kind: str, name: str = "") -> Token:
        """Consume and return a token of this kind.

        Otherwise record a syntax error. Like ANTLR, continue if exactly one token is missing or superfluous.

        Raises:
            TextError: The parser cannot continue.
        """
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
        """Record that the next token is not an expected one, and raise `TextError`."""
        self.told(f"{how} input '{self.next.text}' expecting {expected}")
        raise TextError

    def told(self, message: str) -> None:
        """Record a syntax error at the next token."""
        self.issue(self.next.offset, f"Syntax error: {message}")

    def issue(self, offset: int, message: str) -> None:
        """Record an error at an offset of the text."""
        self.issues.append(self.source.issue(offset, message))

    def expected(self) -> str:
        """Return ANTLR's list of the tokens that may stand here; after an opening bracket it has more of them."""
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
