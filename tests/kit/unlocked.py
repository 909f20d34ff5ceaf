# SPDX-License-Identifier: Apache-2.0
"""Finds reads without the lock: of fields that some method changes while it holds a lock of its object."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

CHANGES = {
    *("append", "appendleft", "pop", "popleft", "popitem", "add", "discard", "remove", "clear", "update"),
    *("setdefault", "extend", "insert"),
}
BEFORE_ANY_THREAD = ("__init__", "__attrs_post_init__")


class Use(NamedTuple):
    field: str
    method: str
    is_held: bool
    line: int
    is_change: bool


def field_of(node: ast.AST) -> str:
    """Return the name of `self.name`; empty for anything else."""
    is_field = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    return node.attr if is_field and isinstance(node, ast.Attribute) else ""


def locks_of(cls: ast.ClassDef) -> set[str]:
    """Return the fields of a class to which `host.lock(…)` or `host.condition(…)` is assigned."""
    found = set()
    for node in ast.walk(cls):
        made = node.value.func if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) else None
        if isinstance(node, ast.Assign) and isinstance(made, ast.Attribute) and made.attr in ("lock", "condition"):
            found |= {field_of(target) for target in node.targets} - {""}
    return found


class _Reader:
    def __init__(self, locks: set[str]) -> None:
        self.locks = locks
        self.uses: list[Use] = []
        self.calls: dict[str, list[tuple[str, bool]]] = {}

    def read(self, method: ast.FunctionDef | ast.AsyncFunctionDef, node: ast.AST, is_held: bool) -> None:
        if isinstance(node, ast.With) and any(field_of(item.context_expr) in self.locks for item in node.items):
            is_held = True
        changed = ""
        if isinstance(node, ast.Call) and (called := field_of(node.func)):
            self.calls.setdefault(called, []).append((method.name, is_held))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
            changed = field_of(node.func.value)
        elif isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            changed = field_of(node.value)
        elif isinstance(node, ast.Attribute) and (used := field_of(node)):
            self.uses.append(Use(used, method.name, is_held, node.lineno, not isinstance(node.ctx, ast.Load)))
        if changed:
            self.uses.append(Use(changed, method.name, is_held, node.lineno, True))
        for child in ast.iter_child_nodes(node):
            self.read(method, child, is_held)

    def called_under_lock(self) -> set[str]:
        """Return the private methods that are called nowhere but where the lock is held, or no thread runs yet."""
        held: set[str] = set(BEFORE_ANY_THREAD)
        while more := {
            name
            for name, calls in self.calls.items()
            if name.startswith("_") and name not in held and all(locked or by in held for by, locked in calls)
        }:
            held |= more
        return held


def unlocked_reads(source: str) -> Iterator[tuple[str, int]]:
    """Yield `Class.method field` and the line of each read without the lock that has no comment and no docstring on it.

    A comment counts in the line itself and the four before it, a docstring if it speaks of a lock.
    """
    if ".lock(" not in source and ".condition(" not in source:  # most files, whose parsing would take seconds
        return
    lines = source.splitlines()
    for cls in (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)):
        reader = _Reader(locks_of(cls))
        if not reader.locks:
            continue
        methods = [each for each in cls.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
        for method in methods:
            for statement in method.body:
                reader.read(method, statement, False)
        held = reader.called_under_lock()
        said = {method.name for method in methods if "lock" in (ast.get_docstring(method) or "")}
        guarded = {use.field for use in reader.uses if use.is_change and use.method not in BEFORE_ANY_THREAD and
                   (use.is_held or use.method in held)}  # fmt: skip
        for use in reader.uses:
            is_open = not use.is_held and use.method not in held | said
            if is_open and use.field in guarded and not any("#" in line for line in lines[use.line - 5 : use.line]):
                yield f"{cls.name}.{use.method} {use.field}", use.line
