# SPDX-License-Identifier: Apache-2.0
"""Counts the files of the embedded server that name each built-in kind: `python tests/tools/kind_files.py [KIND]`.

Prints the median and the worst kinds by two counts. The first is of files that use the constant of the kind, imports
included. The second is also of files in which the kind or its plural is a text of its own; comments, docstrings and
parts of longer texts do not count. With the name of a kind it prints the files of that kind.
"""

from __future__ import annotations

import ast
import statistics
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import embedded_apiserver as apiserver
from embedded_apiserver.groups.all import KINDS
from embedded_apiserver.kinds.kind import Kind

_SERVER = Path(apiserver.__file__).parent
_WORST = 6


class Words(NamedTuple):
    """The identifiers of a file, and its texts that are no docstrings."""

    identifiers: frozenset[str]
    texts: frozenset[str]


def words_of(source: str) -> Words:
    """Return the words of the source of a module."""
    nodes = list(ast.walk(ast.parse(source)))
    documents = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    identifiers, texts = set(), set()
    for node in nodes:
        match node:
            case ast.Name(id=word) | ast.Attribute(attr=word) | ast.alias(name=word):
                identifiers.add(word)
            case ast.Constant(value=str(word)) if id(node) not in documents:
                texts.add(word)
    return Words(frozenset(identifiers), frozenset(texts))


def constants() -> Mapping[int, frozenset[str]]:
    """Return the names of the constants of each kind, by its identity, in whatever loaded module they are."""
    modules = [module for name, module in [*sys.modules.items()] if name.startswith(f"{apiserver.__name__}.")]
    pairs = [(id(value), name) for module in modules for name, value in vars(module).items() if type(value) is Kind]
    return {kind: frozenset(name for one, name in pairs if one == kind and name.isupper()) for kind, _ in pairs}


def files_of(kind: Kind, files: Mapping[Path, Words], names: frozenset[str], *, with_texts: bool) -> list[Path]:
    """Return the files that name a kind."""
    texts = {kind.kind, kind.plural} if with_texts else set()
    return sorted(path for path, words in files.items() if names & words.identifiers or texts & words.texts)


def main() -> None:
    """Print the counts."""
    paths = _SERVER.rglob("*.py")
    files = {path.relative_to(_SERVER): words_of(path.read_text(encoding="utf-8")) for path in paths}
    names = constants()
    for title, with_texts in (("constant", False), ("constant, name or plural", True)):
        found = {kind: files_of(kind, files, names[id(kind)], with_texts=with_texts) for kind in KINDS}
        counts = [len(of_kind) for of_kind in found.values()]
        most = sorted(found.items(), key=lambda one: -len(one[1]))[:_WORST]
        worst = ", ".join(f"{kind.kind} {len(of_kind)}" for kind, of_kind in most)
        sys.stdout.write(
            f"files with the {title}: median {statistics.median(counts):g} of {len(counts)} kinds; most: {worst}\n"
        )
        for kind in KINDS:
            if kind.kind in sys.argv[1:]:
                sys.stdout.writelines(f"  {kind.api_version} {kind.kind}: {path}\n" for path in found[kind])


if __name__ == "__main__":
    main()
