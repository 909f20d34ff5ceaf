# SPDX-License-Identifier: Apache-2.0
"""The requirements of a label selector, and the parser of their text.

The grammar and the texts of the refusals are those of the real API server.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator, Mapping

import attrs

from apimachinery.matching import integer
from apimachinery.names import label_value_errors, qualified_name_errors


class Operator(enum.Enum):
    """The operators of a label selector. The values are their texts in the selector; `exists` is a key without one."""

    EXISTS = "exists"
    NOT_EXISTS = "!"
    IN = "in"
    NOT_IN = "notin"
    EQUAL = "="
    NOT_EQUAL = "!="
    GREATER = ">"
    LESS = "<"


_OPERATORS: Mapping[str, Operator] = {
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
    "=": Operator.EQUAL,
    "==": Operator.EQUAL,
    "!=": Operator.NOT_EQUAL,
    ">": Operator.GREATER,
    "<": Operator.LESS,
}
_SYMBOLS = frozenset(["!", "(", ")", ",", "=", "==", "!=", "<", ">"])
_BEGINNING = "',', ')' or identifier"
_TOKEN = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+)")


@attrs.frozen
class LabelRequirement:
    """One requirement of a label selector: a condition on one label.

    Attributes:
        key: The label's key.
        operator: The operator that compares the label's value with `values`.
        values: The sorted values: exactly one for `=`, `!=`, `>` and `<`, and none for `exists` and `!`.
    """

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether `labels` meet the requirement. A missing label meets only `!=`, `notin` and `!`."""
        value = labels.get(self.key)
        match self.operator:
            case Operator.EXISTS:
                return value is not None
            case Operator.NOT_EXISTS:
                return value is None
            case Operator.IN | Operator.EQUAL:
                return value in self.values
            case Operator.NOT_IN | Operator.NOT_EQUAL:
                return value not in self.values
        number, limit = integer(value or ""), integer(self.values[0])
        if number is None or limit is None:
            return False
        return number > limit if self.operator is Operator.GREATER else number < limit

    def __str__(self) -> str:
        match self.operator:
            case Operator.EXISTS:
                return self.key
            case Operator.NOT_EXISTS:
                return f"!{self.key}"
            case Operator.IN | Operator.NOT_IN:
                return f"{self.key} {self.operator.value} ({','.join(self.values)})"
        return f"{self.key}{self.operator.value}{self.values[0]}"


def _requirement(key: str, operator: Operator, values: Iterable[str] = ()) -> LabelRequirement:
    """Return a requirement whose values are sorted, without duplicates; raise ValueError for another text."""
    sorted_values = tuple(sorted(dict.fromkeys(values)))
    for index, value in enumerate(sorted_values):
        if errors := label_value_errors(value):
            raise ValueError(f'values[{index}][{key}]: Invalid value: "{value}": {"; ".join(errors)}')
        if operator in (Operator.GREATER, Operator.LESS) and integer(value) is None:
            raise ValueError(
                f"values[{index}]: Invalid value: \"{value}\": for 'Gt', 'Lt' operators, the value must be an integer"
            )
    return LabelRequirement(key, operator, sorted_values)


class LabelParser:
    """A recursive-descent parser of one label selector. An empty token marks the end of the text."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = [*_TOKEN.findall(text), ""]
        self._at = 0

    def _peek(self) -> str:
        return self._tokens[self._at]

    def _take(self) -> str:
        token = self._tokens[self._at]
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def requirements(self) -> Iterator[LabelRequirement]:
        """Yield the requirements in their order in the text.

        Raises:
            ValueError: The text cannot be parsed; the message is the real API server's.
        """
        token = self._peek()
        if not token:
            return
        if token in _SYMBOLS and token != "!":
            raise ValueError(f"found '{token}', expected: !, identifier, or 'end of string'")
        while True:
            try:
                yield self._requirement()
            except ValueError as error:
                raise ValueError(f"unable to parse requirement: {error}") from None
            token = self._take()
            if not token:
                return
            if token != ",":
                raise ValueError(f"found '{token}', expected: ',' or 'end of string'")
            if not self._peek() or (self._peek() in _SYMBOLS and self._peek() != "!"):
                raise ValueError(f"found '{self._peek()}', expected: identifier after ','")

    def _requirement(self) -> LabelRequirement:
        key = self._take()
        absent = key == "!"
        if absent:
            key = self._take()
        if not key or key in _SYMBOLS:
            raise ValueError(f"found '{key}', expected: identifier")
        if errors := qualified_name_errors(key):
            raise ValueError(f'<nil>: Invalid value: "{key}": {"; ".join(errors)}')
        if absent:
            return _requirement(key, Operator.NOT_EXISTS)
        if self._peek() in ("", ","):
            return _requirement(key, Operator.EXISTS)
        token = self._take()
        operator = _OPERATORS.get(token)
        if operator is None:
            raise ValueError(f"found '{token}', expected: in, notin, =, ==, !=, gt, lt")
        if operator in (Operator.IN, Operator.NOT_IN):
            return _requirement(key, operator, self._values())
        return _requirement(key, operator, [self._value()])

    def _value(self) -> str:
        if self._peek() in ("", ","):
            return ""
        value = self._take()
        if value in _SYMBOLS:
            raise ValueError(f"found '{value}', expected: identifier")
        return value

    def _values(self) -> list[str]:
        token = self._take()
        if token != "(":
            raise ValueError(f"found '{token}' expected: '('")
        is_first = True
        values = [""]  # between two commas stands one value; if nothing stands there, the value is empty
        while (token := self._take()) != ")":
            if token == ",":
                values.append("")
            elif token in _SYMBOLS or not token:
                missing = "',' or ')'" if values[-1] else "',', or identifier"
                raise ValueError(f"found '{token}', expected: {_BEGINNING if is_first else missing}")
            elif values[-1]:
                raise ValueError(f"found '{token}', expected: ',' or ')'")
            else:
                values[-1] = token
            is_first = False
        return values
