# SPDX-License-Identifier: Apache-2.0
"""A list is followed through its pages: a lawful page passes without a pause, and an endless list is refused."""

from __future__ import annotations

import sys

import pytest

from apimachinery.errors import DecodeError
from apimachinery.objects import Received
from controller_runtime.client.decoding import Page, Undecodable
from controller_runtime.client.listwatch import PAGE_SIZE
from controller_runtime.client.paging import ListBounds, ListTally, Paging

RAW = b" " * 7000


def page(*names: int, more: str = "", raw: bytes = RAW, unreadable: int = 0) -> Page:
    items = [Received(raw, f"n{name}", "", "", "1") for name in names]
    return Page(items, [Undecodable("")] * unreadable, "1", more)


def following(bounds: ListBounds | None = None, page_size: int = PAGE_SIZE) -> Paging:
    return Paging("nodes", bounds or ListBounds(), page_size)


def test_a_hundred_thousand_objects_in_full_pages_are_asked_for_without_a_pause() -> None:
    paging = following()

    pauses = [paging.pause_after(page(*range(n, n + 500), more=f"token-{n}")) for n in range(0, 100_000, 500)]

    assert {*pauses, paging.pause_after(page(100_000))} == {0.0}


def test_a_whole_list_of_a_gibibyte_is_lawful() -> None:
    """A server that ignores the limit at version 0 sends such a list."""
    large = page(*range(150_000), raw=RAW)

    assert sum(len(cached.raw) for cached in large.items) > 1024**3 * 0.97
    assert following().pause_after(large) == 0.0


@pytest.mark.parametrize(
    "short",
    [
        pytest.param(page(1, 2, more="next"), id="fewer objects than were asked for"),
        pytest.param(page(more="next"), id="none, as where a selector excludes them"),
        pytest.param(page(unreadable=3, more="next"), id="none that can be read"),
    ],
)
def test_a_short_page_is_lawful_and_followed_by_a_pause(short: Page) -> None:
    assert following(ListBounds(short_pages=4.0)).pause_after(short) == 0.25


def test_what_cannot_be_read_counts_as_an_object_of_a_full_page() -> None:
    assert following(page_size=3).pause_after(page(1, 2, unreadable=1, more="next")) == 0.0


def test_an_object_that_comes_twice_is_no_reason_to_give_up_while_others_come() -> None:
    """This happens at the border of two pages of a server that pages by number while objects are added."""
    paging = following()

    assert [paging.pause_after(page(n, n + 1, more=f"token-{n}")) for n in range(5)] == [0.05] * 5


def test_empty_pages_count_from_the_last_object_on() -> None:
    paging = following(ListBounds(empty_pages=2))

    for n in range(10):
        paging.pause_after(page(n, more=f"a-{n}"))
        paging.pause_after(page(more=f"b-{n}"))
        paging.pause_after(page(more=f"c-{n}"))
    with pytest.raises(DecodeError, match=r"^nodes: the list was given up: 3 pages in a row are empty$"):
        paging.pause_after(page(more="d"))


@pytest.mark.parametrize("period", [1, 2, 7])
def test_pages_that_come_round_again_are_refused_after_one_round(period: int) -> None:
    paging = following()

    for n in range(period):
        paging.pause_after(page(n, more=f"token-{n}"))
    with pytest.raises(DecodeError, match="only objects of earlier pages"):
        paging.pause_after(page(0, more="another token"))


def test_the_bounds_count_what_has_come_on_all_pages() -> None:
    tally = ListTally("pods", ListBounds(objects=3, size=100))

    tally.add(3, 100)

    with pytest.raises(DecodeError, match=r"pods: .* more than 3 objects; if they are legitimate, raise the bound"):
        tally.add(1, 0)
    with pytest.raises(DecodeError, match=r"more than 100 bytes"):
        ListTally("pods", ListBounds(size=100)).add(1, 101)


@pytest.mark.parametrize("bound", ["objects", "size", "short_pages", "empty_pages"])
def test_bounds_that_are_not_positive_are_refused(bound: str) -> None:
    with pytest.raises(ValueError, match=bound):
        ListBounds(**{bound: 0})  # type: ignore[arg-type]


def test_following_a_list_takes_little_memory_beside_its_objects() -> None:
    paging = following()
    for n in range(0, 100_000, 500):
        paging.pause_after(page(*range(n, n + 500), more=f"token-{n}", raw=b""))

    assert sys.getsizeof(paging._seen) + 32 * 100_000 < 12_000_000
