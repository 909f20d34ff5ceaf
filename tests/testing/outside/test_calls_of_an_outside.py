# SPDX-License-Identifier: Apache-2.0
"""Calls to an outside, sync and async: whose they are, what they change, and what a dead program can do."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import attrs
import pytest

from apimachinery.errors import UsageError
from controller_runtime import AsyncReconciler, Controller, Manager, Reconciler, Request, Result
from controller_runtime.resources import CONFIG_MAPS
from controller_runtime.testing import EmbeddedCluster, Simulation
from controller_runtime.testing.outside import outside, reads
from controller_runtime.testing.simulation.tasks import Crashed


class Buckets:
    """Buckets by name."""

    def __init__(self) -> None:
        self.state: dict[str, Any] = {}

    def make(self, name: str) -> str:
        """Make a bucket."""
        self.state[name] = {"size": 0}
        return name

    async def grow(self, name: str) -> int:
        """Make a bucket larger, which takes a second."""
        await asyncio.sleep(1.0)
        self.state.setdefault(name, {"size": 0})["size"] += 1
        return int(self.state[name]["size"])

    @reads
    def names(self) -> list[str]:
        """Return the names."""
        return sorted(self.state)


@attrs.frozen
class Makes(Reconciler):
    buckets: Buckets
    answers: list[object]

    def reconcile(self, request: Request) -> Result:
        self.answers.append(self.buckets.make(request.name))
        return Result()


@attrs.frozen
class Grows(AsyncReconciler):
    buckets: Buckets
    answers: list[object]

    async def reconcile(self, request: Request) -> Result:
        self.answers.append(await self.buckets.grow(request.name))
        return Result()


def run(cluster: EmbeddedCluster, reconciler: Reconciler | AsyncReconciler) -> None:
    def setup(manager: Manager) -> None:
        manager.lister(CONFIG_MAPS, dict)
        manager.add(Controller("buckets", reconciler).watch(CONFIG_MAPS))

    cluster.run(setup)


def declare(cluster: EmbeddedCluster, name: str = "a") -> None:
    cluster.user.create(CONFIG_MAPS, {"metadata": {"name": name, "namespace": "default"}})


@pytest.mark.parametrize("kind", [Makes, Grows])
def test_a_program_calls_the_fake(kind: Any, simulation: Simulation, cluster: EmbeddedCluster) -> None:
    buckets, answers = cluster.outside(Buckets()), list[object]()
    run(cluster, kind(buckets, answers))
    declare(cluster)
    simulation.advance(2.0)

    assert list(buckets.state) == buckets.names() == ["a"]
    assert answers == (["a"] if kind is Makes else [1])


def test_the_test_calls_the_fake_at_once_and_sets_its_attributes(cluster: EmbeddedCluster) -> None:
    buckets = cluster.outside(fake := Buckets())
    buckets.make("b")
    assert fake.state == {"b": {"size": 0}}

    buckets.state = {}
    assert fake.state == {}
    assert isinstance(buckets, Buckets)


def test_what_must_always_hold_is_checked_after_each_call_of_the_program(simulation: Simulation) -> None:
    cluster = EmbeddedCluster(simulation.host("cluster"))
    buckets = cluster.outside(Buckets())
    cluster.always(lambda: "b" not in buckets.names())
    run(cluster, Makes(buckets, []))
    declare(cluster, "b")
    simulation.settle()
    buckets.state.clear()

    (broken,) = cluster.checks.take_broken()
    assert broken.endswith("does not hold after Buckets.make('b'): it returned False")
    cluster.stop()


def test_a_coroutine_of_a_killed_program_changes_nothing(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    buckets, answers = cluster.outside(Buckets()), list[object]()
    run(cluster, Grows(buckets, answers))
    declare(cluster)
    simulation.advance(0.5)
    cluster.kill()
    simulation.advance(5.0)

    assert (buckets.state, answers) == ({}, [])


class Tidies(AsyncReconciler):
    """Makes a bucket when it ends, however it ends."""

    def __init__(self, buckets: Buckets, ended: list[type[BaseException]]) -> None:
        self.buckets, self.ended = buckets, ended

    async def reconcile(self, request: Request) -> Result:
        try:
            await asyncio.sleep(10.0)
        finally:
            try:
                self.buckets.make(request.name)
            except BaseException as error:
                self.ended.append(type(error))
                raise
        return Result()


def test_nor_does_what_it_tidies_up(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    buckets, ended = cluster.outside(Buckets()), list[type[BaseException]]()
    run(cluster, Tidies(buckets, ended))
    declare(cluster)
    simulation.advance(1.0)
    cluster.restart()  # so that another process is there when the old one tidies up
    simulation.advance(1.0)

    assert (buckets.state, ended) == ({}, [Crashed])


class HangsUp(Buckets):
    def __init__(self) -> None:
        super().__init__()
        self.ends = 0

    def hang_up(self) -> None:
        """Count the ends of the program."""
        self.ends += 1


def test_a_fake_hears_of_the_end_of_the_program(simulation: Simulation, cluster: EmbeddedCluster) -> None:
    buckets = cluster.outside(HangsUp())
    run(cluster, Makes(buckets, []))
    simulation.settle()
    cluster.kill()

    assert buckets.ends == 1


class Stateless:
    def make(self) -> None:
        """Do nothing."""


class Streams(Buckets):
    async def each(self) -> AsyncIterator[str]:
        """Yield nothing."""
        for name in self.state:
            yield name


@pytest.mark.parametrize(
    ("fake", "message"),
    [
        (Stateless(), "Stateless has no attribute `state`: keep in it what the service holds, such as a dict"),
        (Streams(), "Streams.each is a generator, which is not a call: let it return a list"),
        (Buckets, r"give an object of the class, as in cluster.outside\(Buckets\(\)\)"),
    ],
)
def test_a_fake_that_cannot_be_an_outside_is_refused(cluster: EmbeddedCluster, fake: Any, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        cluster.outside(fake)


def test_an_outside_is_not_made_of_an_outside(cluster: EmbeddedCluster) -> None:
    buckets = cluster.outside(Buckets())

    with pytest.raises(UsageError, match="give the fake itself"):
        cluster.outside(buckets)


@pytest.mark.parametrize("given", [None, str, lambda text: text])
def test_an_error_that_is_none_is_refused(given: Any) -> None:
    with pytest.raises(UsageError, match=r"@outside\(refused=…\) takes a class of exceptions, or a function"):
        outside(refused=given)


def test_fakes_work_in_real_time_too(real_cluster: EmbeddedCluster) -> None:
    buckets = real_cluster.outside(Buckets())

    assert buckets.make("a") == "a"
    assert buckets.names() == ["a"]


def test_another_cluster_borrows_an_outside_as_it_was_at_first(
    simulation: Simulation, cluster: EmbeddedCluster
) -> None:
    buckets, answers = cluster.outside(Buckets()), list[object]()
    run(cluster, Makes(buckets, answers))
    declare(cluster, "a")
    simulation.settle()

    with EmbeddedCluster(simulation.host("other")) as other, other.outside.borrowed(cluster.outside.lines):
        assert buckets.state == {}
        run(other, Makes(buckets, answers))
        declare(other, "b")
        simulation.settle()
        assert buckets.state == {"b": {"size": 0}}
    assert answers == ["a", "b"]
    assert other.outside.lines == []

    declare(cluster, "c")
    simulation.settle()
    assert answers == ["a", "b", "c"]
