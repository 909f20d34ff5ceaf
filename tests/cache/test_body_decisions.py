# SPDX-License-Identifier: Apache-2.0
"""The decisions on bodies: which one answers a read, which is kept, and how many are asked for at once."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apimachinery.errors import StaleCache, UsageError
from apimachinery.objects import Cached, Received
from apimachinery.system import SystemHost
from controller_runtime.api.builtin_resources import SECRETS
from controller_runtime.api.collection import Collection
from controller_runtime.api.resources import NODES
from controller_runtime.cache.bodies import (
    FEW,
    MOST,
    PAGE,
    Bodies,
    Body,
    Seen,
    by_pages,
    fits,
    judged,
    next_page,
    replaces,
)
from controller_runtime.cache.body_cache import BodyCache
from controller_runtime.cache.delta import Delta
from controller_runtime.cache.options import CacheOptions
from controller_runtime.cache.scope import CacheScope, bodies_of, options_of

KEY = ("a", "")


def at(version: int, uid: str = "u") -> Cached:
    return Received(b'{"metadata":{"name":"a"}}', "a", "", uid, str(version))


def seen(version: int, resets: int = 0) -> Seen:
    return Seen(resets, str(version))


def body(version: int, uid: str = "u", resets: int = 0) -> Body:
    return Body(uid, seen(1, resets), at(version, uid))


ABSENT = Body("u", seen(9), None)


@pytest.mark.parametrize(
    ("kept", "head", "now", "answers"),
    [
        (body(5), at(5), seen(9), True),
        (body(10), at(9), seen(9), True),  # newer than the metadata, as a read past the cache may be
        (body(10), at(9), seen(10), False),  # the cache has passed it without seeing it: it was lost by a restore
        (body(9), at(10), seen(10), False),
        (body(5, "v"), at(5), seen(9), False),
        (body(5), at(5), seen(5, resets=1), False),  # from before a restore, since when the versions are other ones
        (ABSENT, at(5), seen(9), True),
        (ABSENT, at(5), seen(10), False),  # the deletion should be here by now
        (ABSENT, at(9, "v"), seen(9), False),
        (ABSENT, at(9), seen(9, resets=1), False),
    ],
)
def test_body_answers_a_read_of_the_same_object_in_its_state_or_in_one_to_come(
    kept: Body, head: Cached, now: Seen, answers: bool
) -> None:
    assert fits(kept, head, now) is answers


def test_what_the_server_answers_is_compared_with_the_metadata() -> None:
    same, newer = at(5), at(10)
    assert judged(same, at(5), seen(9)) == Body("u", seen(9), same)
    assert judged(newer, at(9), seen(9)) == Body("u", seen(9), newer)
    assert judged(None, at(5), seen(9)) == ABSENT
    assert judged(at(6, "v"), at(5), seen(9)) == ABSENT
    with pytest.raises(StaleCache, match=r"a: the server has version 5, the cache of its metadata 10: .* went back"):
        judged(at(5), at(10), seen(10))


@pytest.mark.parametrize(
    ("new", "old", "wins"),
    [
        (body(5), None, True),
        (body(10), body(9), True),
        (body(9), body(10), False),  # the answer of a slower thread
        (body(9, resets=1), body(10), True),
        (body(10), body(9, resets=1), False),
        (body(3, "v"), body(10), True),
        (ABSENT, body(10), True),
        (body(10), ABSENT, False),  # it was asked for before the deletion, and came after it
    ],
)
def test_fetched_body_replaces_one_that_is_no_newer(new: Body, old: Body | None, wins: bool) -> None:
    assert replaces(new, old) is wins


@given(st.permutations([body(5), body(9), body(10), ABSENT]))
def test_the_newest_answer_is_kept_whatever_the_order_in_which_answers_come(answers: list[Body]) -> None:
    kept = BodyCache(SystemHost("test"), "x", 10**6)
    for each in answers:
        kept.put(KEY, each, chosen=False)

    assert kept.get(KEY) == ABSENT


@pytest.mark.parametrize(("absent", "objects", "pages"), [(FEW, FEW, False), (11, 110, True), (11, 111, False)])
def test_pages_are_asked_for_when_many_of_their_objects_are_wanted(absent: int, objects: int, pages: bool) -> None:
    assert by_pages(absent, objects) is pages


@given(st.integers(0, 500), st.integers(0, 10**9))
def test_a_page_has_about_four_mebibytes(objects: int, size: int) -> None:
    most = next_page(objects, size)

    assert 1 <= most <= MOST
    assert objects == 0 or most == 1 or most * size // objects <= PAGE


class TestBodyCache:
    """The cache of bodies."""

    @pytest.fixture
    def kept(self) -> BodyCache:
        return BodyCache(SystemHost("test"), "nodes", 3 * body(5).size)

    def test_the_body_that_was_not_read_for_the_longest_goes_first(self, kept: BodyCache) -> None:
        for name in "abc":
            kept.put((name, ""), body(5), chosen=False)
        kept.get(("a", ""))
        kept.put(("d", ""), body(5), chosen=False)

        assert [name for name in "abcd" if kept.get((name, "")) is not None] == ["a", "c", "d"]
        assert kept.held == 3 * body(5).size

    def test_chosen_bodies_stay_whatever_the_bound(self, kept: BodyCache) -> None:
        for name in "abcdef":
            kept.put((name, ""), body(5), chosen=True)
        for name in "uvwxyz":
            kept.put((name, ""), body(5), chosen=False)

        assert all(kept.get((name, "")) for name in "abcdef")
        assert len(kept) == 6 + 3
        assert kept.held == 9 * body(5).size

    def test_a_body_larger_than_the_bound_is_not_kept(self) -> None:
        kept = BodyCache(SystemHost("test"), "nodes", 100)
        kept.put(KEY, body(5), chosen=False)
        assert kept.get(KEY) is None

    @pytest.mark.parametrize(
        ("change", "stays"),
        [
            (Delta(at(5), at(6)), True),
            (Delta(at(5), at(10)), True),
            (Delta(at(10), at(9)), True),
            (Delta(at(5), at(11)), False),
            (Delta(at(5), at(6, "v")), False),
            (Delta(at(5), None), False),
        ],
    )
    @pytest.mark.parametrize("chosen", [True, False])
    def test_a_change_drops_a_body_that_is_not_as_new(
        self, kept: BodyCache, change: Delta, stays: bool, chosen: bool
    ) -> None:
        kept.put(KEY, body(10), chosen=chosen)
        kept.changed(change, seen(9))
        assert (kept.get(KEY) is not None) is stays
        assert kept.held == (body(10).size if stays else 0)


class TestOption:
    """The option, and the caches for which it counts."""

    def test_a_mistake_is_one_line(self) -> None:
        with pytest.raises(UsageError, match="Bodies: a selector cannot be read: "):
            Bodies(label_selector="in in in")
        with pytest.raises(UsageError, match="chosen by selectors or by a function: give one of them"):
            Bodies(label_selector="a", chosen=lambda meta: True)
        with pytest.raises(ValueError, match=r"memory \(-1\) must be zero or more"):
            Bodies(memory=-1)

        async def later(meta: object) -> bool:
            return True

        with pytest.raises(UsageError, match=r"chosen of Bodies: .* is an `async def`"):
            Bodies(chosen=later)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="the scope of namespace 'x' can have selectors alone"):
            CacheScope(namespaces={"x": CacheScope(bodies=Bodies())})

    def test_the_scope_of_a_kind_comes_before_that_of_all_kinds(self) -> None:
        kind, every = Bodies(memory=1), Bodies(memory=2)
        options = CacheOptions()

        assert options_of((CacheScope(bodies=kind), CacheScope(bodies=every)), options, None).bodies is kind
        assert options_of((CacheScope(), CacheScope(bodies=every)), options, None).bodies is every
        assert options_of((CacheScope(), CacheScope()), options, None).bodies is None

    @pytest.mark.parametrize(
        ("collection", "is_whole"),
        [
            (Collection(SECRETS), False),
            (Collection(SECRETS.only_metadata()), True),
            (Collection(SECRETS, label_selector="app=web"), True),  # the second watch itself
            (Collection(SECRETS, "x", label_selector="app=web,tier"), True),
            (Collection(SECRETS, label_selector="tier"), False),
        ],
    )
    def test_what_the_second_watch_brings_is_cached_whole(self, collection: Collection, is_whole: bool) -> None:
        options = CacheOptions(bodies=Bodies(label_selector="app=web"))
        assert (bodies_of(collection, options) is None) is is_whole

    def test_the_second_watch_is_narrowed_as_the_cache_is(self) -> None:
        bodies = Bodies(label_selector="app=web", field_selector="type=Opaque")
        watched = bodies.watched(Collection(SECRETS, "x", "tier"))
        assert watched == Collection(SECRETS, "x", "tier,app=web", "type=Opaque").normalized()
        assert Bodies().watched(Collection(NODES)) is None
