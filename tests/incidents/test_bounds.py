# SPDX-License-Identifier: Apache-2.0
"""The memory of the recorder stays within its bound under reads of 100,000 objects and of objects of 1 MB."""

from __future__ import annotations

import enum

import pytest

from apimachinery.objects import ObjectKey, Received
from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.cache.packed import PLAIN, Codec, Packed
from controller_runtime.controller.reconciler import Result
from controller_runtime.core.attempts import current_attempt
from controller_runtime.incidents.bounds import STEP, UNTOUCHED, plain_size
from controller_runtime.incidents.options import MEMORY, Incidents
from controller_runtime.incidents.recorder import Attempts, Recorder
from controller_runtime.incidents.shelf import Shelf
from controller_runtime.incidents.steps import get_step
from controller_runtime.testing.simulation import Simulation

KEY = ObjectKey("a", "default")


class Ends(enum.Enum):
    SUCCESS = 1


@pytest.fixture
def recorder(sim: Simulation) -> Recorder:
    return Recorder(sim.host("program"), Incidents())


def end(attempts: Attempts, took: float) -> None:
    attempts.ended(attempts.take(), (KEY, 1.0, ()), Ends.SUCCESS, Result(), took, is_late=False)


def objects_of(count: int, size: int) -> list[Received]:
    body = b"{" + b" " * size + b"}"
    return [Received(body, f"map-{number}", "default", "", str(number)) for number in range(count)]


def test_a_read_of_a_hundred_thousand_objects_is_left_out_and_said(recorder: Recorder) -> None:
    found, attempts = objects_of(100_000, 1000), recorder.of("maps", None)
    for number in range(12):
        attempts.begin()
        attempt = current_attempt()
        assert attempt is not None
        assert len(attempt.select(CONFIG_MAPS, "list", " ", lambda: found)) == 100_000
        attempt.get(CONFIG_MAPS, KEY, lambda key: found[0])
        end(attempts, float(number))

    incident = recorder.all()[0].incident()
    assert recorder.size <= MEMORY
    assert (len(incident.steps), incident.cut) == (1, ["1 reads"])


def test_objects_of_a_megabyte_are_left_out_and_those_of_half_of_one_stay_within_the_bound(recorder: Recorder) -> None:
    attempts = recorder.of("maps", None)
    for number in range(60):
        (large,), (half,) = objects_of(1, 1_000_000), objects_of(1, 500_000)
        attempts.begin()
        attempt = current_attempt()
        assert attempt is not None
        for one in (large, half, half, large):
            attempt.get(CONFIG_MAPS, KEY, lambda key, one=one: one)  # type: ignore[misc]
        end(attempts, float(number))
        assert recorder.size <= MEMORY

    incident = recorder.all()[0].incident()
    assert (len(incident.steps), len(incident.objects), incident.cut) == (2, 1, ["2 reads"])


def test_an_attempt_that_reads_without_end_keeps_a_bounded_number_of_steps(recorder: Recorder) -> None:
    (one,), attempts = objects_of(1, 10), recorder.of("maps", None)
    attempts.begin()
    for _ in range(20_000):
        attempt = current_attempt()
        assert attempt is not None
        attempt.get(CONFIG_MAPS, KEY, lambda key: one)
    end(attempts, 1.0)

    incident = recorder.all()[0].incident()
    assert len(incident.steps) < 7_000
    assert incident.cut == [f"{20_000 - len(incident.steps)} reads"]


def test_reconciles_that_do_nothing_are_kept_in_a_bounded_number(recorder: Recorder) -> None:
    attempts = recorder.of("maps", None)
    for _ in range(5_000):
        attempts.begin()
        end(attempts, 0.0)

    assert recorder.size <= MEMORY
    assert 1_000 < len(recorder.all()) < 1_200
    assert recorder.all()[0].number == 5_000


def read_once(attempts: Attempts, size: int) -> None:
    """Record a reconcile that reads one object of so many bytes."""
    (one,) = objects_of(1, size)
    attempts.begin()
    attempt = current_attempt()
    assert attempt is not None
    attempt.get(CONFIG_MAPS, KEY, lambda key: one)
    end(attempts, 0.0)


def test_the_last_records_fill_their_memory_and_no_more(recorder: Recorder) -> None:
    attempts = recorder.of("maps", None)
    for _ in range(4000):
        read_once(attempts, 1000)

    # 7/16 less what may be unsorted; a record has 1,000 bytes, a step of 120 and a body of 1,002.
    room = MEMORY // 16 * 7 - 256_000
    assert room - 100_000 < recorder.size <= room + 10_000


def test_records_that_are_too_large_for_a_batch_are_kept_each_alone(sim: Simulation) -> None:
    recorder = Recorder(sim.host("program"), Incidents(memory=1024 * 1024))
    attempts = recorder.of("maps", None)
    for _ in range(200):
        read_once(attempts, 6000)

    assert 20 < len(recorder.all()) < 50


def test_a_common_write_is_not_sorted_alone(recorder: Recorder) -> None:
    attempts = recorder.of("maps", None)
    for _ in range(20):
        read_once(attempts, 4000)

    assert len(recorder.notes) == 20
    assert len(recorder.all()) == 20


def test_a_large_record_is_sorted_at_once(recorder: Recorder) -> None:
    read_once(recorder.of("maps", None), 20_000)

    assert len(recorder.notes) == 0


def test_a_record_that_is_larger_than_its_shelf_pushes_out_no_other() -> None:
    shelf: Shelf[str] = Shelf(100)
    shelf.add("a", 10)
    shelf.add("b", 101)

    assert (shelf.all(), shelf.size) == (["a"], 10)


class Compressing:
    """A codec of whose payloads each stands for 50,000 bytes."""

    def pack(self, raw: bytes) -> bytes:
        return b"xx"

    def unpack(self, payload: memoryview) -> bytes:
        return b" " * 50_000

    def size(self, payload: memoryview) -> int:
        return 50_000


@pytest.mark.parametrize(("codec", "size"), [(PLAIN, 4), (Compressing(), 50_000)])
def test_an_object_counts_with_the_size_that_it_has_in_a_file(codec: Codec, size: int) -> None:
    found = Packed(("a", ""), bytes((0, 0)) + b"xx", codec)

    assert plain_size([(get_step, CONFIG_MAPS, KEY, found)]) == UNTOUCHED + STEP + size
