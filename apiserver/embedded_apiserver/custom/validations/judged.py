# SPDX-License-Identifier: Apache-2.0
"""The validation errors of an object by the rules of its definition.

The cost of each evaluation is limited, and that of all for one object, so that a rule cannot stop the server. A rule
that compares with the old value is left out for a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from embedded_apiserver.causes import duplicate, forbidden, invalid, invalid_part, required
from embedded_apiserver.cel.errors import BudgetExceeded, EvaluationError
from embedded_apiserver.cel.meter import current_meter
from embedded_apiserver.cel.program import Budget, CELProgram
from embedded_apiserver.cel.values import NONE, Optional, Value
from embedded_apiserver.custom.validations.compiled import Compiled, RuleNode
from embedded_apiserver.custom.validations.correlation import Correlation, element_of
from embedded_apiserver.quoting import quoted
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.paths import ROOT, Path

_TOTAL = 10_000_000
"""The most that all evaluations for one object may cost; that of a real API server."""

_RULE_STEPS = 50
"""Steps to evaluate a rule next to those of its expression: up to 10 µs."""

_CONVERSION = 20
"""Readings of a value that take as long as its conversion to one of expressions, if it is a date: 10 µs."""

_LONGEST_MESSAGE = 5 * 1024
"""Bytes of a message that an expression makes."""

_OVER = "validation failed due to running out of cost budget, no further validation rules will be run"


class _Ratchet(NamedTuple):
    """The change that an update makes to a part of the object.

    Attributes:
        current: The part with its old value; None if it has none.
        nearest: The nearest part around it that has an old value.
    """

    current: Correlation | None = None
    nearest: Correlation | None = None

    def holds(self) -> bool:
        """Return whether the update leaves the part as it was."""
        part = self.nearest if self.current is None else self.current
        return part is not None and part.is_equal()

    def key(self, name: str) -> _Ratchet:
        """Return what an update changes of a field or an entry."""
        if self.current is None:
            return self
        if self.nearest is None and name in ("apiVersion", "kind"):
            return _Ratchet()
        return _Ratchet(self.current.key(name), self.current)

    def element(self, index: int) -> _Ratchet:
        """Return what an update changes of an element."""
        return self if self.current is None else _Ratchet(self.current.index(index), self.current)


class Judge:
    """Evaluates the CEL validation rules for one object.

    Args:
        warn: A function that is called with the validation errors of unchanged parts, which do not refuse the update.
    """

    def __init__(self, warn: Callable[[str], None] = lambda _: None) -> None:
        self._warn = warn
        self.left = _TOTAL
        """The cost that further evaluations may have; negative once no further ones are made."""

    def new(self, node: RuleNode, value: Any, path: Path = ROOT) -> Iterator[Cause]:
        """Return the validation errors of a new value by its rules."""
        return self._visit(node, path, value, None, _Ratchet())

    def unchanged(self, node: RuleNode, value: Any, path: Path) -> Iterator[Cause]:
        """Return the validation errors of a value, such as a default, as if an update had left it unchanged.

        Rules that compare with the old value are evaluated, too, and no error becomes a warning.
        """
        return self._visit(node, path, value, value, _Ratchet())

    def update(self, node: RuleNode, value: Any, old: Any) -> Iterator[Cause]:
        """Return the validation errors of an updated object by its rules."""
        return self._visit(node, ROOT, value, old, _Ratchet(Correlation(node.schema, old, value)))

    def _visit(self, node: RuleNode, path: Path, value: Any, old: Any, ratchet: _Ratchet) -> Iterator[Cause]:
        if value is None:
            return
        if node.rules:
            yield from self._own(node, path, value, old, ratchet)
        if isinstance(value, list):
            if node.items is not None:
                for index, item in enumerate(value):
                    if self.left < 0:
                        return
                    before = element_of(node.schema, old, item)
                    yield from self._visit(node.items, path.below(f"[{index}]"), item, before, ratchet.element(index))
        elif isinstance(value, dict):
            before = old if isinstance(old, dict) else {}
            for name, item in value.items():
                if self.left < 0:
                    return
                if node.values is not None:
                    below = path.below(f"[{name}]")
                    yield from self._visit(node.values, below, item, before.get(name), ratchet.key(name))
                elif (child := node.properties.get(name)) is not None:
                    yield from self._visit(child, path.below(f".{name}"), item, before.get(name), ratchet.key(name))

    def _own(self, node: RuleNode, path: Path, value: Any, old: Any, ratchet: _Ratchet) -> Iterator[Cause]:
        field, word = str(path) or "<nil>", node.schema.get("type", "")
        if self.left <= 0:
            self.left = -1
            yield invalid(field, word, _OVER)
            return
        meter = current_meter()
        if node.convert is not None:
            meter.walk(value, old, times=_CONVERSION)
        fixed, optional = _bindings(node, value, old)
        for rule in node.rules:
            meter.spend(_RULE_STEPS)
            if rule.fault:
                yield invalid(field, word, f"rule compile error: {rule.fault}")
            if rule.program is None or (rule.compares and old is None and not rule.takes_optional):
                continue
            holds, fault = self._evaluated(rule.program, optional if rule.takes_optional else fixed, rule.shown)
            if fault:
                yield invalid(field, word, fault)
            elif holds is not True:
                cause = self._refusal(rule, path, value, word, fixed)
                if not rule.compares and ratchet.holds():
                    self._warn(str(cause))
                else:
                    yield cause
            if self.left < 0:
                return

    def _evaluated(self, program: CELProgram, bindings: Mapping[str, Value], shown: str) -> tuple[Value, str]:
        """Return the value of a rule and why it has none, and count the cost."""
        budget, value, failed = Budget(), None, ""
        try:
            value = program.evaluate(bindings, budget)
        except BudgetExceeded as error:
            failed = (
                f"'{error}': no further validation rules will be run due to call cost exceeds limit for rule: {shown}"
            )
        except EvaluationError as error:
            failed = f"{error} evaluating rule: {shown}"
            if str(error).startswith("no such overload"):
                text = "call arguments did not match a supported operator, function or macro signature for rule"
                failed = f"'{error}': {text}: {shown}"
        if budget.spent > self.left:
            self.left = -1
            return None, _OVER
        self.left = -1 if budget.spent > budget.limit else self.left - budget.spent
        return value, failed

    def _refusal(self, rule: Compiled, path: Path, value: Any, word: str, bindings: Mapping[str, Value]) -> Cause:
        place = path.below(f".{rule.path}") if rule.path else path
        field = str(place) or "<nil>"
        text = ""
        if rule.message is not None:
            text, failed = self._message(rule.message, bindings)
            if failed:
                return invalid(field, word, failed)
        if not text:
            text = rule.shown if rule.rule.get("message") else f"failed rule: {rule.shown}"
        is_shown = word not in ("object", "array")
        match rule.rule.get("reason"):
            case "FieldValueForbidden":
                return forbidden(field, text)
            case "FieldValueRequired":
                return required(field, text)
            case "FieldValueDuplicate":
                return duplicate(field, value) if is_shown else Cause("FieldValueDuplicate", "Duplicate value", field)
        return invalid(field, value, text) if is_shown else invalid_part(field, text)

    def _message(self, program: CELProgram, bindings: Mapping[str, Value]) -> tuple[str, str]:
        """Evaluate `messageExpression`; return the message, and why the remaining rules are skipped.

        The message is empty if the expression makes none, the reason unless the cost budget is spent.
        """
        budget, text = Budget(), ""
        try:
            made = program.evaluate(bindings, budget)
            text = made.strip() if isinstance(made, str) else ""
        except BudgetExceeded:
            pass
        except EvaluationError:
            text = ""
        if budget.spent > self.left:
            self.left = -1
            return "", f"messageExpression evaluation failed due to running out of cost budget, {_NO_MORE}"
        if budget.spent > budget.limit:
            self.left = -1
            why = f"{_NO_MORE} due to call cost exceeds limit for messageExpression: {quoted(program.text)}"
            return "", why
        self.left -= budget.spent
        return ("" if "\n" in text or len(text.encode()) > _LONGEST_MESSAGE else text), ""


_NO_MORE = "no further validation rules will be run"


def _bindings(node: RuleNode, value: Any, old: Any) -> tuple[dict[str, Value], dict[str, Value]]:
    """Return the variables of rules, and those of rules whose old value is optional."""
    convert = node.convert
    own = value if convert is None else convert(value)
    fixed: dict[str, Value] = {"self": own}
    if not node.compares:
        return fixed, fixed
    if old is None:
        return fixed, {"self": own, "oldSelf": NONE}
    before = old if convert is None else convert(old)
    return {"self": own, "oldSelf": before}, {"self": own, "oldSelf": Optional(True, before)}
