# SPDX-License-Identifier: Apache-2.0
"""Rules for the source code itself, checked on its syntax trees.

The packages are read from where they are imported, so that the rules hold for an installed wheel as well; examples,
benchmarks and tests are read beside this file, if they are there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Set
from fnmatch import fnmatch
from pathlib import Path

import pytest

import apimachinery
import controller_runtime
import controllers
import embedded_apiserver

BESIDE = Path(__file__).resolve().parent.parent
ROOTS = {
    "apimachinery": Path(apimachinery.__file__).parent,
    "embedded_apiserver": Path(embedded_apiserver.__file__).parent,
    "controller_runtime": Path(controller_runtime.__file__).parent,
    "controllers": Path(controllers.__file__).parent,
    "examples": BESIDE / "examples",
    "benchmarks": BESIDE / "benchmarks",
    "tests": BESIDE / "tests",
}
PACKAGES = ("apimachinery", "embedded_apiserver", "controller_runtime", "controllers")
PROGRAMS = (*PACKAGES, "examples")
SHIPPED = (*PROGRAMS, "benchmarks")

CHANCE_AND_TIME = {
    "asyncio", "concurrent.futures", "queue", "sched", "secrets", "threading", "time", "uuid",
}  # fmt: skip
MAY_TOUCH_THE_SYSTEM = (
    "apimachinery/system.py",
    "controller_runtime/testing/simulation/*.py",
    "controller_runtime/testing/replay/sources.py",  # notices user code that does
    "controller_runtime/testing/tcp_proxy.py",
    "controller_runtime/testing/perturbation/others/proxying.py",
    "embedded_apiserver/shell/*.py",
    "embedded_apiserver/__main__.py",
    "controller_runtime/client/http/*.py",
    "controller_runtime/incidents/chance.py",
    "controllers/__main__.py",
    "controllers/command/cli*.py",
)
MAY_USE_COROUTINES = (
    "apimachinery/host.py",
    "controller_runtime/client/async_calls.py",
    "controller_runtime/client/pods/asynchronous.py",
    "controller_runtime/client/async_client.py",
    "controller_runtime/controller/async_workers.py",
    "controller_runtime/controller/coroutine_stacks.py",
    "controller_runtime/controller/loop_watchdog.py",
    "controller_runtime/planning/coroutines.py",
    "controller_runtime/testing/outside/*.py",
    "examples/*.py",
)
"""These may import asyncio, because the time and the waiting of a coroutine are those of its loop, `new_event_loop`."""

MAY_MAKE_THREADS = ("apimachinery/system.py", "controller_runtime/testing/simulation/*.py")

Tree = tuple[str, ast.Module]


def sources(*roots: str) -> Iterator[tuple[str, str]]:
    """Yield the name (such as `tests/queue/test_workqueue.py`) and the text of every Python file below `roots`."""
    for root in roots:
        for path in sorted(ROOTS[root].rglob("*.py")):
            yield f"{root}/{path.relative_to(ROOTS[root]).as_posix()}", path.read_text(encoding="utf-8")


def trees(*roots: str, but: tuple[str, ...] = (), with_word: str = "") -> Iterator[Tree]:
    """Yield the name and the tree of every Python file below `roots`, of which parsing is the expensive part.

    Args:
        *roots: The folders.
        but: Patterns of the names of files that are left out.
        with_word: A pattern; texts in which it is not found cannot break the rule, and are left out.
    """
    for name, text in sources(*roots):
        if not any(fnmatch(name, pattern) for pattern in but) and re.search(with_word, text):
            yield name, ast.parse(text, name)


def dotted(node: ast.AST) -> str:
    """Return `a.b.c` for an attribute or a name, else the empty string."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            return f"{dotted(value)}.{attr}"
    return ""


def imported(node: ast.AST) -> list[str]:
    """Return every dotted name that an import statement could bind."""
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=str(module), names=names, level=0):
            return [module, *(f"{module}.{alias.name}" for alias in names)]
    return []


def reaches_for_the_system(node: ast.AST) -> bool:
    """Return whether a node uses a clock, a thread or randomness, which only a `Host` may."""
    if not isinstance(node, ast.Attribute | ast.Call | ast.Import | ast.ImportFrom):
        return False
    name = dotted(node) if isinstance(node, ast.Attribute) else ""
    if isinstance(node, ast.Call) and dotted(node.func) in ("random.Random", "Random"):
        return True
    return (
        any(module in CHANCE_AND_TIME for module in imported(node))
        or any(each.startswith("random.") and each != "random.Random" for each in [name, *imported(node)])
        or name in ("os.urandom", "os.getrandom")
        or any(each in ("os.urandom", "os.getrandom") for each in imported(node))
        or name.endswith(("datetime.now", "datetime.utcnow", "datetime.today", "date.today"))
    )


def offenders(found: Iterator[tuple[str, ast.AST]]) -> list[str]:
    return [f"{name}:{getattr(node, 'lineno', 1)}: {ast.unparse(node).splitlines()[0][:80]}" for name, node in found]


def test_only_the_edges_touch_clocks_threads_and_chance() -> None:
    found = offenders(
        (name, node)
        for name, tree in trees(*PROGRAMS, but=MAY_TOUCH_THE_SYSTEM)
        for node in ast.walk(tree)
        if reaches_for_the_system(node)
        and not (imported(node) == ["asyncio"] and any(fnmatch(name, each) for each in MAY_USE_COROUTINES))
    )

    assert not found, "take it from the host:\n" + "\n".join(found)


MAY_NAME_SLEEPS = (
    "controller_runtime/testing/simulation/real_clock.py",  # finds its callers
    "apimachinery/system.py",  # sleeps for no time, to give up the interpreter
)


def test_nothing_sleeps() -> None:
    found = offenders(
        (name, node)
        for name, tree in trees(*ROOTS, but=MAY_NAME_SLEEPS, with_word="sleep")
        for node in ast.walk(tree)
        if (isinstance(node, ast.Attribute) and dotted(node) == "time.sleep") or "time.sleep" in imported(node)
    )

    assert not found, "wait with a condition and a deadline:\n" + "\n".join(found)


def test_threads_are_made_in_two_places() -> None:
    found = offenders(
        (name, node)
        for name, tree in trees(*SHIPPED, but=MAY_MAKE_THREADS, with_word="Thread")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and dotted(node.func).split(".")[-1] == "Thread"
    )

    assert not found, "spawn it on a host:\n" + "\n".join(found)


def names_a_class_late(node: ast.AST) -> bool:
    """Return whether a call names a type to msgspec, which is safe while a module is imported and not in a thread."""
    if not isinstance(node, ast.Call):
        return False
    if dotted(node.func) in ("msgspec.json.Decoder", "msgspec.convert"):
        return True
    shapes = [each.value for each in node.keywords if each.arg == "type"]
    return dotted(node.func) == "msgspec.json.decode" and any(
        not ast.unparse(each).startswith("dict[") for each in shapes
    )


def test_functions_name_classes_to_msgspec_only_under_its_lock() -> None:
    found = offenders(
        (name, node)
        for name, tree in trees(*PACKAGES, but=("apimachinery/decoding.py",), with_word="msgspec")
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
        if names_a_class_late(node)
    )

    assert not found, "make it when the module is imported, or by `decoder_of` or `converter_of`:\n" + "\n".join(found)


def swallows_crashes(node: ast.AST) -> bool:
    """Return whether a node catches crashes without raising them again, or is a `__del__` method."""
    match node:
        case ast.ExceptHandler(type=caught, body=body):
            is_wide = caught is None or "BaseException" in ast.unparse(caught)
            return is_wide and not any(isinstance(last, ast.Raise) and last.exc is None for last in body[-1:])
        case ast.FunctionDef(name="__del__"):
            return True
    return False


def test_nothing_survives_a_crash_or_acts_when_collected() -> None:
    found = [
        f"{name}:{node.lineno}"
        for name, tree in trees(*PROGRAMS, but=MAY_MAKE_THREADS, with_word=r"BaseException|except\s*:|__del__")
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler | ast.FunctionDef) and swallows_crashes(node)
    ]

    assert not found, "catch `Exception` at most, and tidy up in `close`:\n" + "\n".join(found)


CATCHES_EVERYTHING = {
    "controller_runtime/testing/checks.py: _why_not": "a test's own check ends here: the test fails with its error",
    "apimachinery/stop.py: run": "a thread ends here: the failure sets its stop",
    "controller_runtime/manager/work.py: _run": "the work of the manager's own thread ends here: the manager stops",
    "controller_runtime/incidents/recorder.py: _keep_encoded": "a record ends here: nothing is kept of its reconcile",
    "controller_runtime/controller/workers.py: _reconcile": "a reconcile ends here: it counts as failed",
    "controller_runtime/controller/attempt.py: attempt": "a mapper ends here: its change is kept and tried again",
    "controller_runtime/controller/async_workers.py: _reconcile": "a reconcile ends here: it counts as failed",
    "controller_runtime/controller/async_workers.py: _ended": "a task ends here: the failure sets its stop",
    "controller_runtime/client/request_threads.py: run": "a job ends here: raised where it is awaited",
    "controller_runtime/controller/finalizers.py: _finalize_all": "a function ends here: raised after the others",
    "controller_runtime/controller/async_finalizers.py: _finalize_all": "the same, for a coroutine",
    "controller_runtime/webhooks/handler.py: _shown": "a request ends here: status 500, and its error is in the log",
    "controller_runtime/webhooks/handler.py: _answered": "a review ends here: status 500, and its error is in the log",
    "controller_runtime/webhooks/converting.py: convert": "raised again with the object that is not converted",
    "controller_runtime/webhooks/handler.py: admitted": "a review ends here: status 500, and its error is in the log",
    "controller_runtime/serving/front.py: _part_of": "a part of a stream ends here: a comment in its place",
    "controller_runtime/manager/page/answers.py: _taken": "a program's own tables end here: the page shows the error",
    "controller_runtime/serving/prompt.py: _answer": "a request to the manager's endpoints ends here: status 500",
    "embedded_apiserver/programs/kubelet.py: _carried_out": "a program of a test ends here: logged, with the status 1",
    "embedded_apiserver/server.py: handle": "a request to the embedded server ends here: status 500",
    "embedded_apiserver/shell/workers.py: run": "a worker's task ends here: raised where it is awaited",
    "controller_runtime/program/origin.py: load": "the import of a program ends here: raised for its author",
    "controller_runtime/program/origin.py: call_setup": "a program's setup ends here: raised for its author",
    "controller_runtime/planning/coroutines.py: one": "a reconcile of a plan ends here: the plan lists its error",
    "controller_runtime/planning/initial.py: initial_requests": "a mapper ends here: the plan lists its error",
    "controller_runtime/planning/plan_pass.py: _reconciles": "a reconcile of a plan ends here: listed as an error",
    "controller_runtime/program/command.py: main": "a process whose threads do not end does: a traceback, and status 1",
    "controller_runtime/client/http/inquiry.py: _find_out": "a look-up's thread ends here: raised where it is awaited",
    "controller_runtime/testing/outside/line.py: _do": "a call to a fake ends here: its error is its answer",
    "controller_runtime/testing/outside/line.py: _do_async": "the same, for a coroutine",
    "controller_runtime/testing/perturbation/retelling.py: _failure": "an act of a story ends here: it is the finding",
    "controller_runtime/testing/perturbation/plugin.py: _noting": "a perturbed run ends here: it is a finding",
    "controller_runtime/testing/perturbation/trial.py: _tell_in": "a perturbed run ends here: it is a finding",
    "controller_runtime/testing/perturbation/sequence_run.py: run": "a run of a sequence ends here: it is its result",
    "controller_runtime/testing/simulation/event_loop.py: _unwind": "a coroutine of a crashed host ends here",
    "controller_runtime/testing/simulation/scheduler.py: _run": "a simulated thread ends here: the test raises it",
    "controller_runtime/testing/simulation/scheduler.py: _hand_over": "a simulated step ends here: the test raises it",
}
"""The places that catch everything, each with the piece of work that ends there and where its error goes."""


def catches_everything(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler catches every error and does not end by raising it again."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    is_wide = any(kind is None or dotted(kind) in ("Exception", "BaseException") for kind in kinds)
    return is_wide and not any(isinstance(last, ast.Raise) and last.exc is None for last in handler.body[-1:])


def places_that_catch_everything(name: str, tree: ast.AST, function: str = "") -> Iterator[str]:
    """Yield the file and the innermost function of each handler or `suppress` that catches everything."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.ExceptHandler() if catches_everything(node):
                yield f"{name}: {function}"
            case ast.Call(args=args) if dotted(node.func).split(".")[-1] == "suppress":
                if any(dotted(kind) in ("Exception", "BaseException") for kind in args):
                    yield f"{name}: {function}"
        inside = node.name if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else function
        yield from places_that_catch_everything(name, node, inside)


def test_everything_is_caught_only_where_a_piece_of_work_ends() -> None:
    """Anywhere else it would hide bugs. A new place needs a reason in `CATCHES_EVERYTHING`."""
    found = [
        place
        for name, tree in trees(*PROGRAMS, with_word=r"Exception|except\s*:")
        for place in places_that_catch_everything(name, tree)
    ]

    assert sorted(found) == sorted(CATCHES_EVERYTHING)


@pytest.mark.parametrize(
    ("caught", "is_seen"),
    [
        pytest.param("except Exception: pass", True, id="Exception"),
        pytest.param("except (Exception, SystemExit): pass", True, id="one of several"),
        pytest.param("except: pass", True, id="bare"),
        pytest.param("except BaseException: raise", False, id="raised again"),
        pytest.param("except ExceptionGroup: pass", False, id="a kind of its own"),
        pytest.param("except OSError: pass", False, id="one kind"),
        pytest.param("finally: suppress(Exception)", True, id="suppressed"),
    ],
)
def test_the_rule_sees_what_catches_everything(caught: str, is_seen: bool) -> None:
    tree = ast.parse(f"def f():\n    try:\n        act()\n    {caught}")

    assert [*places_that_catch_everything("file", tree)] == (["file: f"] if is_seen else [])


def test_every_file_names_its_licence_first() -> None:
    found = [name for name, text in sources(*ROOTS) if not text.startswith("# SPDX-License-Identifier: Apache-2.0\n")]

    assert not found, "\n".join(found)


def public_definitions(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield what a user may use: the module, its functions and classes, and methods that override nothing."""
    yield tree
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        yield node
        if isinstance(node, ast.ClassDef) and all(is_plain_base(base) for base in node.bases):
            yield from (method for method in node.body if is_public_method(method))


def is_plain_base(base: ast.expr) -> bool:
    """Return whether a base class has no methods that a subclass could override, such as `Generic`."""
    name = dotted(base.value if isinstance(base, ast.Subscript) else base)
    return name.split(".")[-1] in ("Protocol", "Generic", "ABC", "NamedTuple", "Enum", "IntEnum", "StrEnum")


def is_public_method(node: ast.stmt) -> bool:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or node.name.startswith("_"):
        return False
    decorators = [dotted(decorator) for decorator in node.decorator_list]
    return not any(name.endswith((".setter", "overload")) for name in decorators)


def test_every_public_name_has_a_docstring() -> None:
    found = [
        f"{name}:{getattr(node, 'lineno', 1)}: {getattr(node, 'name', 'the module')}"
        for name, tree in trees(*PACKAGES)
        for node in public_definitions(tree)
        if ast.get_docstring(node) is None
    ]

    assert not found, "\n".join(found)


def test_no_function_is_longer_than_50_lines() -> None:
    found = [
        f"{name}:{node.lineno}: {node.name}, {length}"
        for name, tree in trees(*SHIPPED)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > 50
    ]

    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("line", "is_refused"),
    [
        pytest.param("import time", True, id="import"),
        pytest.param("from threading import Lock", True, id="from import"),
        pytest.param("from concurrent import futures", True, id="submodule from its package"),
        pytest.param("from controller_runtime.queue import workqueue", False, id="our own queue"),
        pytest.param("x: random.Random", False, id="chance as a type"),
        pytest.param("random.Random(3)", True, id="chance of one's own"),
        pytest.param("random.choice([1])", True, id="chance of the module"),
        pytest.param("from random import shuffle", True, id="chance by name"),
        pytest.param("datetime.now(UTC)", True, id="wall clock"),
        pytest.param("datetime.datetime.utcnow()", True, id="wall clock, dotted"),
        pytest.param("host.now()", False, id="the host's clock"),
        pytest.param("os.urandom(8)", True, id="entropy"),
    ],
)
def test_the_rule_sees_what_it_should(line: str, is_refused: bool) -> None:
    assert any(reaches_for_the_system(node) for node in ast.walk(ast.parse(line))) is is_refused


pytestmark = pytest.mark.once


def imports_of(name: str, tree: ast.Module, modules: Collection[str]) -> set[str]:
    """Return the modules that one names anywhere in its file, in functions and for type checkers as well."""
    named: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            named |= (inside & set(modules)) or {node.module}
        elif isinstance(node, ast.Import):
            named |= {alias.name for alias in node.names}
    return (named & set(modules)) - {name}


def circles(graph: Mapping[str, Set[str]]) -> list[set[str]]:
    """Return the groups of modules each of which leads to each other one of its group."""
    reached = {name: {name} for name in graph}
    for name, seen in reached.items():
        waiting = [name]
        while waiting:
            fresh = graph[waiting.pop()] - seen
            seen |= fresh
            waiting += fresh
    groups = {frozenset(each for each in seen if name in reached[each]) for name, seen in reached.items()}
    return [set(group) for group in groups if len(group) > 1]


def test_no_files_import_each_other() -> None:
    parsed = {
        name.removesuffix(".py").removesuffix("/__init__").replace("/", "."): tree for name, tree in trees(*PACKAGES)
    }
    found = circles({name: imports_of(name, tree, parsed) for name, tree in parsed.items()})

    assert found == []


def test_a_circle_is_found_whatever_leads_to_it() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [{"b", "c"}]
