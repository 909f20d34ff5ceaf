# SPDX-License-Identifier: Apache-2.0
"""Small questions of the checker about trees and types."""

from __future__ import annotations

from embedded_apiserver.cel import syntax, types
from embedded_apiserver.cel.syntax import Node
from embedded_apiserver.cel.types import Kind, Type


def unwrapped(of: Type) -> tuple[Type, bool]:
    """Return the type within an optional type, and True; for other types the type itself, and False."""
    if of.kind is Kind.OPAQUE and of.name == types.OPTIONAL_NAME:
        return of.parameters[0], True
    return of, False


def qualified_name(node: Node) -> str | None:
    """Return the dotted name that a chain of field selections forms; None if the node is not such a chain."""
    parts = []
    while isinstance(node, syntax.Select):
        if node.tests or node.optional:
            return None
        parts.append(node.field)
        node = node.operand
    if not isinstance(node, syntax.Identifier):
        return None
    return ".".join([node.name, *reversed(parts)])
