# SPDX-License-Identifier: Apache-2.0
"""Rules in CEL (`x-kubernetes-validations`), which an API server evaluates at each write."""

from __future__ import annotations

from typing import Any, Literal

import attrs
from msgspec import Meta

RULE_KEY = "x-kubernetes-validations"
_REASONS = ("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate")

Reason = Literal["FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"]


@attrs.frozen
class Rule:
    """A condition in CEL that each written value must satisfy.

    The rules of a class are written into its definition. The server evaluates them, not the class. The embedded server
    evaluates them as a real one does, and refuses a definition whose rules do not compile or cost too much.

    Attributes:
        rule: The condition. `self` is the value; a rule that names `oldSelf` is checked only when a value changes.
        message: The error message; empty for the server's default, which quotes the rule.
        message_expression: A CEL expression for the message, used instead of `message` to include values.
        field_path: The field that the error names, relative to `self`, such as `.spec.beds`; empty for `self`.
        reason: The reason in the error; None for `FieldValueInvalid`.
        optional_old_self: Also check a rule that uses `oldSelf` if there is no old value; `oldSelf` is then an
            optional.

    Raises:
        ValueError: The rule is empty, or a server does not accept the reason.
    """

    rule: str = attrs.field()
    message: str = ""
    message_expression: str = attrs.field(default="", kw_only=True)
    field_path: str = attrs.field(default="", kw_only=True)
    reason: Reason | None = attrs.field(default=None, kw_only=True, validator=attrs.validators.in_((None, *_REASONS)))
    optional_old_self: bool = attrs.field(default=False, kw_only=True)

    @rule.validator
    def _check_rule(self, _: object, rule: str) -> None:
        if not rule.strip():
            raise ValueError("a rule needs a condition in CEL, such as 'self.beds < 9'")

    def body(self) -> dict[str, Any]:
        """Return the rule as it is written in a definition."""
        fields = {
            "rule": self.rule,
            "message": self.message,
            "messageExpression": self.message_expression,
            "fieldPath": self.field_path,
            "reason": self.reason,
            "optionalOldSelf": self.optional_old_self,
        }
        return {name: value for name, value in fields.items() if value}


def validated(*rules: Rule) -> Meta:
    """Return the annotation of a type whose values must satisfy these rules: `Annotated[Door, validated(Rule(…))]`."""
    # `extra` of several annotations is merged by key, so that each rule has a key of its own.
    return Meta(extra={f"{RULE_KEY} {rule.rule}": rule for rule in rules})


def immutable(message: str = "is immutable") -> Meta:
    """Return the annotation of a field that cannot change once it has a value.

    It is the rule `self == oldSelf`, which compares two values. So an optional field can still be set later, or
    removed; a rule of the containing class, such as `has(self.name) == has(oldSelf.name)`, prevents both.
    """
    return validated(Rule("self == oldSelf", message))
