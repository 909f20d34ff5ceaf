# SPDX-License-Identifier: Apache-2.0
"""Rules for classes and the size of files: parts in place of mixins."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

import pytest
from test_house_rules import PACKAGES, SHIPPED, dotted, sources, trees

pytestmark = pytest.mark.once

FIELDS = ("define", "frozen", "mutable", "dataclass", "custom_resource")
"""Decorators of classes whose annotations are fields that the class itself sets."""

RECORDS = ("NamedTuple", "TypedDict", "Struct", "CustomResource", "Enum", "StrEnum", "IntEnum", "Flag")
"""Bases with the same effect, and those of classes without a state."""

Classes = dict[str, ast.ClassDef]
"""Classes by the dotted name of their module and their own."""


def classes_of(trees: Iterable[tuple[str, ast.Module]]) -> tuple[Classes, dict[str, list[str]]]:
    """Return the classes of some files, and the names of the bases of each, as they are imported."""
    classes: Classes = {}
    bases: dict[str, list[str]] = {}
    for file, tree in trees:
        module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        own = {node.name: f"{module}.{node.name}" for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
        taken = {
            alias.asname or alias.name: f"{node.module}.{alias.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes[own[node.name]] = node
                named = [dotted(base.value if isinstance(base, ast.Subscript) else base) for base in node.bases]
                bases[own[node.name]] = [{**taken, **own}.get(name, name) for name in named]
    return classes, bases


def is_stub(node: ast.stmt) -> bool:
    """Return whether a method leaves its work to a subclass: it is abstract, or only raises `NotImplementedError`."""
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    last = node.body[-1]
    raises = isinstance(last, ast.Raise) and last.exc is not None and "NotImplementedError" in ast.unparse(last.exc)
    return raises or any(dotted(each).endswith("abstractmethod") for each in node.decorator_list)


def of_self(node: ast.AST, kind: type[ast.expr_context]) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Attribute) and isinstance(each.ctx, kind) and dotted(each.value) in ("self", "cls"):
            yield each.attr


def all_bases(name: str, bases: Mapping[str, list[str]]) -> set[str]:
    """Return the names of a class and of all its bases."""
    found, waiting = {name}, [name]
    while waiting:
        fresh = {*bases.get(waiting.pop(), ())} - found
        found |= fresh
        waiting += fresh
    return found


def own_attributes(node: ast.ClassDef, *, is_record: bool) -> set[str]:
    """Return the attributes that a class sets; a stub sets none, and an annotation only that of a record."""
    found = {*of_self(node, ast.Store)}
    for each in node.body:
        match each:
            case ast.FunctionDef() | ast.AsyncFunctionDef() if not is_stub(each):
                found.add(each.name)
            case ast.ClassDef(name=name):
                found.add(name)
            case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None or is_record:
                found.add(name)
            case ast.Assign(targets=targets):
                found |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return found


def reading_bases(trees: Iterable[tuple[str, ast.Module]]) -> dict[str, set[str]]:
    """Return the classes with a subclass of ours that read attributes which neither they nor their bases set."""
    classes, bases = classes_of(trees)
    chains = {name: all_bases(name, bases) for name in classes}
    own = {}
    for name, node in classes.items():
        decorators = {dotted(getattr(each, "func", each)).split(".")[-1] for each in node.decorator_list}
        records = {each.split(".")[-1] for each in chains[name]} & {*RECORDS}
        own[name] = own_attributes(node, is_record=bool(records or decorators & {*FIELDS}))
    known = set().union(*own.values(), *({*of_self(node, ast.Load)} for node in classes.values() if not node.bases))
    found: dict[str, set[str]] = {}
    for name in {base for each in bases.values() for base in each} & {*classes}:
        given = set().union(*(own[each] for each in chains[name] if each in own))
        missing = ({*of_self(classes[name], ast.Load)} - given) & known
        if missing and not any(each.split(".")[-1] == "Protocol" for each in bases[name]):
            found[name] = missing
    return found


INTERFACES = {
    "apimachinery.objects.Cached": "an object as bytes: its two layouts in memory keep the fields in ways of their own",
}
"""Bases that describe several forms of one value, each with its reason."""


def test_no_base_reads_attributes_that_it_does_not_set() -> None:
    """Such a base is a half of its subclass: make it an object of its own, which gets what it reads as arguments."""
    found = reading_bases(trees(*PACKAGES))

    assert {name: each for name, each in found.items() if name not in INTERFACES} == {}
    assert {*INTERFACES} <= {*found}


@pytest.mark.parametrize(
    ("base", "read"),
    [
        pytest.param("class Base:\n    size: int\n    def f(self): return self.size", {"size"}, id="only annotated"),
        pytest.param(
            "class Base:\n    def add(self): raise NotImplementedError\n    def f(self): return self.add()",
            {"add"},
            id="a stub",
        ),
        pytest.param("class Base:\n    def f(self): return self.size", {"size"}, id="set by the subclass"),
        pytest.param("class Base:\n    size = 1\n    def f(self): return self.size", set(), id="set in the class"),
        pytest.param(
            "class Base:\n    def __init__(self): self.size = 1\n    def f(self): return self.size",
            set(),
            id="set by it",
        ),
        pytest.param(
            "class Base(NamedTuple):\n    size: int\n    def f(self): return self.size", set(), id="a field of a record"
        ),
        pytest.param(
            "@attrs.define\nclass Base:\n    size: int\n    def f(self): return self.size", set(), id="a field of attrs"
        ),
    ],
)
def test_the_rule_sees_what_a_base_does_not_set(base: str, read: set[str]) -> None:
    derived = "class Derived(Base):\n    def add(self): return 1\n    def __init__(self): self.size = 1"

    assert reading_bases([("file.py", ast.parse(f"{base}\n{derived}"))]) == ({"file.Base": read} if read else {})


LONGER = {
    "controller_runtime/cache/informers.py": "which caches there are, and of what, is one table",
    "controller_runtime/client/async_client.py": "each method is that of `Client`, awaited, with its whole signature",
    "controller_runtime/client/client.py": "each verb and each way into a pod is a few lines below its docstring",
    "controller_runtime/controller/controller.py": "each source is a line, and its docstring is what a user reads",
    "controller_runtime/manager/manager.py": "each method is a line, and its docstring is what a user reads",
    "controller_runtime/manager/metrics.py": "a table with a row for each metric",
    "controller_runtime/testing/cluster.py": "options of a cluster are listed three times: described, taken, passed",
    "controller_runtime/testing/simulation/simulation.py": "a simulation and its hosts each need the other",
    "controller_runtime/webhooks/webhooks.py": "what is declared, served and shown of webhooks is one state",
}
"""Files of more than 300 lines, each with its reason; ten at most."""


def test_files_have_300_lines_at_most_and_few_have_up_to_450() -> None:
    lengths = {name: len(text.splitlines()) for name, text in sources(*SHIPPED)}
    del lengths["controller_runtime/__init__.py"]  # the list of public names, with three lines for each

    assert {name for name, length in lengths.items() if length > 300} <= {*LONGER}
    assert len(LONGER) <= 10
    assert {name: length for name, length in lengths.items() if length > 450} == {}
