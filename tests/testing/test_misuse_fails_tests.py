# SPDX-License-Identifier: Apache-2.0
"""A `UsageError` fails the test in which it is raised, wherever that was and whatever wraps it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn

import pytest
from kit.coroutines import A, Awaiting
from kit.noting import Noting

from apimachinery.errors import TemporaryError, TerminalError, UsageError
from controller_runtime.api.resources import NODES
from controller_runtime.controller.controller import Controller
from controller_runtime.controller.reconciler import Request, Result
from controller_runtime.testing import EmbeddedCluster, ReconcilesPanicked, Simulation, a_node


def misuse(*args: object) -> NoReturn:
    raise UsageError("a mistake")


def wrapped() -> NoReturn:
    try:
        misuse()
    except UsageError as error:
        raise TemporaryError("it may work later") from error


def in_its_stead() -> NoReturn:
    try:
        misuse()
    except UsageError:
        raise TerminalError("hopeless")  # noqa: B904  the point of the test


def known() -> NoReturn:
    try:
        misuse()
    except UsageError:
        raise TemporaryError("it may work later") from None


async def connects(request: Request) -> None:
    await asyncio.open_connection("127.0.0.1", 80)


async def connects_in_a_group(request: Request) -> None:
    """Connect as libraries of anyio do: each address in a task of a group, whose error is raised as another."""
    try:
        async with asyncio.TaskGroup() as group:
            group.create_task(connects(request))
    except ExceptionGroup as errors:
        raise OSError("all attempts failed") from errors


async def connects_and_says_it_is_temporary(request: Request) -> None:
    try:
        await connects_in_a_group(request)
    except OSError as error:
        raise TemporaryError("the service is down") from error


def reconciling(extra: Callable[[], Any]) -> Controller:
    return Controller("mine", Noting(extra=extra)).watch(NODES)


def awaiting(cluster: EmbeddedCluster, function: Callable[[Request], Awaitable[Any]]) -> Controller:
    return Controller("mine", Awaiting(cluster.manager, function)).watch(NODES)


@pytest.mark.parametrize(
    ("make", "function"),
    [
        pytest.param(lambda cluster: reconciling(misuse), "reconcile", id="reconcile"),
        pytest.param(lambda cluster: reconciling(wrapped), "reconcile", id="wrapped"),
        pytest.param(lambda cluster: reconciling(in_its_stead), "reconcile", id="context of a terminal error"),
        pytest.param(lambda cluster: awaiting(cluster, connects), "reconcile", id="coroutine"),
        pytest.param(lambda cluster: awaiting(cluster, connects_in_a_group), "reconcile", id="group"),
        pytest.param(
            lambda cluster: awaiting(cluster, connects_and_says_it_is_temporary), "reconcile", id="group of a cause"
        ),
        pytest.param(lambda cluster: reconciling(Result).watch(NODES, map=misuse), "mapper or predicate", id="mapper"),
        pytest.param(
            lambda cluster: reconciling(Result).watch(NODES, when=misuse), "mapper or predicate", id="predicate"
        ),
        pytest.param(lambda cluster: reconciling(Result).every(60.0, misuse), "periodic function", id="every"),
    ],
)
def test_it_fails_the_test(
    simulation: Simulation, cluster: EmbeddedCluster, make: Callable[[EmbeddedCluster], Controller], function: str
) -> None:
    cluster.manager.add(make(cluster))
    cluster.start()
    cluster.user.create(NODES, a_node("a"))
    simulation.settle()

    with pytest.raises(ReconcilesPanicked, match=rf"^a {function} raised an unexpected error"):
        cluster.raise_panics()


@pytest.mark.parametrize(
    "begin",
    [
        pytest.param(lambda c: c.manager.add(reconciling(Result).follow(NODES, misuse)), id="follow"),
        pytest.param(lambda c: c.manager.informer(NODES).add_handler(misuse), id="handler"),
        pytest.param(lambda c: c.manager.informer(NODES).add_index("mine", misuse), id="index"),
        pytest.param(lambda c: c.manager.informers.transform(NODES, misuse), id="transform"),
    ],
)
def test_where_a_change_would_be_missed_it_ends_the_manager(
    simulation: Simulation, begin: Callable[[EmbeddedCluster], Any]
) -> None:
    cluster = EmbeddedCluster(simulation.host("here"))
    begin(cluster)
    cluster.manager.informer(NODES)
    cluster.start()
    cluster.user.create(NODES, a_node("a"))
    simulation.settle()

    with pytest.raises(UsageError, match="a mistake"):
        cluster.stop()


def test_a_program_that_knows_better_raises_from_none(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    cluster.manager.add(reconciling(known))
    cluster.start()
    cluster.user.create(NODES, a_node("a"))
    simulation.settle()

    cluster.raise_panics()


def test_a_periodic_function_that_fails_is_told_once_until_it_works(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    fails = [True, True, True, False, True]

    def requests() -> list[Request]:
        if fails and fails.pop(0):
            raise KeyError("a bug")
        return [A]

    with cluster.expect_panics(KeyError) as seen:
        cluster.manager.add(reconciling(Result).every(1.0, requests, jitter=0.0))
        cluster.start()
        simulation.advance(10.0)

    assert [(each.controller, each.request) for each in seen] == [("mine", None)] * 2
