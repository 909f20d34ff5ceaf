# SPDX-License-Identifier: Apache-2.0
"""The validation errors of a definition's rules, found when it is written: types, costs, the use of old values.

Texts and numbers are those of a real API server, so that a definition that is accepted here is accepted there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from embedded_apiserver.causes import forbidden, invalid
from embedded_apiserver.cel.program import CELProgram
from embedded_apiserver.cel.ranges import MOST
from embedded_apiserver.custom.validations.compiled import RULES, Compiled, compiled_rules, rule_node
from embedded_apiserver.custom.validations.declared import declared
from embedded_apiserver.custom.validations.judged import Judge
from embedded_apiserver.kinds.definition import Raw
from embedded_apiserver.status import Cause
from embedded_apiserver.typed.paths import Path

_MOST_COST = 10_000_000
"""The most that a rule may cost by the static estimate, for all values that one object can have."""

_MOST_TOTAL = 100_000_000
"""The most that all rules of a version may cost."""

_TOLD = 4  # rules that are named if all together cost too much
_EMBEDDED = "x-kubernetes-embedded-resource"
_ADVICE = (
    "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are "
    "declared"
)
_WITHOUT_TYPE = (
    "Internal error: internal error: failed to construct type information for x-kubernetes-validations rules: unable "
    "to convert structural schema to CEL declarations"
)


class _WrittenPlace(NamedTuple):
    """The place of a schema.

    Attributes:
        path: Its path in the definition.
        repeated: How often one object can have its values; None if nothing limits that.
        uncorrelated: The path of the schema around it whose elements have no old values; empty if they all do.
        is_root: Whether its values are whole objects.
    """

    path: Path
    repeated: int | None = 1
    uncorrelated: str = ""
    is_root: bool = False


class _Written:
    """The validation errors of all rules below a schema.

    Args:
        refused: The paths of other causes found in the schema; rules around them are not looked at.
    """

    def __init__(self, refused: Sequence[str]) -> None:
        self._refused = refused
        self._total = 0
        self._costs: list[tuple[int, str]] = []

    def causes(self, schema: Raw, place: _WrittenPlace) -> Iterator[Cause]:
        yield from self._below(schema, place)
        if not schema.get(RULES) or any(fault.startswith(str(place.path)) for fault in self._refused):
            return
        is_root = place.is_root or bool(schema.get(_EMBEDDED))
        own, rules = declared(schema, "", is_root=is_root), compiled_rules(schema, is_root=is_root)
        if own is None or rules is None:
            yield Cause("InternalError", _WITHOUT_TYPE, f"{place.path}.{RULES}")
            return
        repeated = own.most_repeated() if place.repeated is None else place.repeated
        for index, rule in enumerate(rules):
            yield from self._of_rule(rule, f"{place.path}.{RULES}[{index}]", repeated, place.uncorrelated)

    def _below(self, schema: Raw, place: _WrittenPlace) -> Iterator[Cause]:
        values, items = schema.get("additionalProperties"), schema.get("items")
        inner = _WrittenPlace(place.path, _repeated(schema, place.repeated), place.uncorrelated)
        if isinstance(values, Mapping):
            yield from self.causes(values, inner._replace(path=place.path.below(".additionalProperties")))
        for name, child in schema.get("properties", {}).items():
            yield from self.causes(child, inner._replace(path=place.path.below(f".properties[{name}]")))
        if isinstance(items, Mapping):
            if schema.get("x-kubernetes-list-type") != "map":
                inner = inner._replace(uncorrelated=str(place.path))
            yield from self.causes(items, inner._replace(path=place.path.below(".items")))

    def _of_rule(self, rule: Compiled, field: str, repeated: int, uncorrelated: str) -> Iterator[Cause]:
        cost = min(_estimate(rule.program) * repeated, MOST)
        yield from self._of_cost("estimated rule cost", cost, f"{field}.rule")
        if rule.fault:
            yield _about(f"{field}.rule", rule.rule, rule.fault)
        if rule.message_fault:
            yield _about(f"{field}.messageExpression", rule.rule, rule.message_fault)
        elif rule.message is not None:
            place = f"{field}.messageExpression"
            yield from self._of_cost("estimated messageExpression cost", _estimate(rule.message), place)
        if rule.compares:
            if uncorrelated:
                text = f"oldSelf cannot be used on the uncorrelatable portion of the schema within {uncorrelated}"
                yield invalid(f"{field}.rule", rule.rule["rule"], text)
        elif (optional := rule.rule.get("optionalOldSelf")) is not None:
            yield invalid(f"{field}.optionalOldSelf", optional, "may not be set if oldSelf is not used in rule")

    def _of_cost(self, name: str, cost: int, field: str) -> Iterator[Cause]:
        if cost > _MOST_COST:
            yield forbidden(field, _exceeded(name, cost, _MOST_COST))
        self._total = min(self._total + cost, MOST)
        if cost >= _MOST_TOTAL // 100:
            self._costs = sorted([*self._costs, (cost, field)], key=lambda one: -one[0])[:_TOLD]

    def of_total(self, place: str) -> Iterator[Cause]:
        """Return the validation errors if all rules together cost too much."""
        if self._total <= _MOST_TOTAL:
            return
        text = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
        for _, field in self._costs:
            yield forbidden(field, text)
        name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
        yield forbidden(place, _exceeded(name, self._total, _MOST_TOTAL))


def rule_causes(schema: Raw, path: Path, refused: Sequence[str]) -> Iterator[Cause]:
    """Return the validation errors of all CEL rules in the schema of whole objects.

    Args:
        schema: The schema, which must be structural.
        path: The path of the schema in the definition.
        refused: The paths in the schema that have other validation errors.
    """
    written = _Written(refused)
    yield from written.causes(schema, _WrittenPlace(path, is_root=True))
    yield from written.of_total(str(path))


def default_causes(schema: Raw, path: Path, judge: Judge, *, is_root: bool) -> Iterator[Cause]:
    """Return the validation errors of a schema's default value by its CEL rules.

    Args:
        schema: A schema with a default that its other keywords accept.
        path: The path of the default.
        judge: The evaluation that all defaults of the definition share.
        is_root: True if the schema is that of whole objects.
    """
    node = rule_node(schema, is_root=is_root)
    if node is None or judge.left < 0:
        return
    found = False
    for cause in judge.unchanged(node, schema["default"], path):
        found = True
        yield cause
    if not found:  # a rule with an optional old value holds for new values, too
        yield from judge.new(node, schema["default"], path)


def _estimate(program: CELProgram | None) -> int:
    return 0 if program is None else program.estimate().most


def _repeated(schema: Raw, repeated: int | None) -> int | None:
    """Return how often one object can have the values below a schema."""
    if repeated is None:
        return None
    name = "maxItems" if schema.get("type") == "array" else "maxProperties"
    if schema.get("type") == "array" or (schema.get("type") == "object" and "additionalProperties" in schema):
        most = schema.get(name)
        return None if most is None else min(repeated * max(most, 0), MOST)
    return repeated


def _exceeded(name: str, cost: int, limit: int) -> str:
    factor = cost / limit
    shown = f"{factor:.6f}x" if factor < 1.5 else f"{factor:.1f}x"
    if factor > 100:
        shown = "more than 100x"
    return f"{name} exceeds budget by factor of {shown} ({_ADVICE})"


def _about(field: str, rule: Raw, text: str) -> Cause:
    """Return the cause that shows a whole rule, as a real API server's type has it."""
    shown = {
        "Rule": rule.get("rule", ""),
        "Message": rule.get("message", ""),
        "MessageExpression": rule.get("messageExpression", ""),
        "Reason": rule.get("reason"),
        "FieldPath": rule.get("fieldPath", ""),
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    }
    value = json.dumps(shown, ensure_ascii=False, separators=(",", ":"))
    for letter in "<>&\u2028\u2029":
        value = value.replace(letter, f"\\u{ord(letter):04x}")
    return Cause("FieldValueInvalid", f"Invalid value: {value}: {text}", field)
