# SPDX-License-Identifier: Apache-2.0
"""Label selectors and field selectors: which objects of a collection are meant.

They are parsed by the API's grammar and refused in its words. A parsed selector is an immutable value; `str` gives
its normal form, and parsing that gives an equal selector.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import attrs

from apimachinery.label_requirements import LabelParser, LabelRequirement, Operator
from apimachinery.matching import FieldMatch, LabelMatch

_EXPRESSION_OPERATORS: Mapping[str, Operator] = {
    "In": Operator.IN,
    "NotIn": Operator.NOT_IN,
    "Exists": Operator.EXISTS,
    "DoesNotExist": Operator.NOT_EXISTS,
}
"""The operators of `matchExpressions`."""


@attrs.frozen
class LabelSelector:
    """Selects objects whose labels meet all requirements. Without requirements it selects every object.

    Attributes:
        requirements: The requirements, sorted by key.

    Threads: any; it is immutable.
    """

    requirements: tuple[LabelRequirement, ...] = ()
    _match: LabelMatch = attrs.field(init=False, eq=False, repr=False)

    @_match.default
    def _(self) -> LabelMatch:
        return LabelMatch((one.key, one.operator.value, one.values) for one in self.requirements)

    @classmethod
    def parse(cls, text: str) -> LabelSelector:
        """Parse a text such as `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1`; `j` means that the label exists.

        Raises:
            ValueError: `text` is not a label selector; the message is the real API server's.
        """
        requirements = sorted(LabelParser(text).requirements(), key=lambda requirement: requirement.key)
        return cls(tuple(requirements))

    @classmethod
    def from_object(cls, selector: Mapping[str, Any]) -> LabelSelector:
        """Return the selector in a field of an object, such as a Deployment's `spec.selector`.

        Keys and values are not checked: the server did that when the object was written.

        Args:
            selector: The value of the field, with `matchLabels` and `matchExpressions`, each of which may be absent.

        Raises:
            ValueError: An expression has an operator other than `In`, `NotIn`, `Exists` and `DoesNotExist`.
        """
        labels = selector.get("matchLabels") or {}
        requirements = [LabelRequirement(key, Operator.EQUAL, (value,)) for key, value in labels.items()]
        for expression in selector.get("matchExpressions") or ():
            key, operator = expression.get("key", ""), expression.get("operator", "")
            if operator not in _EXPRESSION_OPERATORS:
                raise ValueError(f"{operator!r} is not an operator of matchExpressions")
            values = tuple(sorted(expression.get("values") or ()))
            requirements.append(LabelRequirement(key, _EXPRESSION_OPERATORS[operator], values))
        return cls(tuple(sorted(requirements, key=lambda requirement: (requirement.key, str(requirement)))))

    @property
    def is_everything(self) -> bool:
        """True if there are no requirements, so that every object is selected."""
        return not self.requirements

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Return whether an object with these labels is selected."""
        return self._match.matches(labels)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


class FieldRequirement(NamedTuple):
    """One requirement of a field selector: a condition on one field.

    Attributes:
        field: The field's path, such as `spec.nodeName`.
        value: The text to compare with.
        equal: True if the field must equal `value`, False if it must differ.
    """

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
    """Selects objects whose fields meet all requirements. Without requirements it selects every object.

    Each kind supports only a few fields; the server refuses a selector with another field.

    Attributes:
        requirements: The requirements, in their order in the text.

    Threads: any; it is immutable.
    """

    requirements: tuple[FieldRequirement, ...] = ()
    _match: FieldMatch = attrs.field(init=False, eq=False, repr=False)

    @_match.default
    def _(self) -> FieldMatch:
        return FieldMatch(self.requirements)

    @classmethod
    def parse(cls, text: str) -> FieldSelector:
        r"""Parse a text such as `spec.nodeName=n,status.phase!=Running`.

        In a value, `\`, `,` and `=` must be escaped by a backslash. A term with neither field nor value, such as `=`,
        selects everything.

        Raises:
            ValueError: `text` is not a field selector; the message is the real API server's.
        """
        found = (_field_requirement(text, term) for term in _terms(text) if term)
        return cls(tuple(one for one in found if one.field or one.value))

    @property
    def is_everything(self) -> bool:
        """True if there are no requirements, so that every object is selected."""
        return not self.requirements

    def matches(self, fields: Mapping[str, str]) -> bool:
        """Return whether an object with these fields, values by path, is selected. A missing field counts as an empty
        text.
        """
        return self._match.matches(fields)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


def _terms(text: str) -> list[str]:
    """Split the text at each comma that is not escaped."""
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
            raise ValueError(f"invalid field selector: unescaped character in value: {ord(bare)}")
        if trailing or escaped not in "\\,=":
            raise ValueError(f"invalid field selector: invalid escape sequence: {match.group()}")
        return str(escaped)

    return _ESCAPE.sub(plain, text)
