# SPDX-License-Identifier: Apache-2.0
"""Selectors: which objects are meant, by their labels or by a few of their fields.

The grammar is the API's own, and so are the refusals. A parsed selector is a value; its
text is its normal form, and parsing that gives an equal one.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import attrs

from controller_runtime.api.matching import FieldMatch, LabelMatch, integer
from controller_runtime.api.names import label_value_problems, qualified_name_problems


class Operator(enum.Enum):
    """How a label is compared."""

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
_TOKEN = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+)")


@attrs.frozen
class LabelRequirement:
    """One condition on one label; `values` are sorted and without repetition."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether `labels` meet it. A label that is missing meets `!=`, `notin` and `!`."""
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
    sorted_values = tuple(sorted(dict.fromkeys(values)))
    for value in sorted_values:
        if problems := label_value_problems(value):
            raise ValueError(f'values[{key}]: Invalid value: "{value}": {"; ".join(problems)}')
        if operator in (Operator.GREATER, Operator.LESS) and integer(value) is None:
            raise ValueError(
                f"values[{key}]: Invalid value: \"{value}\": for 'Gt', 'Lt' operators, the value must be an integer"
            )
    return LabelRequirement(key, operator, sorted_values)


@attrs.frozen
class LabelSelector:
    """A selection by labels: all requirements have to be met. The empty one selects everything.

    Threads: any; it is a value.
    """

    requirements: tuple[LabelRequirement, ...] = ()
    _match: LabelMatch = attrs.field(init=False, eq=False, repr=False)

    @_match.default
    def _(self) -> LabelMatch:
        return LabelMatch((one.key, one.operator.value, one.values) for one in self.requirements)

    @classmethod
    def parse(cls, text: str) -> LabelSelector:
        """Read `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1`.

        Raises:
            ValueError: It cannot be read, in the API's words.
        """
        requirements = sorted(_LabelParser(text).requirements(), key=lambda requirement: requirement.key)
        return cls(tuple(requirements))

    @property
    def is_everything(self) -> bool:
        """Whether it selects every object there is."""
        return not self.requirements

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is selected."""
        return self._match.matches(labels)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


class _LabelParser:
    """Recursive descent over the tokens of one text; the empty token is its end."""

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
        if problems := qualified_name_problems(key):
            raise ValueError(f'Invalid value: "{key}": {"; ".join(problems)}')
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
        values = [""]  # what stands before the next comma or parenthesis; nothing is the empty value
        while (token := self._take()) != ")":
            if token == ",":
                values.append("")
            elif token in _SYMBOLS or not token:
                raise ValueError(f"found '{token}', expected: ',', ')' or identifier")
            elif values[-1]:
                raise ValueError(f"found '{token}', expected: ',' or ')'")
            else:
                values[-1] = token
        return values


class FieldRequirement(NamedTuple):
    """One field and the text it has to equal, or not to equal."""

    field: str
    value: str
    equal: bool = True

    def __str__(self) -> str:
        escaped = re.sub(r"[\\,=]", r"\\\g<0>", self.value)
        return f"{self.field}{'=' if self.equal else '!='}{escaped}"


_FIELD = re.compile(r"(.*?)(!=|==|=)(.*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)|([,=])|(\\)\Z", re.DOTALL)


@attrs.frozen
class FieldSelector:
    """A selection by fields; which ones there are is the kind's business. The empty one selects everything.

    Threads: any; it is a value.
    """

    requirements: tuple[FieldRequirement, ...] = ()
    _match: FieldMatch = attrs.field(init=False, eq=False, repr=False)

    @_match.default
    def _(self) -> FieldMatch:
        return FieldMatch(self.requirements)

    @classmethod
    def parse(cls, text: str) -> FieldSelector:
        r"""Read `spec.nodeName=n,status.phase!=Running`; a backslash stands before `\`, `,` and `=` in a value.

        Raises:
            ValueError: It cannot be read.
        """
        return cls(tuple(_field_requirement(text, term) for term in _terms(text) if term))

    @property
    def is_everything(self) -> bool:
        """Whether it selects every object there is."""
        return not self.requirements

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Whether an object with these fields is selected; a missing one is the empty text."""
        return self._match.matches(fields)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def _terms(text: str) -> list[str]:
    terms = [""]
    escaped = False
    for character in text:
        if character == "," and not escaped:
            terms.append("")
            continue
        escaped = character == "\\" and not escaped
        terms[-1] += character
    return terms


def _field_requirement(selector: str, term: str) -> FieldRequirement:
    match = _FIELD.fullmatch(term)
    if match is None:
        raise ValueError(f"invalid selector: '{selector}'; can't understand '{term}'")
    field, operator, value = match.groups()
    return FieldRequirement(field, _unescaped(value), operator != "!=")


def _unescaped(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        escaped, bare, trailing = match.groups()
        if bare:
            raise ValueError(f"invalid field selector: unescaped character in value: {bare}")
        if trailing or escaped not in "\\,=":
            raise ValueError(f"invalid field selector: invalid escape sequence: {match.group()}")
        return str(escaped)

    return _ESCAPE.sub(plain, text)
