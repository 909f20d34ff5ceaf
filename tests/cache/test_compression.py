# SPDX-License-Identifier: Apache-2.0
"""The packed form of an object, and the decisions of compression: when a dictionary is trained, and on what."""

from __future__ import annotations

import functools
import itertools
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.cache.compressing import needs_zstandard, some_raw
from kit.nodes import cached

from apimachinery.errors import DecodeError, UsageError
from apimachinery.objects import Cached, Received, labels_of
from controller_runtime.cache.compression import (
    MOST_WINDOWS,
    Compression,
    Ratio,
    Samples,
    Training,
    compression_of,
    trained,
)
from controller_runtime.cache.packed import PLAIN, Codec, Packed, bytes_of, packed

texts = st.text(max_size=40)


@given(st.binary(max_size=300), texts, texts, texts, texts)
def test_a_packed_object_has_the_header_and_the_bytes_of_the_one_received(
    raw: bytes, name: str, namespace: str, uid: str, version: str
) -> None:
    received = Received(raw, name, namespace, uid, version)

    kept = packed(received, PLAIN)

    assert isinstance(kept, Packed)
    assert (kept.raw, kept.name, kept.namespace, kept.uid, kept.resource_version) == (
        raw,
        name,
        namespace,
        uid,
        version,
    )
    assert (kept.key, kept.plain_key, kept.size) == (received.key, received.plain_key, len(raw))


def test_a_packed_object_is_smaller_than_the_one_received() -> None:
    received = cached("a-name-of-usual-length", 123456, uid="0b5b8f1c-5a3f-4d0e-9f59-000000000001")

    assert bytes_of(received)[0] - bytes_of(packed(received, PLAIN))[0] > 80


def test_an_object_whose_uid_is_too_long_for_the_header_is_kept_as_it_came() -> None:
    received = cached("a", 1, uid="u" * 256)

    assert packed(received, PLAIN) is received


def test_a_new_state_has_the_key_of_the_one_before() -> None:
    before = packed(cached("a", 1), PLAIN)

    assert packed(cached("a", 2), PLAIN, before).plain_key is before.plain_key


@functools.cache  # one for all examples: its training takes milliseconds
def codec(seed: int = 0) -> Codec:
    found = trained([some_raw(seed, number) for number in range(20)], Compression())
    assert found is not None
    return found


@needs_zstandard
@given(st.binary(max_size=2_000))
def test_any_bytes_come_back_from_a_codec(raw: bytes) -> None:
    kept = packed(Received(raw, "a", "", "u", "1"), codec())

    assert (kept.raw, kept.size, kept.uid, kept.resource_version) == (raw, len(raw), "u", "1")


@needs_zstandard
def test_an_object_like_the_samples_becomes_a_fraction() -> None:
    raw = some_raw(0, 21)

    kept = packed(Received(raw, "a", "", "u", "1"), codec())

    assert isinstance(kept, Packed)
    assert len(kept.body) < len(raw) / 4


@needs_zstandard
def test_an_object_that_compression_makes_no_smaller_is_kept_plain() -> None:
    raw = bytes(range(256)) * 2

    kept = packed(Received(raw[::3], "a", "", "u", "1"), codec())

    assert isinstance(kept, Packed)
    assert kept.codec is PLAIN


@needs_zstandard
def test_a_dictionary_that_an_object_was_not_written_with_is_refused_by_the_name_of_the_object() -> None:
    kept = packed(cached_of(some_raw(0, 21)), codec())
    assert isinstance(kept, Packed)
    mixed = Packed(kept.plain_key, kept.body, codec(seed=1))

    with pytest.raises(DecodeError, match=r"^ns/a: its compressed form in the cache cannot be read: .*[Dd]ictionary"):
        labels_of(mixed)


@needs_zstandard
def test_a_damaged_object_is_told_by_its_name() -> None:
    kept = packed(cached_of(some_raw(0, 21)), codec())
    assert isinstance(kept, Packed)
    damaged = Packed(kept.plain_key, kept.body[:-4], kept.codec)

    with pytest.raises(DecodeError, match=r"^ns/a: "):
        _ = damaged.meta
    assert kept.meta.name == "n21"  # the context that met the damage serves nothing any more, others do


def cached_of(raw: bytes) -> Cached:
    return Received(raw, "a", "ns", "u", "1")


@needs_zstandard
@pytest.mark.parametrize("samples", [[], [b"{}"], [b"{}"] * 5])
def test_no_dictionary_comes_of_samples_that_are_too_small(samples: list[bytes]) -> None:
    assert trained(samples, Compression()) is None


@pytest.mark.parametrize("count", [0, 1, 9, 10, 19, 20, 21, 100, 1_000])
def test_samples_are_spread_over_all_that_came(count: int) -> None:
    samples, all_of = Samples(10), [cached(f"n{number}", 1) for number in range(count)]
    for each in all_of:
        samples.add(each)

    assert samples.seen == count
    taken = [all_of.index(each) for each in samples.take()]

    assert min(count, 10) <= len(taken) < 20
    strides = {later - earlier for earlier, later in itertools.pairwise(taken)}
    assert len(strides) <= 1
    assert not taken or count - taken[-1] <= max(strides, default=1)
    assert samples.take() == []


@pytest.mark.parametrize(
    ("windows", "fell"),
    [
        ([30], False),  # the first window is the measure
        ([30, 30], False),
        ([30, 37], False),  # within the tolerance
        ([30, 38], True),
        ([30, 20, 38], True),  # held against the first window, and not against the best
        ([30, 20, 30], False),
    ],
)
def test_a_dictionary_serves_until_objects_have_grown_beyond_the_tolerance(windows: list[int], fell: bool) -> None:
    ratio = Ratio(window=5, tolerance=1.25)

    assert [ratio.note(100, packed) for packed in windows for _ in range(5)][-1] is fell


def test_each_training_doubles_the_objects_until_the_next_judgement() -> None:
    ratio = Ratio(window=1, tolerance=1.25)
    for trainings in range(10):
        window = min(2**trainings, MOST_WINDOWS)
        assert [ratio.note(100, size) for size in [10] * window + [90] * window].index(True) == 2 * window - 1
        ratio.trained()


def noted(training: Training, count: int, *, codec: Codec = PLAIN, before: Cached | None = None) -> bool:
    """Note so many objects of 100 bytes, and return whether the last made a dictionary due."""
    found = False
    for number in range(count):
        received = Received(b"x" * 100, f"n{number}", "", "u", "1")
        kept = packed(received, PLAIN)
        assert isinstance(kept, Packed)
        found = training.note(kept, received, before, codec)
    return found


def test_a_dictionary_is_due_once_there_are_enough_bytes_and_enough_objects() -> None:
    assert not noted(Training(Compression(size=1_000, samples=5)), 9)
    assert noted(Training(Compression(size=1_000, samples=5)), 10)
    assert not noted(Training(Compression(size=1_000, samples=20)), 19)
    assert noted(Training(Compression(size=1_000, samples=20)), 20)


def test_objects_that_change_and_do_not_grow_are_never_a_large_collection() -> None:
    training = Training(Compression(size=1_000, samples=5))

    assert not noted(training, 1_000, before=Received(b"x" * 100, "n", "", "u", "1"))


def test_objects_that_came_and_went_are_no_large_collection() -> None:
    training = Training(Compression(size=1_000, samples=5))
    assert noted(training, 10)

    assert training.is_large(None)  # the first list is under way
    assert not training.is_large(300)
    assert not noted(training, 6)
    assert noted(training, 1)
    assert training.is_large(1_000)


def test_twice_as_much_must_come_after_a_training_of_which_nothing_came() -> None:
    training = Training(Compression(size=1_000, samples=5))
    noted(training, 10)
    assert len(training.samples()) >= 5

    assert not noted(training, 9)
    assert noted(training, 1)


def test_objects_that_came_without_a_dictionary_are_told_once() -> None:
    training = Training(Compression())
    noted(training, 3)

    assert (training.had_none(), training.had_none()) == (True, False)


@pytest.mark.parametrize(
    "wrong", [{"size": -1}, {"samples": 0}, {"dictionary": 0}, {"level": 0}, {"window": 0}, {"tolerance": 1.0}]
)
def test_numbers_that_cannot_be_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Compression(**wrong)


@needs_zstandard
def test_caches_are_compressed_by_themselves_where_the_extra_is_installed() -> None:
    assert compression_of(None) == Compression()
    assert compression_of(True) == Compression(size=0)
    assert compression_of(Compression(samples=3)) == Compression(samples=3)
    assert compression_of(False) is None


def test_compression_that_is_asked_for_without_the_extra_is_one_plain_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)

    assert compression_of(None) is None
    for asked in (True, Compression()):
        with pytest.raises(UsageError, match=r"^a compressed cache needs zstandard: .*lean"):
            compression_of(asked)
