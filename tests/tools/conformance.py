# SPDX-License-Identifier: Apache-2.0
"""Writes docs/conformance.md from the tests: `python tests/tools/conformance.py`.

Every test marked `@pytest.mark.scenario("C-01")` stands there with the first sentence
of its docstring; what is left out, and why, comes from docs/left_out.toml. Tests are
read, not run. With --check nothing is written and a difference is an error.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "conformance.md"
LEFT_OUT = ROOT / "docs" / "left_out.toml"


class Proof(NamedTuple):
    """A scenario, the test that proves it, and the test's own sentence."""

    scenario: str
    sentence: str
    test: str
    file: str


def marked(function: ast.FunctionDef) -> Iterator[str]:
    """The scenarios that a test's decorators name."""
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func).endswith("mark.scenario"):
            for argument in decorator.args:
                yield ast.literal_eval(argument)


def sentence_of(function: ast.FunctionDef) -> str:
    """The first paragraph of the docstring on one line, else the test's name as a sentence."""
    text = ast.get_docstring(function)
    if text:
        return " ".join(text.split("\n\n")[0].split())
    return function.name.removeprefix("test_").replace("_", " ") + "."


def proofs() -> list[Proof]:
    """Every marked test, in the scenarios' order."""
    found = []
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "mark.scenario" in text else ():
            if isinstance(node, ast.FunctionDef):
                file = str(path.relative_to(ROOT))
                found += [Proof(s, sentence_of(node), node.name, file) for s in marked(node)]
    return sorted(found, key=lambda p: (order(p.scenario), p.file, p.test))


def order(scenario: str) -> tuple[str, int, str]:
    """Sorts A-2 before A-10."""
    prefix, _, rest = scenario.partition("-")
    number = re.match(r"\d+", rest)
    return prefix, int(number.group()) if number else 0, rest


def page() -> str:
    """The page, whole."""
    lines = [
        "# Conformance",
        "",
        "Generated from the tests by `python tests/tools/conformance.py`; a test keeps it current.",
        "Each row is a numbered scenario of the Kubernetes behaviour this project follows, the test that",
        "proves it, and that test's own sentence.",
        "",
    ]
    left_out = tomllib.loads(LEFT_OUT.read_text())
    titles: dict[str, str] = left_out["titles"]
    by_prefix: dict[str, list[Proof]] = {}
    for proof in proofs():
        by_prefix.setdefault(proof.scenario.partition("-")[0], []).append(proof)
    for prefix in sorted(by_prefix):
        lines += [
            f"## {prefix}: {titles.get(prefix, prefix)}",
            "",
            "| scenario | what the test says, and its name |",
            "| --- | --- |",
        ]
        for p in by_prefix[prefix]:
            lines.append(f"| {p.scenario} | {p.sentence.replace('|', chr(92) + '|')}<br>`{p.file}::{p.test}` |")
        lines.append("")
    lines += ["## Left out", "", "| scenarios | reason |", "| --- | --- |"]
    lines += [f"| {', '.join(row['scenarios'])} | {row['reason']} |" for row in left_out["left_out"]]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Write the page, or check it."""
    text = page()
    if "--check" not in sys.argv:
        PAGE.write_text(text)
        return 0
    if PAGE.exists() and PAGE.read_text() == text:
        return 0
    print("docs/conformance.md is out of date: run python tests/tools/conformance.py", file=sys.stderr)  # noqa: T201
    return 1


if __name__ == "__main__":
    sys.exit(main())
