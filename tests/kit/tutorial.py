# SPDX-License-Identifier: Apache-2.0
"""Follows a tutorial: writes the files that its blocks show, and finds the commands and outputs that it shows."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import attrs

_BLOCK = re.compile(r"(?:<!-- (?P<mark>[\w: ./]+) -->\n)?```(?P<language>\w*)\n(?P<text>.*?)```\n", re.DOTALL)


@attrs.frozen
class Block:
    """A block of a page.

    Attributes:
        mark: The comment before it, such as `file: a.py`; empty if it has none.
        language: The language that it names.
        text: Its lines.
    """

    mark: str
    language: str
    text: str


def blocks_of(page: str) -> list[Block]:
    """Return the blocks of a page, in order."""
    return [Block(found["mark"] or "", found["language"], found["text"]) for found in _BLOCK.finditer(page)]


def write(folder: Path, block: Block) -> None:
    """Do what the mark of a block asks: `file: NAME` writes a file, `merge: NAME` merges Python into one."""
    how, _, name = block.mark.partition(": ")
    match how:
        case "file":
            (folder / name).write_text(block.text, encoding="utf-8")
        case "merge":
            path = folder / name
            path.write_text(merged(path.read_text(encoding="utf-8"), block.text), encoding="utf-8")


def merged(module: str, addition: str) -> str:
    """Return a module with more imports, and with definitions that replace those of the same name or come after them.

    A main block stays last.
    """
    imports: dict[str, None] = {}
    parts: dict[str, str] = {}
    docstring = ""
    for text in (module, addition):
        for number, (source, node) in enumerate(_statements(text)):
            if number == 0 and isinstance(node, ast.Expr) and not docstring:
                docstring = source
            elif isinstance(node, ast.Import | ast.ImportFrom):
                imports[source] = None
            else:
                parts[_name_of(node)] = source
    parts = {name: text for name, text in parts.items() if name != "if"} | {k: v for k, v in parts.items() if k == "if"}
    return "\n\n\n".join(part for part in (docstring, "\n".join(imports), *parts.values()) if part) + "\n"


def commands_of(block: Block) -> Iterator[tuple[str, list[str]]]:
    """Yield the commands of a console block, each with the lines of output that it shows."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command, *shown = part.splitlines()
        yield command, shown


def contents_of(path: Path) -> tuple[set[str], set[str]]:
    """Return the names that a module imports, and its definitions."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    imported = {name.name for each in body if isinstance(each, ast.Import | ast.ImportFrom) for name in each.names}
    defined = {ast.dump(each) for each in body if not isinstance(each, ast.Import | ast.ImportFrom | ast.Expr)}
    return imported - {"annotations"}, defined


def _statements(text: str) -> Iterator[tuple[str, ast.stmt]]:
    lines = text.splitlines()
    for node in ast.parse(text).body:
        decorators = node.decorator_list if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
        first = min([node.lineno, *(each.lineno for each in decorators)])
        yield "\n".join(lines[first - 1 : node.end_lineno]), node


def _name_of(node: ast.stmt) -> str:
    match node:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
            return name
        case ast.Assign(targets=[target]):
            return ast.unparse(target)
        case ast.If():
            return "if"
        case _:
            raise ValueError(f"a tutorial's module has definitions alone, not: {ast.unparse(node)}")
