# SPDX-License-Identifier: Apache-2.0
"""The parser: from a text to a tree, or to issues in the words of cel-go, whose parser ANTLR makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from embedded_apiserver.cel import literals
from embedded_apiserver.cel.cursor import BEGINS, FOLLOWS, OPERATORS, PRIMARY, TextCursor, TextError
from embedded_apiserver.cel.errors import CompileError, Issue
from embedded_apiserver.cel.lexer import END, Source, Token
from embedded_apiserver.cel.macros import MacroError, expanded
from embedded_apiserver.cel.syntax import (
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
    balanced,
)

LONGEST = 100_000
"""The most characters of an expression."""
DEEPEST = 250
"""The greatest depth of nested expressions."""

_RESERVED = frozenset({
    "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
    "package", "namespace", "null", "return", "true", "var", "void", "while",
})  # fmt: skip
_T = TypeVar("_T")


def parsed(text: str, *, is_plain: bool = False, binds: bool = False) -> tuple[Node, Source]:
    """Return the tree of an expression, and its source.

    Args:
        text: The text of the expression.
        is_plain, binds: See `TextCursor`.

    Raises:
        CompileError: The text is not a valid expression.
    """
    if len(text) > LONGEST:
        message = f"expression code point size exceeds limit: size: {len(text)}, limit {LONGEST}"
        raise CompileError("", [Issue(-1, -1, message)])
    source = Source(text)
    parser = _Parser(source, is_plain, binds)
    try:
        tree = parser.whole()
    except TextError:
        raise CompileError(text, parser.issues) from None
    except RecursionError:
        raise CompileError(text, [too_deep()]) from None
    if parser.issues:
        raise CompileError(text, parser.issues)
    return tree, source


def too_deep() -> Issue:
    """Return the error of an expression that is nested too deeply."""
    return Issue(-1, -1, f"expression recursion limit exceeded: {DEEPEST}")


class _Parser(TextCursor):
    def __init__(self, source: Source, is_plain: bool, binds: bool) -> None:
        super().__init__(source, is_plain, binds)
        self._depth = 0

    def whole(self) -> Node:
        tree = self._expression()
        if self.next.kind != END:
            last = self.tokens[self.place + 1].kind == END
            self.unexpected("<EOF>", "extraneous" if last else "mismatched")
        return tree

    def _expression(self) -> Node:
        self._depth += 1
        if self._depth > DEEPEST:
            raise RecursionError
        left = self._logical("||", "_||_")
        if self.next.kind == "?":
            place = self.take().offset
            then = self._logical("||", "_||_")
            self.expect(":")
            left = Call(place, "_?_:_", [left, then, self._expression()])
        self._depth -= 1
        return left

    def _logical(self, mark: str, function: str) -> Node:
        """Read terms that `||` or `&&` joins; they become a balanced tree, so that its depth is small."""
        terms = [self._term(mark)]
        places = []
        while self.next.kind == mark:
            places.append(self.take().offset)
            terms.append(self._term(mark))
        return balanced(function, terms, places, 0, len(places) - 1) if places else terms[0]

    def _term(self, mark: str) -> Node:
        return self._logical("&&", "_&&_") if mark == "||" else self._binary(1)

    def _binary(self, strength: int) -> Node:
        left = self._unary()
        depth = 0
        while (found := OPERATORS.get(self.next.kind, 0)) >= strength:
            operator = self.take()
            depth += 1
            if depth > DEEPEST:
                raise RecursionError
            right = self._binary(found + 1)
            function = "@in" if operator.kind == "in" else f"_{operator.kind}_"
            left = Call(operator.offset, function, [left, right])
        return left

    def _unary(self) -> Node:
        first = self.next
        if first.kind not in ("!", "-") or self._is_negative_number():
            return self._member()
        count = 0
        while self.next.kind == first.kind:
            count += 1
            self.take()
        operand = self._member()
        return operand if count % 2 == 0 else Call(first.offset, f"{first.kind}_", [operand])

    def _is_negative_number(self) -> bool:
        return self.next.kind == "-" and self.tokens[self.place + 1].kind in ("NUM_INT", "NUM_FLOAT")

    def _member(self) -> Node:
        node, depth = self._primary(), 0
        while self.next.kind in (".", "["):
            depth += 1
            if depth > DEEPEST:
                raise RecursionError
            node = self._index(node) if self.next.kind == "[" else self._selected(node)
        return node

    def _index(self, operand: Node) -> Node:
        place = self.take().offset
        function = "_[?_]" if self.accept_optional(place, "[?") else "_[_]"
        index = self._expression()
        self.expect("]")
        return Call(place, function, [operand, index])

    def _selected(self, operand: Node) -> Node:
        place = self.take().offset
        optional = self.accept_optional(place, ".?")
        name = self.next
        if name.kind == "ESC_IDENTIFIER":
            self.issue(name.offset, "unsupported syntax: '`'")
            self.take()
            return Select(place, operand, name.text, optional=optional)
        if name.kind != "IDENTIFIER":
            return self._without_name(operand, place)
        self.take()
        if not optional and self.next.kind == "(":
            opened = self.take().offset
            return self._called(opened, name.text, operand, self._arguments(")", self._expression))
        return Select(place, operand, name.text, optional=optional)

    def _without_name(self, operand: Node, place: int) -> Node:
        """Tell that no name follows a dot, and go on where an operand may end."""
        token = self.next
        if token.kind in ("true", "false", "null"):
            self.told(f"mismatched input '{token.text}' expecting IDENTIFIER")
        else:
            between = "".join(filter(str.isspace, self.source.text[place + 1 : token.offset]))
            self.told(f"no viable alternative at input '.{between}{'' if token.kind == END else token.text}'")
        while self.next.kind not in FOLLOWS and self.next.kind not in (".", "["):
            self.take()
        return operand

    def _called(self, place: int, function: str, target: Node | None, arguments: list[Node]) -> Node:
        try:
            macro = None if self.is_plain else expanded(place, function, target, arguments, binds=self.binds)
        except MacroError as error:
            self.issue(error.offset, error.message)
            return Literal(place, None)
        return macro if macro is not None else Call(place, function, arguments, target)

    def _arguments(self, end: str, read: Callable[[], _T], trailing: bool = False) -> list[_T]:
        """Read parts with commas between them, up to the mark that ends them."""
        found: list[_T] = []
        if self.accept(end):
            return found
        while True:
            if trailing and not found and self.next.kind == "," and self.tokens[self.place + 1].kind == end:
                self.take()
                break
            found.append(read())
            if not self.accept(","):
                break
            if trailing and self.next.kind not in BEGINS:
                self.expect(end, f"'{end}'")
                return found
        self.expect(end, f"{{'{end}', ','}}" if trailing else "")
        return found

    def _primary(self) -> Node:
        token = self.next
        if token.kind in literals.VALUES or self._is_negative_number():
            return self._literal()
        if token.kind in ("IDENTIFIER", "."):
            return self._named()
        if token.kind == "(":
            self.take()
            inner = self._expression()
            self.expect(")")
            return inner
        if token.kind == "[":
            self.take()
            elements = self._arguments("]", self._element, trailing=True)
            optional = frozenset(place for place, (_, marked) in enumerate(elements) if marked)
            return ListLiteral(token.offset, [element for element, _ in elements], optional)
        if token.kind == "{":
            self.take()
            return MapLiteral(token.offset, self._arguments("}", self._entry, trailing=True))
        return self._without_operand(token)

    def _without_operand(self, token: Token) -> Node:
        """Tell that no operand begins here, and go on if it begins with the next token, or if an operator follows."""
        following, expected = self.tokens[self.place + 1 : self.place + 2], self.expected()
        if following and following[0].kind in BEGINS:
            self.told(f"extraneous input '{token.text}' expecting {expected}")
            self.take()
            return self._unary()
        self.told(f"mismatched input '{token.text}' expecting {expected if token.kind == END else PRIMARY}")
        if token.kind not in OPERATORS:
            raise TextError
        return Literal(token.offset, None)

    def _literal(self) -> Node:
        first = self.take()
        sign, token = ("-", self.take()) if first.kind == "-" else ("", first)
        try:
            return Literal(first.offset, literals.VALUES[token.kind](sign + token.text))
        except literals.BadLiteral as error:
            self.issue(first.offset, str(error))
            return Literal(first.offset, None)

    def _element(self) -> tuple[Node, bool]:
        marked = self.accept_optional(self.next.offset, "?")
        return self._expression(), marked

    def _entry(self) -> MapEntry:
        marked = self.accept_optional(self.next.offset, "?")
        key = self._expression()
        place = self.expect(":").offset
        return MapEntry(place, key, self._expression(), marked)

    def _named(self) -> Node:
        """Read a variable, a call, or an object that is made; a name with dots is the name of an object's type only."""
        start = self.next
        dot = "." if self.accept(".") else ""
        if self._is_structure():
            return self._structure(dot)
        name = self.expect("IDENTIFIER", "IDENTIFIER")
        called = self.next.kind == "("
        if name.text in _RESERVED:
            self.issue(start.offset, f"reserved identifier: {name.text}")
        if called:
            opened = self.take().offset
            return self._called(opened, dot + name.text, None, self._arguments(")", self._expression))
        return Identifier(name.offset, dot + name.text)

    def _is_structure(self) -> bool:
        place, kinds = self.place, self.tokens
        while kinds[place].kind == "IDENTIFIER":
            if kinds[place + 1].kind == "{":
                return True
            if kinds[place + 1].kind != ".":
                return False
            place += 2
        return False

    def _structure(self, dot: str) -> Node:
        name = dot + self.take().text
        while self.accept("."):
            name += f".{self.take().text}"
        place = self.take().offset
        if self.next.kind == END:
            self.unexpected("{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}")
        return StructureLiteral(place, name, self._arguments("}", self._field, trailing=True))

    def _field(self) -> StructureField:
        marked = self.accept_optional(self.next.offset, "?")
        name = self.next
        if name.kind == "ESC_IDENTIFIER":
            self.issue(name.offset, "unsupported syntax: '`'")
            self.take()
        else:
            self.expect("IDENTIFIER", "IDENTIFIER")
        place = self.expect(":").offset
        return StructureField(place, name.text, self._expression(), marked)
