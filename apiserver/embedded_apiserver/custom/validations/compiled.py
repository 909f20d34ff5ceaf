# SPDX-License-Identifier: Apache-2.0
"""The rules of a schema, compiled: once for each version of a definition."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import attrs

from embedded_apiserver.cel import types
from embedded_apiserver.cel.declarations import Environment
from embedded_apiserver.cel.errors import CompileError, InstantiationError
from embedded_apiserver.cel.meter import compiled_again
from embedded_apiserver.cel.program import CELProgram, compile_expression
from embedded_apiserver.custom.validations.converting import Convert, converter
from embedded_apiserver.custom.validations.declared import declared, self_name, with_metadata
from embedded_apiserver.custom.validations.field_paths import field_path
from embedded_apiserver.kinds.definition import Definition, Raw

RULES = "x-kubernetes-validations"
_EMBEDDED = "x-kubernetes-embedded-resource"
_DEFINITIONS = 512  # the most to cache, so that definitions that come and go do not fill the memory


@attrs.frozen
class Compiled:
    """A compiled CEL validation rule of a schema.

    Attributes:
        rule: The rule as in the definition.
        program: The compiled expression; None if it is empty or does not compile.
        fault: The reason why the expression does not compile; empty if it does.
        message: The compiled `messageExpression`; None if it is absent or does not compile.
        message_fault: The reason why `messageExpression` does not compile; empty if it does.
        path: The path of the field for error messages, relative to the value; empty for the value itself.
    """

    rule: Raw
    program: CELProgram | None = None
    fault: str = ""
    message: CELProgram | None = None
    message_fault: str = ""
    path: str = ""

    @property
    def compares(self) -> bool:
        """True if the rule uses the old value (`oldSelf`)."""
        return self.program is not None and "oldSelf" in self.program.reads

    @property
    def takes_optional(self) -> bool:
        """True if the old value is optional (`optionalOldSelf`), so that the rule also applies to new values."""
        return bool(self.rule.get("optionalOldSelf"))

    @property
    def shown(self) -> str:
        """The message of the rule; if it has none, the rule's expression."""
        message: str = self.rule.get("message") or self.rule["rule"]
        return message.strip()


@attrs.frozen
class RuleNode:
    """The compiled validation rules of a schema and of the schemas nested in it.

    Attributes:
        schema: The schema.
        rules: The rules of the schema itself.
        convert: A function that converts JSON values to CEL values; None if they are the same.
        properties: The rules of the fields, by name.
        values: The rules of a map's values; None if there are none.
        items: The rules of a list's elements; None if there are none.
    """

    schema: Raw
    rules: tuple[Compiled, ...]
    convert: Convert | None
    properties: Mapping[str, RuleNode]
    values: RuleNode | None
    items: RuleNode | None

    @property
    def compares(self) -> bool:
        """True if a rule of the schema itself uses the old value."""
        return any(rule.compares for rule in self.rules)


@functools.lru_cache(_DEFINITIONS)
def rules_of_definition(definition: Definition) -> RuleNode | None:
    """Return the compiled validation rules of a definition, which is one version of a custom resource; None if it has
    no rules.
    """
    with compiled_again():
        return rule_node(definition.structure, is_root=True)


def rule_node(schema: Raw, *, is_root: bool) -> RuleNode | None:
    """Return the compiled rules of a schema and of the schemas nested in it; None if there are none.

    Args:
        schema: The schema.
        is_root: True if the schema is that of whole objects.
    """
    if not has_rules(schema):
        return None
    own = compiled_rules(schema, is_root=is_root) if schema.get(RULES) else ()
    whole = with_metadata(schema) if is_root else schema
    properties = {
        name: made
        for name, child in schema.get("properties", {}).items()
        if has_rules(child) and declared(child, "") is not None and (made := _inner(child)) is not None
    }
    values, items = schema.get("additionalProperties"), schema.get("items")
    return RuleNode(
        schema,
        own or (),
        converter(whole) if own else None,
        properties,
        _inner(values) if isinstance(values, Mapping) else None,
        _inner(items) if isinstance(items, Mapping) else None,
    )


def _inner(schema: Raw) -> RuleNode | None:
    return rule_node(schema, is_root=bool(schema.get(_EMBEDDED)))


def has_rules(schema: Raw) -> bool:
    """Return whether a schema, or a schema nested in it, has validation rules."""
    if schema.get(RULES):
        return True
    children = (*schema.get("properties", {}).values(), schema.get("items"), schema.get("additionalProperties"))
    return any(has_rules(child) for child in children if isinstance(child, Mapping))


def compiled_rules(schema: Raw, *, is_root: bool) -> tuple[Compiled, ...] | None:
    """Return the compiled rules of a schema itself; None if CEL has no type for its values."""
    own = declared(schema, self_name(), is_root=is_root)
    if own is None:
        return None
    fixed = _environment().with_variables({"self": own.type, "oldSelf": own.type})
    optional = fixed.with_variables({"oldSelf": types.optional_of(own.type)})
    return tuple(
        _compiled(schema, rule, optional if rule.get("optionalOldSelf") else fixed) for rule in schema.get(RULES, ())
    )


def _compiled(schema: Raw, rule: Raw, environment: Environment) -> Compiled:
    text, message = rule.get("rule", ""), rule.get("messageExpression", "")
    if not text.strip():
        return Compiled(rule)
    try:
        program = compile_expression(text, environment)
    except CompileError as error:
        return Compiled(rule, fault=_fault(error))
    if program.type != types.BOOL:
        return Compiled(rule, fault="cel expression must evaluate to a bool")
    made = Compiled(rule, program)
    if message:
        made = _with_message(made, message, environment)
    if path := rule.get("fieldPath"):
        made = attrs.evolve(made, path=field_path(schema, path) or "")
    return made


def _with_message(made: Compiled, message: str, environment: Environment) -> Compiled:
    try:
        program = compile_expression(message, environment)
    except CompileError as error:
        return attrs.evolve(made, message_fault=f"messageExpression {_fault(error)}")
    if program.type != types.STRING:
        return attrs.evolve(made, message_fault="messageExpression must evaluate to a string")
    return attrs.evolve(made, message=program)


def _fault(error: CompileError) -> str:
    word = "program instantiation" if isinstance(error, InstantiationError) else "compilation"
    return f"{word} failed: {error}"


@functools.cache
def _environment() -> Environment:
    from embedded_apiserver.cel.library.libraries import LIBRARIES  # with the first rule, as in `cel.program`

    return Environment({}, LIBRARIES)
