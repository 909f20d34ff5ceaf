# SPDX-License-Identifier: Apache-2.0
"""The guides for those who come from elsewhere name what this project has, and their examples run."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import attrs
import pytest
from kit.processes.inline_pytest import run_inline

import controller_runtime
import controller_runtime.webhooks
from controller_runtime import (
    Channel,
    Client,
    Controller,
    Delta,
    EventRecorder,
    Finalizers,
    Informer,
    Lister,
    Manager,
    Stop,
)
from controller_runtime.manager.options import ManagerOptions
from controller_runtime.program import cli_run
from controller_runtime.resources import Resource
from controller_runtime.testing import EmbeddedCluster, Simulation

PACKAGES = (
    controller_runtime,
    *(
        importlib.import_module(f"controller_runtime.{name}")
        for name in ("conditions", "crd", "errors", "log", "resources", "testing", "transports", "webhooks")
    ),
)
DOCS = Path(__file__).resolve().parents[1] / "docs"
GUIDES = ("from-go", "from-kopf")
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
INSTANCES: dict[str, type] = {
    "channel": Channel,
    "client": Client,
    "cluster": EmbeddedCluster,
    "controller": Controller,
    "delta": Delta,
    "finalizers": Finalizers,
    "informer": Informer,
    "lister": Lister,
    "manager": Manager,
    "recorder": EventRecorder,
    "resource": Resource,
    "simulation": Simulation,
    "stop": Stop,
}
"""Words for an object that the guides use without having made it."""
ELSEWHERE = {
    *("Cabin", "dict", "logging", "prometheus_client", "setup", "reconcile", "status", "jitter", "raw"),
    *("DELETE", "operations", "manifests", "requeue_after"),
}
"""Words that name something in the reader's program, in other packages, or a part of what the same cell names."""
FUNCTIONS = {"fill", "refuse"}
"""Functions of the reader's program."""

pytestmark = pytest.mark.once
FIXTURES = {"cluster", "simulation", "simulation_seed"}
OPTIONS = {name for option in cli_run.run_command.params for name in option.opts}


def text_of(guide: str) -> str:
    return (DOCS / f"{guide}.md").read_text(encoding="utf-8")


def rows_of(guide: str) -> Iterator[tuple[str, str]]:
    """Yields the two cells of each row of all tables."""
    for line in text_of(guide).splitlines():
        if line.startswith("|") and not line.startswith("| ---"):
            left, right = line.strip("| ").split(" | ")
            yield left, right


def named_on_the_right() -> Iterator[tuple[str, str]]:
    for guide in GUIDES:
        for _, right in rows_of(guide):
            for code in re.findall(r"`([^`]+)`", right):
                yield guide, code


def attribute_of(owner: type, name: str) -> object:
    """Returns what a class has under a name; a part that only instances have must be in its docstring."""
    if hasattr(owner, name):
        return getattr(owner, name)
    documented = any(re.search(rf"^\s+{name}: ", each.__doc__ or "", re.MULTILINE) for each in owner.__mro__)
    assert documented or (attrs.has(owner) and name in attrs.fields_dict(owner)), f"{owner.__name__} has no {name}"
    return None


def found(node: ast.expr) -> object:
    """Returns what a name or a dotted name of a guide stands for.

    Raises:
        AssertionError: There is no such name.
    """
    match node:
        case ast.Name(id=name):
            for package in PACKAGES:
                if name in package.__all__:
                    return getattr(package, name)
            assert name in {*INSTANCES, *ELSEWHERE, *FIXTURES}, f"there is no {name}"
            return INSTANCES.get(name)
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id="cluster"), attr="user"), attr=name):
            return attribute_of(Client, name)
        case ast.Attribute(value=ast.Attribute(value=ast.Name(id="manager"), attr="webhooks"), attr=name):
            return attribute_of(controller_runtime.webhooks.Webhooks, name)
        case ast.Attribute(value=value, attr=name):
            owner = found(value)
            assert isinstance(owner, type), ast.unparse(node)
            return attribute_of(owner, name)
    raise AssertionError(f"not a name: {ast.unparse(node)}")


def check(code: str) -> None:
    """Fails if code of a guide calls what does not exist, or with arguments that it does not take."""
    if code.startswith("python -m"):  # tests/test_documents.py compares commands
        return
    if code.startswith(("-", "/", "!")) or (" " in code and "(" not in code) or not code.isascii():
        assert not code.startswith("--") or code in OPTIONS, f"there is no option {code}"
        code = code.replace("…", "...") if "(" in code else "dict"
    statement = ast.parse(code).body[0]
    assert isinstance(statement, ast.Expr | ast.Return)
    assert statement.value is not None
    called = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
    if not called:
        found(statement.value)
    for call in called:
        if isinstance(call.func, ast.Name) and call.func.id in FUNCTIONS:
            continue
        target = found(call.func)
        assert callable(target), f"{code}: {ast.unparse(call.func)} is not called"
        is_method = isinstance(call.func, ast.Attribute) and inspect.isfunction(target)
        own = [None] if is_method else []
        named = {str(each.arg): each.value for each in call.keywords}
        signature = inspect.signature(target)
        signature.bind(*own, *call.args, **named)
        if any(each.annotation == "Unpack[ManagerOptions]" for each in signature.parameters.values()):
            assert named.keys() <= {*signature.parameters, *ManagerOptions.__annotations__}, code


@pytest.mark.parametrize(("guide", "code"), sorted(set(named_on_the_right())))
def test_each_name_in_the_right_column_exists_and_takes_these_arguments(guide: str, code: str) -> None:
    check(code)


@pytest.mark.parametrize(
    "code",
    [
        "Nothing", "manager.walk()", "Controller(name, reconciler, threads=2)", "client.apply()", "--walk",
        "Reconciler.walk", "cluster.user.walk()", "delta.middle", "Manager.from_kubeconfig(namespaces=a)",
    ],
)  # fmt: skip
def test_the_rule_sees_names_and_arguments_that_do_not_exist(code: str) -> None:
    with pytest.raises((AssertionError, TypeError)):
        check(code)


@pytest.mark.parametrize("guide", GUIDES)
def test_the_example_of_a_guide_runs_with_its_test(tmp_path: Path, guide: str) -> None:
    (tmp_path / "test_guide.py").write_text("\n\n".join(BLOCK.findall(text_of(guide))), encoding="utf-8")

    outcome = run_inline(tmp_path)

    assert not outcome.failures, "\n".join(outcome.failures)
    assert outcome.passed == 1


def test_the_example_for_kopf_is_python() -> None:
    """It is not run, because kopf needs a cluster; its fence is `py`, and that of code which runs is `python`."""
    (code,) = re.findall(r"```py\n(.*?)```", text_of("from-kopf"), re.DOTALL)

    ast.parse(code)


@pytest.mark.parametrize("guide", GUIDES)
def test_no_row_is_given_twice(guide: str) -> None:
    left = [cell for cell, _ in rows_of(guide) if cell not in ("kopf", "Go")]

    assert len(left) == len(set(left))
