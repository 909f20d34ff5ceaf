# SPDX-License-Identifier: Apache-2.0
"""Checks of literals that a real API server makes once the types fit: they would fail whenever they are evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from embedded_apiserver.cel import syntax, times
from embedded_apiserver.cel.conversions import timestamp_of
from embedded_apiserver.cel.declarations import Environment
from embedded_apiserver.cel.errors import EvaluationError, Issue
from embedded_apiserver.cel.lexer import Source
from embedded_apiserver.cel.library.format_checks import format_issues
from embedded_apiserver.cel.meter import current_meter
from embedded_apiserver.cel.syntax import Node
from embedded_apiserver.cel.types import Kind, Type
from embedded_apiserver.patterns import NoPattern

_EXEMPT = "format"
"""The function whose list of values may be of several types."""


def literals_checked(tree: Node, source: Source, environment: Environment) -> list[Issue]:
    """Return the errors of literals in a type-checked tree that always fail, or mix types where that is not allowed."""
    issues: list[Issue] = []
    for node, is_exempt in _all_nodes(tree, False):
        if isinstance(node, syntax.Call):
            if node.function == _EXEMPT:
                issues += format_issues(node, source)
            check = _CHECKS.get(node.function)
            argument = node.arguments[0] if node.arguments else None
            if check is not None and isinstance(argument, syntax.Literal) and not check(argument.value):
                issues.append(source.issue(argument.offset, f"invalid {node.function} argument"))
        elif environment.homogeneous and not is_exempt:
            issues += _mixed(node, source)
    return issues


def _mixed(node: Node, source: Source) -> Iterator[Issue]:
    """Return where the elements of a literal are not of the type of the first."""
    if isinstance(node, syntax.ListLiteral):
        kinds = [_held(element, place in node.optional) for place, element in enumerate(node.elements)]
        for element, found in zip(node.elements, kinds, strict=True):
            if found != kinds[0]:
                yield _mismatch(source, element, kinds[0], found)
                return
    elif isinstance(node, syntax.MapLiteral) and node.entries:
        first = node.entries[0]
        key, value = first.key.type, _held(first.value, first.optional)
        for entry in node.entries:
            if entry.key.type != key:
                yield _mismatch(source, entry.key, key, entry.key.type)
            if _held(entry.value, entry.optional) != value:
                yield _mismatch(source, entry.value, value, _held(entry.value, entry.optional))


def _mismatch(source: Source, node: Node, expected: Type, found: Type) -> Issue:
    return source.issue(node.offset, f"expected type '{expected}' but found '{found}'")


def _held(node: Node, is_optional: bool) -> Type:
    return node.type.parameters[0] if is_optional and node.type.kind is Kind.OPAQUE else node.type


def _all_nodes(node: Node, is_exempt: bool) -> Iterator[tuple[Node, bool]]:
    """Return the parts of a tree, and whether they are within a call that may mix types."""
    yield node, is_exempt
    is_exempt = is_exempt or (isinstance(node, syntax.Call) and node.function == _EXEMPT)
    for part in _parts(node):
        yield from _all_nodes(part, is_exempt)


def _parts(node: Node) -> list[Node]:
    match node:
        case syntax.Select():
            return [node.operand]
        case syntax.Call():
            return node.operands
        case syntax.ListLiteral():
            return node.elements
        case syntax.MapLiteral():
            return [part for entry in node.entries for part in (entry.key, entry.value)]
        case syntax.StructureLiteral():
            return [field.value for field in node.fields]
        case syntax.Comprehension():
            return [node.over, node.init, node.condition, node.step, node.result]
    return []


def _is_duration(value: object) -> bool:
    return not isinstance(value, str) or _succeeds(times.duration, value)


def _is_timestamp(value: object) -> bool:
    if isinstance(value, int):
        return _succeeds(timestamp_of, value)
    return not isinstance(value, str) or _succeeds(times.timestamp, value)


def _is_pattern(value: object) -> bool:
    """Return whether a text is a pattern; the first argument of the function is checked, too, as in cel-go."""
    try:
        current_meter().pattern(str(value))
    except NoPattern:
        return False
    return True


def _succeeds(call: Callable[..., object], value: object) -> bool:
    try:
        call(value)
    except EvaluationError:
        return False
    return True


_CHECKS: dict[str, Callable[[object], bool]] = {
    "duration": _is_duration,
    "timestamp": _is_timestamp,
    "matches": _is_pattern,
}
