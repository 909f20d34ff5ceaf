# SPDX-License-Identifier: Apache-2.0
"""A test fails if reconciles raise errors that it does not expect."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable
from typing import Any

import pytest
from kit.noting import Noting

from apimachinery.errors import ControllerRuntimeError
from apimachinery.objects import ObjectKey
from controller_runtime.api.resources import NODES
from controller_runtime.client.inprocess import InProcessTransport
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.panics import Function, Panic
from controller_runtime.controller.reconciler import Request, Result
from controller_runtime.manager.manager import Manager
from controller_runtime.testing import EmbeddedCluster, ReconcilesPanicked, Simulation, a_node
from controller_runtime.testing.panics import Panics


def raising(error: Exception) -> Callable[[Manager], None]:
    def fail() -> Result:
        raise error

    return lambda manager: manager.add(Controller("failing", Noting(extra=fail)).watch(NODES))


def test_a_reconcile_that_raises_is_named_with_its_request_and_traceback(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    cluster.user.create(NODES, a_node("a"))
    cluster.run(raising(KeyError("team")))
    simulation.settle()

    with pytest.raises(ReconcilesPanicked) as caught:
        cluster.raise_panics()

    text = str(caught.value)
    assert text.startswith("a reconcile raised an unexpected error; if the test means it, say so")
    assert "failing a: KeyError: 'team'" in text
    assert re.search(r"test_cluster_panics.py\", line \d+, in fail\n", text)


def test_the_first_of_many_panics_are_listed(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    for number in range(10):
        cluster.user.create(NODES, a_node(f"n{number}"))
    cluster.run(raising(KeyError()))
    simulation.settle()

    with pytest.raises(ReconcilesPanicked, match=r"(?s)10 reconciles raised .* and 2 more\nthe first one:"):
        cluster.raise_panics()


@pytest.mark.parametrize(
    ("functions", "subject"),
    [
        (["reconcile"], "a reconcile"),
        (["mapper or predicate"], "a mapper or predicate"),
        (["periodic function"] * 2, "2 periodic functions"),
        (["reconcile", "mapper or predicate", "reconcile"], "2 reconciles and a mapper or predicate"),
        (
            ["periodic function", "mapper or predicate", "reconcile"],
            "a periodic function, a mapper or predicate and a reconcile",
        ),
    ],
)
def test_the_message_says_which_functions_raised(functions: list[Function], subject: str) -> None:
    panics = Panics()
    for function in functions:
        panics.note(Panic("failing", None, KeyError(), function))

    with pytest.raises(
        ReconcilesPanicked, match=rf"^{subject} raised an unexpected error; if the test means it"
    ) as told:
        panics.raise_unexpected()
    assert f"  failing {functions[0]}: KeyError\n" in str(told.value)


def panic_and_leave(simulation: Simulation, cluster: EmbeddedCluster, error: Exception | None = None) -> None:
    with cluster:
        cluster.run(raising(KeyError()))
        simulation.settle()
        if error is not None:
            raise error


def test_leaving_raises_them(simulation: Simulation) -> None:
    cluster = EmbeddedCluster(simulation.host("here"))
    cluster.user.create(NODES, a_node("a"))

    with pytest.raises(ReconcilesPanicked):
        panic_and_leave(simulation, cluster)


def test_an_error_of_the_test_itself_is_not_hidden_by_them(simulation: Simulation) -> None:
    cluster = EmbeddedCluster(simulation.host("here"))
    cluster.user.create(NODES, a_node("a"))

    with pytest.raises(ZeroDivisionError):
        panic_and_leave(simulation, cluster, ZeroDivisionError())


def test_errors_that_are_raised_on_purpose_are_no_panics(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.user.create(NODES, a_node("a"))
    cluster.run(raising(ControllerRuntimeError("not yet")))
    simulation.advance(60.0)

    assert cluster.manager.controllers[0].errors > 1


def test_panics_of_the_types_that_a_test_expects_are_given_to_it(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    cluster.user.create(NODES, a_node("a"))

    with cluster.expect_panics(LookupError) as seen:
        cluster.run(raising(KeyError("team")))
        simulation.advance(1.0)

    assert len(seen) > 1
    assert (seen[0].controller, seen[0].request, repr(seen[0].error)) == ("failing", ObjectKey("a"), "KeyError('team')")
    cluster.stop()


def test_panics_of_other_types_or_after_the_block_are_not_expected(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    cluster.user.create(NODES, a_node("a"))

    with cluster.expect_panics(KeyError), cluster.expect_panics(ValueError):
        cluster.run(raising(ValueError()))
        cluster.restart(raising(KeyError()))
        simulation.settle()
        cluster.restart(raising(ValueError()))
        simulation.settle()
        cluster.restart(raising(TypeError()))
        simulation.settle()
    with pytest.raises(ReconcilesPanicked, match="TypeError"):
        cluster.raise_panics()

    simulation.advance(1.0)
    with pytest.raises(ReconcilesPanicked):
        cluster.raise_panics()
    cluster.stop()


def test_a_panic_that_was_expected_and_did_not_come_fails(cluster: EmbeddedCluster) -> None:
    expecting = cluster.expect_panics(KeyError, ValueError)

    with (
        pytest.raises(
            AssertionError, match="no reconcile, mapper, predicate or periodic function raised KeyError or ValueError"
        ),
        expecting,
    ):
        pass


@pytest.mark.parametrize("kinds", [(), ("KeyError",)], ids=["no type", "a name"])
def test_a_block_without_a_type_is_refused(cluster: EmbeddedCluster, kinds: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="needs the types"), cluster.expect_panics(*kinds):
        pass


@pytest.mark.embedded_cluster(allow_panics=True)
def test_an_option_allows_all(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.user.create(NODES, a_node("a"))
    cluster.run(raising(KeyError()))
    simulation.settle()

    assert cluster.manager.controllers[0].errors == 1


def test_a_program_is_told_of_each_panic(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    seen: list[Panic] = []
    host = simulation.host("program")
    manager = Manager(host, InProcessTransport(host, cluster.server), on_panic=seen.append)
    cluster.user.create(NODES, a_node("a"))
    raising(KeyError())(manager)
    host.spawn("run", manager.run)
    simulation.settle()

    assert [panic.controller for panic in seen] == ["failing"]
    manager.stopping.set()
    simulation.settle()


class Referable(Exception):
    """An error to which a weak reference can be made; to built-in ones there is none."""


class Other(Referable):
    """Another one."""


class Team(Referable):
    """The expected one."""


def test_an_allowed_panic_is_kept_only_by_the_block_that_expects_it() -> None:
    def noted(panics: Panics, kind: type[Exception]) -> weakref.ref[Exception]:
        error = kind()
        panics.note(Panic("failing", Request("a"), error))
        return weakref.ref(error)

    allowed = Panics(allows=True)
    assert noted(allowed, Other)() is None

    with allowed.expect(Team) as seen:
        kept = noted(allowed, Team)
        assert noted(allowed, Other)() is None
    assert [panic.error for panic in seen] == [kept()]
    allowed.raise_unexpected()
