# SPDX-License-Identifier: Apache-2.0
"""Names that prose puts in backticks exist, and its sentences begin with the thing that they are about.

The names are files, dotted names, and names with an underscore. Docstrings,
comments and documents are read as text, the code as syntax trees. A dotted name counts only if it begins with a
module, class or package of ours; `spec.nodeName` and its like belong to Kubernetes.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import attrs
import pytest

import apimachinery
import controller_runtime
import controllers
import embedded_apiserver

BESIDE = Path(__file__).resolve().parent.parent
PACKAGES = {
    "apimachinery": Path(apimachinery.__file__).parent,
    "embedded_apiserver": Path(embedded_apiserver.__file__).parent,
    "controller_runtime": Path(controller_runtime.__file__).parent,
    "controllers": Path(controllers.__file__).parent,
}
ROOTS = {**PACKAGES, **{name: BESIDE / name for name in ("examples", "benchmarks", "tests")}}
DOCUMENTS = sorted(
    path
    for folder in (BESIDE, BESIDE / "docs", BESIDE / "docs" / "decisions", BESIDE / "config", BESIDE / "benchmarks")
    for path in folder.glob("*.md")
    if path.name != "conformance.md"  # generated from the tests' docstrings, which are read here
)
BACKTICKED = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
BETWEEN_BACKTICKS = re.compile(r"`(?=([^`\n]+)`)")
"""Finds all texts between two backticks of a line, and so those that `BACKTICKED` finds in a part of the line."""
WRITTEN = re.compile(r"^<!-- file: (\S+) -->$")
"""A file that the reader of a tutorial writes."""
DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?:\(\))?")
FILE = re.compile(r"[\w./-]+\.(?:py|md|cfg|ini|toml|yaml|jsonl?)")
WORD = re.compile(r"\w*_\w*")
UNDERSCORED = re.compile(r"_?[a-z]+\w*_\w+(?:\(\))?")

MODULES = {
    "decision",
    "delivery",
    "errors",
    "lease_lock",
    "lifecycle",
    "recovery",
    "state",
    "step",
    "store",
    "transport",
}
"""Modules that prose calls by their bare names. Other words in lower case are Kubernetes' as often: `status.phase`."""
KUBERNETES = {"Status"}
"""Classes of ours that have the name of a kind, whose fields prose means."""
BUILT = ("taint_eviction_controller_", "node_collector_")
"""Beginnings of metrics' names that the code puts together."""


@cache
def texts() -> dict[str, str]:
    """Every Python file by its name, such as `tests/queue/test_workqueue.py`."""
    return {
        f"{root}/{path.relative_to(folder).as_posix()}": path.read_text(encoding="utf-8")
        for root, folder in ROOTS.items()
        for path in sorted(folder.rglob("*.py"))
    }


@attrs.frozen
class Named:
    """The definitions of the code: modules and classes with the names inside them, and its words with an underscore."""

    inside: dict[str, set[str]]
    words: set[str]


def names_inside(nodes: Iterable[ast.AST]) -> set[str]:
    """Names that a module or class binds, also by assigning to an attribute of `self`."""
    found: set[str] = set()
    for each in nodes:
        match each:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.alias(asname=str(name)):
                found.add(name)
            case ast.alias(name=name):
                found.add(name.split(".")[0])
            case ast.Attribute(attr=name, ctx=ast.Store()):
                found.add(name)
            case ast.Constant(value=str(name)) if name.isidentifier():
                found.add(name)
    return found


@cache
def named() -> Named:
    inside: dict[str, set[str]] = {}
    bases: dict[str, set[str]] = {}
    words: set[str] = set()
    for name, text in texts().items():
        path = Path(name)
        module = path.parent.name if path.stem == "__init__" else path.stem
        nodes = [*ast.walk(ast.parse(text))]
        inside.setdefault(module, set()).update(names_inside(nodes))
        for parent in path.parents:
            inside.setdefault(parent.name, set()).add(path.stem)
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                inside.setdefault(node.name, set()).update(names_inside(ast.walk(node)))
                bases.setdefault(node.name, set()).update(
                    ast.unparse(base).split("[")[0].split(".")[-1] for base in node.bases
                )
        words.update(words_of(nodes))
    for _ in range(4):  # attributes are inherited
        for name, above in bases.items():
            for base in above:
                inside[name] |= inside.get(base, set())
    return Named(inside, words)


def words_of(nodes: list[ast.AST]) -> Iterator[str]:
    """The words with an underscore in a module's names and strings, but not in its docstrings."""
    prose = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str) and "_" in node.value and id(node) not in prose:
                yield from WORD.findall(node.value)
            continue
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, str):
                yield from WORD.findall(value)
            elif isinstance(value, list):
                yield from (each for each in value if isinstance(each, str))


def prose_of(text: str) -> Iterator[tuple[int, str]]:
    """Line numbers and texts of a source's comments and docstrings."""
    last = tokenize.NEWLINE
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT or (
            token.type == tokenize.STRING and last in (tokenize.INDENT, tokenize.NEWLINE, tokenize.DEDENT)
        ):
            for number, line in enumerate(token.string.splitlines()):
                yield token.start[0] + number, line
        if token.type not in (tokenize.COMMENT, tokenize.NL):
            last = token.type


def is_file(name: str) -> bool:
    return any(known == name or known.endswith(f"/{name}") for known in texts()) or any(
        (BESIDE / folder / name).exists() for folder in (".", "docs", "config", "benchmarks", "tests/data/recordings")
    )


def stale(word: str, words: set[str] | None = None) -> bool:
    """Returns whether a backticked word names something of ours that does not exist."""
    if FILE.fullmatch(word):
        return ("/" in word or word.endswith(".py")) and not is_file(word)
    if DOTTED.fullmatch(word):
        first, *rest = word.removesuffix("()").split(".")
        known = named().inside
        if first not in known or first in KUBERNETES or (first.islower() and first not in MODULES):
            return False
        for each in rest:
            if first not in known:
                return False
            if each not in known[first]:
                return True
            first = each
        return False
    if UNDERSCORED.fullmatch(word):
        return not word.startswith(BUILT) and word.removesuffix("()") not in (named().words if words is None else words)
    return False


def stale_in(source: str, text: str) -> Iterator[str]:
    """Yield each word in backticks in the prose of a source or document that names nothing, with its place."""
    if not any(stale(word) for word in BETWEEN_BACKTICKS.findall(text)):
        return  # most files, whose comments and docstrings need not be told from their code
    prose = [*(prose_of(text) if source.endswith(".py") else enumerate(text.splitlines(), 1))]
    written = {file for _, line in prose for file in WRITTEN.findall(line)}
    for number, line in prose:
        for word in BACKTICKED.findall(line):
            if word not in written and stale(word):
                yield f"{source}:{number}: `{word}`"


def test_names_in_backticks_exist() -> None:
    """All sources and documents at once, because the definitions of the whole code are what they are compared with."""
    pages = {path.relative_to(BESIDE).as_posix(): path.read_text(encoding="utf-8") for path in DOCUMENTS}
    # The first column of its table has the names that are gone.
    pages["CHANGELOG.md"] = re.sub(r"^\|[^|]*\|", "|", pages["CHANGELOG.md"], flags=re.MULTILINE)

    found = [each for source, text in (texts() | pages).items() for each in stale_in(source, text)]

    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("source", "text", "found"),
    [
        pytest.param("a.py", "# not `Manager.walk`\n", ["a.py:1: `Manager.walk`"], id="a comment"),
        pytest.param(
            "a.py", 'def f():\n    """Like\n    `Manager.walk`."""\n', ["a.py:3: `Manager.walk`"], id="a docstring"
        ),
        pytest.param("a.py", "TEXT = 'as `Manager.walk`'\n", [], id="a string of the code"),
        pytest.param("a.py", "TICK = '`'  # not `Manager.walk`\n", ["a.py:1: `Manager.walk`"], id="behind a tick"),
        pytest.param("a.md", "one `Manager.run`, one `Manager.walk`\n", ["a.md:1: `Manager.walk`"], id="a document"),
        pytest.param("a.md", "<!-- file: nowhere.py -->\n`nowhere.py`\n", [], id="a file that the reader writes"),
    ],
)
def test_names_are_looked_for_in_prose_alone(source: str, text: str, found: list[str]) -> None:
    assert [*stale_in(source, text)] == found


@pytest.mark.parametrize(
    ("word", "is_stale"),
    [
        ("workqueue.py", False), ("nowhere.py", True), ("tests/nowhere.py", True), ("docs/testing.md", False),
        ("LeaderElector.run", False), ("LeaderElector.walk", True),
        ("recovery.classify", False), ("recovery.gone", True),
        ("transport.Transport.request", False), ("transport.Transport.send", True), ("spec.nodeName", False),
        ("cache_sync_timeout", False), ("reconcile", False),
    ],
)  # fmt: skip
def test_the_rule_sees_what_it_should(word: str, is_stale: bool) -> None:
    assert stale(word) is is_stale


def test_a_name_with_an_underscore_must_be_a_word_of_the_code() -> None:
    assert stale("node_lifecycle_health", words={"node", "health"})
    assert not stale("resync_period", words={"resync_period"})


BEGINNING = re.compile(r"""(?<![\w"'`“‘-])(?:What|Who)(?:ever)?\b""")
ENDING = re.compile(r"""[.?!](?=[\s"')*\]|]|$)|\n[ ]*\n|\|""")
IN_CODE = re.compile(r"`[^`\n]+`")
IN_FENCES = re.compile(r"^( *)(```|~~~).*?^\1\2 *$", re.MULTILINE | re.DOTALL)
MARKS = re.compile(r"""^\s*(?:\#:?|[rR]?\"{3}|[rR]?"(?!"))\ ?""")
"""The marks before the first word of a comment or a docstring."""

pytestmark = pytest.mark.once
CONFIGURATIONS = ("*.yaml", "*.cfg", "*.toml", "*.ini")


def statements_about(text: str) -> Iterator[tuple[int, str]]:
    """Yield the line, from 0, and the text of each sentence that begins with `What` or `Who` and does not ask.

    Such a sentence makes its reader wait for the noun: "What members tell each other" are their records. A sentence
    begins where the word has a capital; quoted ones do not count.
    """
    plain = IN_CODE.sub(lambda found: "x" * len(found[0]), text)
    for beginning in BEGINNING.finditer(plain):
        ending = ENDING.search(plain, beginning.start())
        end = len(plain) if ending is None else ending.end()
        sentence = text[beginning.start() : end]
        if not sentence.endswith("?"):
            yield text.count("\n", 0, beginning.start()), " ".join(sentence.split())


def blocks_of(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the first line and the text of each docstring and of each run of comments, without their marks."""
    first, block = 0, list[str]()
    for number, line in lines:
        if block and number != first + len(block):
            yield first, "\n".join(block)
            block = []
        if not block:
            first = number
        block.append(MARKS.sub("", line))
    yield first, "\n".join(block)


def paragraphs_of(document: str) -> str:
    """Return a document of the same lines without its blocks of code and its headings, which are no sentences."""
    without_code = IN_FENCES.sub(lambda found: "\n" * found[0].count("\n"), document)
    return re.sub(r"^#+ .*$", "", without_code, flags=re.MULTILINE)


def written_texts() -> Iterator[tuple[str, int, str]]:
    """Yield the name, the first line and the text of everything that could have such a sentence."""
    for name, text in texts().items():
        if re.search(r"\bWh(?:at|o)(?:ever)?\b", text):  # to read all files as tokens would take seconds
            for first, block in blocks_of(prose_of(text)):
                yield name, first, block
    folders = [BESIDE / name for name in ("docs", "config", "examples", "benchmarks")]
    for path in [*BESIDE.glob("*.md"), *(path for folder in folders for path in sorted(folder.rglob("*.md")))]:
        yield path.relative_to(BESIDE).as_posix(), 1, paragraphs_of(path.read_text(encoding="utf-8"))
    for path in [each for pattern in CONFIGURATIONS for each in [*BESIDE.glob(pattern), *folders[1].rglob(pattern)]]:
        lines = enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for first, block in blocks_of((number, line) for number, line in lines if line.lstrip().startswith("#")):
            yield path.relative_to(BESIDE).as_posix(), first, block


def test_sentences_begin_with_the_thing_that_they_are_about() -> None:
    found = [
        f"{name}:{first + line}: {sentence}"
        for name, first, text in written_texts()
        for line, sentence in statements_about(text)
    ]

    assert not found, "name the thing first, as in `The records that members exchange`:\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("What members tell each other: a claim.", ["What members tell each other: a claim."], id="What"),
        pytest.param("Who leads has lost.", ["Who leads has lost."], id="Who"),
        pytest.param("Whoever leads and\n  Whatever comes.", ["Whoever leads and Whatever comes.", "Whatever comes."],
                     id="ever"),
        pytest.param("It ends. What is left goes. Or not.", ["What is left goes."], id="later sentence"),
        pytest.param("user: Who asks.", ["Who asks."], id="after a colon"),
        pytest.param("- What it costs\n\nIs it so?", ["What it costs"], id="item without an end"),
        pytest.param("| What | Why? |", ["What |"], id="cell"),
        pytest.param("(What is left is kept)", ["What is left is kept)"], id="in brackets"),
        pytest.param("What is in `a.b?` stays.", ["What is in `a.b?` stays."], id="with code"),
        pytest.param("What is it?", [], id="question"),
        pytest.param("What is it, and of\nwhich kind? It is here.", [], id="question of two lines"),
        pytest.param("**Who asks?**", [], id="question in bold"),
        pytest.param("It tells what it is and who asks.", [], id="inside a sentence"),
        pytest.param('A condition "What it is" and `Who is` are quoted.', [], id="quoted"),
        pytest.param("Whose it is; Whole; WHO", [], id="other words"),
    ],
)  # fmt: skip
def test_the_rule_sees_sentences_without_a_noun(text: str, found: list[str]) -> None:
    assert [sentence for _, sentence in statements_about(text)] == found


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        pytest.param('"""What it is.\n\n    What else.\n"""\n', [1, 3], id="docstring"),
        pytest.param('x = 1\n"""What it is."""\n', [2], id="docstring of an attribute"),
        pytest.param("x = 1  # What it is\n", [1], id="comment"),
        pytest.param("# It asks: What is\n# it?\n", [], id="question in comments"),
        pytest.param('x = "What it is."\n', [], id="text of the program"),
    ],
)
def test_the_rule_reads_docstrings_and_comments(source: str, lines: list[int]) -> None:
    found = [first + line for first, block in blocks_of(prose_of(source)) for line, _ in statements_about(block)]

    assert found == lines


def test_the_rule_leaves_out_code_and_headings() -> None:
    document = "# What it is\n\nText.\n\n```\nWhat it prints.\n```\n\nWhat remains.\n"

    assert [*statements_about(paragraphs_of(document))] == [(8, "What remains.")]
