# SPDX-License-Identifier: Apache-2.0
"""Warnings about caches that take much memory."""

from __future__ import annotations

import logging

import pytest
from kit.cache.compressing import SMALL, needs_zstandard, some_node
from kit.cache.scripted import Pause, ScriptedServer, watched
from kit.nodes import bookmark_line, line, node

from apimachinery.stop import Stop
from controller_runtime.api.builtin_resources import SECRETS
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import NODES, PODS
from controller_runtime.cache.informers import Informers
from controller_runtime.cache.large import USUAL_BOUND, bound_of, has_all_secrets, remedies
from controller_runtime.cache.options import CacheOptions
from controller_runtime.testing.simulation import Simulation


@pytest.mark.parametrize(
    ("limit", "bound"),
    [(None, USUAL_BOUND), (64 * 2**30, USUAL_BOUND), (2**30, USUAL_BOUND), (512 * 2**20, 128 * 2**20)],
)
def test_the_bound_is_that_of_the_project_or_a_quarter_of_the_limit(limit: int | None, bound: int) -> None:
    assert bound_of(limit) == bound


def ways(collection: Collection, *, can_compress: bool = True, is_compressed: bool = False) -> list[str]:
    """Return the first words of the remedies."""
    found = remedies(collection, can_compress=can_compress, is_compressed=is_compressed)
    return [each.partition(":")[0].partition(",")[0] for each in found]


def test_each_remedy_is_one_that_is_left() -> None:
    compress, metadata, fewer, some = "compress it", "keep metadata alone", "keep fewer objects", "keep some namespaces"
    bodies, drop = "keep bodies of some", "drop fields that nothing reads"

    assert ways(Collection(PODS)) == [compress, metadata, bodies, fewer, some, drop]
    assert ways(Collection(PODS), is_compressed=True) == [metadata, bodies, fewer, some, drop]
    assert ways(Collection(PODS, "web", "app=a"), is_compressed=True) == [metadata, bodies, drop]
    assert ways(Collection(NODES), is_compressed=True) == [metadata, bodies, fewer, drop]
    assert ways(Collection(NODES.only_metadata()), is_compressed=True) == [fewer]


def test_a_missing_extra_is_named_with_its_command() -> None:
    first, *_ = remedies(Collection(PODS), can_compress=False, is_compressed=False)

    assert first.startswith("compress it: pip install")
    assert "lean" in first


@pytest.mark.parametrize(
    ("collection", "is_told"),
    [
        (Collection(SECRETS), True),
        (Collection(SECRETS, "web"), False),
        (Collection(SECRETS, field_selector="type!=helm.sh/release.v1"), False),
        (Collection(SECRETS, label_selector="app"), False),
        (Collection(SECRETS.only_metadata()), False),
        (Collection(PODS), False),
    ],
)
def test_all_secrets_of_a_cluster_are_told(collection: Collection, is_told: bool) -> None:
    assert has_all_secrets(collection) is is_told


def run(sim: Simulation, collection: Collection, options: CacheOptions, *lines: bytes) -> None:
    """Run a cache of a script for two seconds."""
    host = sim.host("r0")
    informers, stop = Informers(host, ScriptedServer(host, watched(*lines)), options), Stop(host)
    informers.note_view(NODES, dict)
    informers.of(collection)
    informers.start(stop)
    sim.advance(2.0)
    stop.set()
    assert informers.join_until(host.monotonic() + 1.0) == []


def test_a_large_cache_is_told_once_with_its_remedies(sim: Simulation, caplog: pytest.LogCaptureFixture) -> None:
    first = [line("ADDED", node(f"n{number}", 1)) for number in range(10)]
    later = [line("ADDED", node(f"m{number}", 6 + number)) for number in range(10)]
    with caplog.at_level(logging.WARNING):
        run(
            sim,
            Collection(NODES),
            CacheOptions(warn_at=2_000, compress=False),
            *(*first, bookmark_line(5, ends_initial="true"), Pause(1.0), *later),
        )

    (told,) = caplog.messages
    assert told.startswith("cache takes much memory collection=nodes objects=10 mean_bytes_of_json=")
    assert " read_as=dict " in told
    assert "lister(nodes.only_metadata())" in told


@needs_zstandard
def test_a_cache_that_is_large_although_it_is_compressed_is_told_with_what_is_left(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lines = [line("ADDED", some_node(0, number)) for number in range(60)]
    for seed in range(5):
        caplog.clear()
        with Simulation(seed=seed) as sim, caplog.at_level(logging.WARNING):
            options = CacheOptions(warn_at=5_000, compress=SMALL)
            run(sim, Collection(NODES), options, *lines, bookmark_line(5, ends_initial="true"))
        (told,) = caplog.messages
        assert "compress it" not in told


def test_a_cache_below_the_bound_is_not_told(sim: Simulation, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        run(sim, Collection(NODES), CacheOptions(), line("ADDED", node("a", 1)), bookmark_line(5, ends_initial="true"))

    assert caplog.messages == []


def test_a_program_that_begins_to_cache_all_secrets_is_told_how_to_leave_out_releases(
    sim: Simulation, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        run(sim, Collection(SECRETS), CacheOptions())

    assert "type!=helm.sh/release.v1" in next(each for each in caplog.messages if each.startswith("all Secrets"))
