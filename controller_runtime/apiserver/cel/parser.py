# SPDX-License-Identifier: Apache-2.0
"""The parser: from a text to a tree, or to issues in the words of cel-go, whose parser ANTLR makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from controller_runtime.apiserver.cel import literals
from controller_runtime.apiserver.cel.errors import CompileError, Issue
from controller_runtime.apiserver.cel.lexer import END, Source, Token, tokens_of
from controller_runtime.apiserver.cel.macros import MacroError, expanded
from controller_runtime.apiserver.cel.syntax import (
    Call,
    Identifier,
    ListLiteral,
    Literal,
    MapEntry,
    MapLiteral,
    Node,
    Select,
    StructureField,
    StructureLiteral,
)

LONGEST = 100_000
"""The most characters of an expression."""
DEEPEST = 250
"""How deep expressions may be nested."""

_PRIMARY = (
    "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}"
)
_OPERATORS = {
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), 1),
    **dict.fromkeys(("+", "-"), 2),
    **dict.fromkeys(("*", "/", "%"), 3),
}
_RESERVED = frozenset({
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
    "package", "namespace", "null", "return", "true", "var", "void", "while",
})  # fmt: skip
_NUMBERS: dict[str, Callable[[str], object]] = {
    "NUM_INT": literals.integer,
    "NUM_UINT": literals.unsigned,
    "NUM_FLOAT": literals.double,
}
_VALUES: dict[str, Callable[[str], object]] = {
    **_NUMBERS,
    "STRING": literals.string,
    "BYTES": literals.byte_string,
    "true": lambda text: True,
    "false": lambda text: False,
    "null": lambda text: None,
}
_BEGINS = frozenset({*_VALUES, "IDENTIFIER", "ESC_IDENTIFIER", "(", "[", "{", ".", "-", "!", "?"})
"""The tokens that an operand begins with."""
_FOLLOWS = frozenset({*_OPERATORS, "&&", "||", "?", ":", ",", ")", "]", "}", END})
"""The tokens that may follow an operand."""
_T = TypeVar("_T")


class _SyntaxError(Exception):
    """The text cannot be read on; the issue is told."""


def parsed(text: str) -> tuple[Node, Source]:
    """Return the tree of a text.

    Raises:
        CompileError: The text is no expression.
    """
    if len(text) > LONGEST:
        message = f"expression code point size exceeds limit: size: {len(text)}, limit {LONGEST}"
        raise CompileError("", [Issue(-1, -1, message)])
    source = Source(text)
    parser = _Parser(source)
    try:
        tree = parser.whole()
    except _SyntaxError:
        raise CompileError(text, parser.issues) from None
    except RecursionError:
        raise CompileError(text, [too_deep()]) from None
    if parser.issues:
        raise CompileError(text, parser.issues)
    return tree, source


def too_deep() -> Issue:
    """Return the issue of an expression that is nested too deep."""
    return Issue(-1, -1, f"expression recursion limit exceeded: {DEEPEST}")


class _Parser:
    def __init__(self, source: Source) -> None:
        self.issues: list[Issue] = []
        self._source = source
        self._tokens = tokens_of(source, self.issues)
        self._place = 0
        self._depth = 0

    def whole(self) -> Node:
        tree = self._expression()
        if self._next.kind != END:
            last = self._tokens[self._place + 1].kind == END
            self._unexpected("<EOF>", "extraneous" if last else "mismatched")
        return tree

    @property
    def _next(self) -> Token:
        return self._tokens[self._place]

    def _take(self) -> Token:
        token = self._tokens[self._place]
        self._place += 1
        return token

    def _accept(self, kind: str) -> Token | None:
        return self._take() if self._next.kind == kind else None

    def _expect(self, kind: str, name: str = "") -> Token:
        """Take a token; as ANTLR does, go on without it if it is all that is missing, or if one is too many."""
        if self._next.kind == kind:
            return self._take()
        token, expected = self._next, name or f"'{kind}'"
        following = self._tokens[self._place + 1 : self._place + 2]
        if following and following[0].kind == kind:
            self._told(f"extraneous input '{token.text}' expecting {expected}")
            self._take()
            return self._take()
        if token.kind in (_BEGINS if kind == ":" else _FOLLOWS) and not name:
            self._told(f"missing {expected} at '{token.text}'")
            return token
        self._unexpected(expected)
        return token

    def _unexpected(self, expected: str, how: str = "mismatched") -> None:
        self._told(f"{how} input '{self._next.text}' expecting {expected}")
        raise _SyntaxError

    def _told(self, message: str) -> None:
        self._issue(self._next.offset, f"Syntax error: {message}")

    def _issue(self, offset: int, message: str) -> None:
        self.issues.append(self._source.issue(offset, message))

    def _expression(self) -> Node:
        self._depth += 1
        if self._depth > DEEPEST:
            raise RecursionError
        left = self._logical("||", "_||_")
        if self._next.kind == "?":
            place = self._take().offset
            then = self._logical("||", "_||_")
            self._expect(":")
            left = Call(place, "_?_:_", [left, then, self._expression()])
        self._depth -= 1
        return left

    def _logical(self, mark: str, function: str) -> Node:
        """Read terms that `||` or `&&` joins; they become a balanced tree, so that its depth is small."""
        terms = [self._term(mark)]
        places = []
        while self._next.kind == mark:
            places.append(self._take().offset)
            terms.append(self._term(mark))
        return _balanced(function, terms, places, 0, len(places) - 1) if places else terms[0]

    def _term(self, mark: str) -> Node:
        return self._logical("&&", "_&&_") if mark == "||" else self._binary(1)

    def _binary(self, strength: int) -> Node:
        left = self._unary()
        depth = 0
        while (found := _OPERATORS.get(self._next.kind, 0)) >= strength:
            operator = self._take()
            depth += 1
            if depth > DEEPEST:
                raise RecursionError
            right = self._binary(found + 1)
            function = "@in" if operator.kind == "in" else f"_{operator.kind}_"
            left = Call(operator.offset, function, [left, right])
        return left

    def _unary(self) -> Node:
        first = self._next
        if first.kind not in ("!", "-") or self._is_negative_number():
            return self._member()
        count = 0
        while self._next.kind == first.kind:
            count += 1
            self._take()
        operand = self._member()
        return operand if count % 2 == 0 else Call(first.offset, f"{first.kind}_", [operand])

    def _is_negative_number(self) -> bool:
        return self._next.kind == "-" and self._tokens[self._place + 1].kind in ("NUM_INT", "NUM_FLOAT")

    def _member(self) -> Node:
        node, depth = self._primary(), 0
        while self._next.kind in (".", "["):
            depth += 1
            if depth > DEEPEST:
                raise RecursionError
            node = self._index(node) if self._next.kind == "[" else self._selected(node)
        return node

    def _index(self, operand: Node) -> Node:
        place = self._take().offset
        function = "_[?_]" if self._accept("?") else "_[_]"
        index = self._expression()
        self._expect("]")
        return Call(place, function, [operand, index])

    def _selected(self, operand: Node) -> Node:
        place = self._take().offset
        optional = self._accept("?") is not None
        name = self._next
        if name.kind == "ESC_IDENTIFIER":
            self._issue(name.offset, "unsupported syntax: '`'")
            self._take()
            return Select(place, operand, name.text, optional=optional)
        if name.kind != "IDENTIFIER":
            return self._without_name(operand, place)
        self._take()
        if not optional and self._next.kind == "(":
            opened = self._take().offset
            return self._called(opened, name.text, operand, self._arguments(")", self._expression))
        return Select(place, operand, name.text, optional=optional)

    def _without_name(self, operand: Node, place: int) -> Node:
        """Tell that no name follows a dot, and go on where an operand may end."""
        token = self._next
        if token.kind in ("true", "false", "null"):
            self._told(f"mismatched input '{token.text}' expecting IDENTIFIER")
        else:
            between = "".join(filter(str.isspace, self._source.text[place + 1 : token.offset]))
            self._told(f"no viable alternative at input '.{between}{'' if token.kind == END else token.text}'")
        while self._next.kind not in _FOLLOWS and self._next.kind not in (".", "["):
            self._take()
        return operand

    def _called(self, place: int, function: str, target: Node | None, arguments: list[Node]) -> Node:
        try:
            macro = expanded(place, function, target, arguments)
        except MacroError as error:
            self._issue(error.offset, error.message)
            return Literal(place, None)
        return macro if macro is not None else Call(place, function, arguments, target)

    def _arguments(self, end: str, read: Callable[[], _T], trailing: bool = False) -> list[_T]:
        """Read parts with commas between them, up to the mark that ends them."""
        found: list[_T] = []
        if self._accept(end):
            return found
        while True:
            if trailing and not found and self._next.kind == "," and self._tokens[self._place + 1].kind == end:
                self._take()
                break
            found.append(read())
            if not self._accept(","):
                break
            if trailing and self._next.kind not in _BEGINS:
                self._expect(end, f"'{end}'")
                return found
        self._expect(end, f"{{'{end}', ','}}" if trailing else "")
        return found

    def _primary(self) -> Node:
        token = self._next
        if token.kind in _VALUES or token.kind == "-":
            return self._literal()
        if token.kind in ("IDENTIFIER", "."):
            return self._named()
        if token.kind == "(":
            self._take()
            inner = self._expression()
            self._expect(")")
            return inner
        if token.kind == "[":
            self._take()
            elements = self._arguments("]", self._element, trailing=True)
            optional = frozenset(place for place, (_, marked) in enumerate(elements) if marked)
            return ListLiteral(token.offset, [element for element, _ in elements], optional)
        if token.kind == "{":
            self._take()
            return MapLiteral(token.offset, self._arguments("}", self._entry, trailing=True))
        return self._without_operand(token)

    def _without_operand(self, token: Token) -> Node:
        """Tell that no operand begins here, and go on if it begins with the next token, or if an operator follows."""
        following, expected = self._tokens[self._place + 1 : self._place + 2], self._expected()
        if following and following[0].kind in _BEGINS:
            self._told(f"extraneous input '{token.text}' expecting {expected}")
            self._take()
            return self._member()
        self._told(f"mismatched input '{token.text}' expecting {expected if token.kind == END else _PRIMARY}")
        if token.kind not in _OPERATORS:
            raise _SyntaxError
        return Literal(token.offset, None)

    def _expected(self) -> str:
        """Return what may stand here: more, right after a bracket that has been opened."""
        before = [token.kind for token in self._tokens[max(self._place - 2, 0) : self._place]]
        match before:
            case ["IDENTIFIER", "("]:
                return _PRIMARY.replace("'(', ", "'(', ')', ")
            case ["IDENTIFIER" | ")" | "]" | "}" | "STRING", "["]:
                return _PRIMARY.replace("'!', ", "'!', '?', ")
            case [*_, "["]:
                return _PRIMARY.replace("'[', ", "'[', ']', ").replace("'.', '-', '!', ", "'.', ',', '-', '!', '?', ")
            case [*_, "{"]:
                return _PRIMARY.replace("'{', ", "'{', '}', ").replace("'.', '-', '!', ", "'.', ',', '-', '!', '?', ")
        return _PRIMARY

    def _literal(self) -> Node:
        first = self._take()
        sign, token = ("-", self._take()) if first.kind == "-" else ("", first)
        try:
            return Literal(first.offset, _VALUES[token.kind](sign + token.text))
        except literals.BadLiteral as error:
            self._issue(first.offset, str(error))
            return Literal(first.offset, None)

    def _element(self) -> tuple[Node, bool]:
        marked = self._accept("?") is not None
        return self._expression(), marked

    def _entry(self) -> MapEntry:
        marked = self._accept("?") is not None
        key = self._expression()
        place = self._expect(":").offset
        return MapEntry(place, key, self._expression(), marked)

    def _named(self) -> Node:
        """Read a variable, a call, or an object that is made; a name with dots is the name of an object's type only."""
        start = self._next
        dot = "." if self._accept(".") else ""
        if self._is_structure():
            return self._structure(dot)
        name = self._expect("IDENTIFIER", "IDENTIFIER")
        called = self._next.kind == "("
        if name.text in _RESERVED:
            self._issue(start.offset, f"reserved identifier: {name.text}")
        if called:
            opened = self._take().offset
            return self._called(opened, dot + name.text, None, self._arguments(")", self._expression))
        return Identifier(name.offset, dot + name.text)

    def _is_structure(self) -> bool:
        place, kinds = self._place, self._tokens
        while kinds[place].kind == "IDENTIFIER":
            if kinds[place + 1].kind == "{":
                return True
            if kinds[place + 1].kind != ".":
                return False
            place += 2
        return False

    def _structure(self, dot: str) -> Node:
        name = dot + self._take().text
        while self._accept("."):
            name += f".{self._take().text}"
        place = self._take().offset
        return StructureLiteral(place, name, self._arguments("}", self._field, trailing=True))

    def _field(self) -> StructureField:
        marked = self._accept("?") is not None
        name = self._next
        if name.kind == "ESC_IDENTIFIER":
            self._issue(name.offset, "unsupported syntax: '`'")
            self._take()
        else:
            self._expect("IDENTIFIER", "IDENTIFIER")
        place = self._expect(":").offset
        return StructureField(place, name.text, self._expression(), marked)


def _balanced(function: str, terms: list[Node], places: list[int], low: int, high: int) -> Node:
    middle = (low + high + 1) // 2
    left = terms[middle] if middle == low else _balanced(function, terms, places, low, middle - 1)
    right = terms[middle + 1] if middle == high else _balanced(function, terms, places, middle + 1, high)
    return Call(places[middle], function, [left, right])
