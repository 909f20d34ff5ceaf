# SPDX-License-Identifier: Apache-2.0
"""Changes that cannot be mapped, as a table: merged, tried and settled in every order."""

from __future__ import annotations

import json

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from apimachinery.objects import Cached, PlainKey, cached_from_bytes
from controller_runtime.cache.store import Delta
from controller_runtime.controller.kept_changes import KeptChange, KeptChanges

pytestmark = pytest.mark.ends

OWNERS = ("x", "y", "z")


def pod(owner: str, uid: str = "1", name: str = "pod") -> Cached:
    return cached_from_bytes(json.dumps({"metadata": {"name": name, "uid": uid, "labels": {"owner": owner}}}).encode())


A, B, C = pod("x"), pod("y"), pod("z")
AGAIN = pod("z", uid="2")


def sides(kept: KeptChange | None) -> tuple[Cached | None, Cached | None, bool] | None:
    return None if kept is None else tuple(kept.delta)  # type: ignore[return-value]


def merged(first: Delta, *later: Delta) -> KeptChange:
    kept = KeptChange.of(first)
    for delta in later:
        kept = kept.merged(delta)
    return kept


def test_changes_merge_from_the_state_that_was_mapped_to_the_newest() -> None:
    assert sides(merged(Delta(A, B), Delta(B, C))) == (A, C, False)
    assert sides(merged(Delta(None, B), Delta(B, C))) == (None, C, False)


def test_an_object_of_the_initial_list_stays_one_until_it_changes() -> None:
    assert sides(merged(Delta(None, A, initial=True))) == (None, A, True)
    assert sides(merged(Delta(None, A, initial=True), Delta(A, B))) == (None, B, False)


def test_a_deletion_ends_the_state_that_was_mapped_and_then_the_last_one() -> None:
    kept = merged(Delta(A, B), Delta(B, None))
    assert sides(kept) == (A, None, False)

    rest = kept.after_success()

    assert sides(rest) == (B, None, False)
    assert rest is not None
    assert rest.after_success() is None


def test_an_object_that_was_never_mapped_and_is_deleted_is_one_deletion() -> None:
    kept = merged(Delta(None, A), Delta(A, B), Delta(B, None))

    assert sides(kept) == (B, None, False)
    assert kept.after_success() is None


def test_an_object_that_was_made_again_is_a_change_between_two_uids() -> None:
    kept = merged(Delta(A, B), Delta(B, None), Delta(None, AGAIN))

    assert sides(kept) == (A, AGAIN, False)
    assert kept.after_success() is None


def test_a_predecessor_that_was_never_mapped_is_forgotten_when_the_object_is_made_again() -> None:
    """The predecessor may be the one that cannot be mapped, and must not keep the new object from being mapped."""
    assert sides(merged(Delta(None, A), Delta(A, None), Delta(None, AGAIN))) == (None, AGAIN, False)


def test_tries_of_a_deletion_are_counted_from_the_deletion_on() -> None:
    kept = merged(Delta(None, A)).after_failure("e").after_failure("e").merged(Delta(A, None)).after_failure("e")

    assert (kept.failures, kept.tries_of_deletion) == (3, 1)
    assert kept.merged(Delta(None, AGAIN)).after_failure("e").tries_of_deletion == 0


def test_a_try_that_was_overtaken_settles_nothing() -> None:
    kept = KeptChanges()
    first = KeptChange.of(Delta(A, B))
    kept.keep(first)
    second = kept.merge(Delta(B, C))

    assert not kept.settle(first, None)
    assert kept.get(A.plain_key) is second
    assert second is not None
    assert kept.settle(second, None)
    assert not kept.settle(second, None)
    assert len(kept) == 0


class KeptChangesMachine(RuleBasedStateMachine):
    """A store of a few objects, a mapper that fails for some of their states, and retries at any time.

    The mapper requests the owners before and after a change. Two tries of one object may overlap, as those of the
    informer's thread and of the retries do.
    """

    @initialize()
    def begin(self) -> None:
        self.kept = KeptChanges()
        self.store: dict[PlainKey, Cached] = {}
        self.bad: set[str] = set()  # owners whose objects cannot be mapped now
        # For each object the state that the mapper has seen last, and whom the mapper has to tell once it works.
        self.mapped: dict[PlainKey, Cached] = {}
        self.told: dict[PlainKey, set[str]] = {}
        self.in_hand: list[KeptChange] = []
        self.uids = 0

    def owner(self, cached: Cached) -> str:
        return (cached.meta.labels or {})["owner"]

    def requests(self, delta: Delta) -> set[str] | None:
        owners = {self.owner(side) for side in (delta.old, delta.new) if side is not None}
        return None if owners & self.bad else owners

    @rule(name=st.sampled_from("ab"), owner=st.sampled_from((*OWNERS, None)), again=st.booleans())
    def change(self, name: str, owner: str | None, again: bool) -> None:
        old = self.store.get((name, ""))
        if old is None and owner is None:
            return
        self.uids += old is None or again
        new = None if owner is None else pod(owner, f"{self.uids}", name)
        if new is None:
            del self.store[name, ""]
        else:
            self.store[name, ""] = new
        self.arrive(Delta(old, new))

    def arrive(self, delta: Delta) -> None:
        """Do what a feed does with a change."""
        key = delta.object.plain_key
        merged = self.kept.merge(delta)
        if merged is not None:
            self.finish(merged)
            return
        requests = self.requests(delta)
        if requests is None:
            if delta.old is not None:
                self.mapped[key] = delta.old
            self.told[key] = set()
            self.kept.keep(KeptChange.of(delta).after_failure("fails"))

    @rule(name=st.sampled_from("ab"))
    def begin_a_retry(self, name: str) -> None:
        kept = self.kept.get((name, ""))
        if kept is not None:
            self.in_hand.append(kept)

    @rule()
    def end_a_retry(self) -> None:
        if self.in_hand:
            self.finish(self.in_hand.pop(0))

    def finish(self, tried: KeptChange) -> None:
        rest: KeptChange | None = tried
        while rest is not None:
            requests = self.requests(rest.delta)
            if requests is None:
                self.kept.settle(tried, rest.after_failure("fails"))
                return
            self.told.setdefault(tried.last.plain_key, set()).update(requests)
            rest = rest.after_success()
        if self.kept.settle(tried, None):
            self.is_told(tried.last.plain_key)

    def is_told(self, key: PlainKey) -> None:
        """Once nothing is kept, the owner that was mapped before the failure and the present one have been told."""
        before, now = self.mapped.pop(key, None), self.store.get(key)
        due = {self.owner(side) for side in (before, now) if side is not None}
        assert due <= self.told.pop(key)

    @rule(owner=st.sampled_from(OWNERS))
    def break_the_mapper(self, owner: str) -> None:
        self.bad.add(owner)

    @rule()
    def mend_the_mapper(self) -> None:
        self.bad.clear()

    @invariant()
    def no_more_is_kept_than_there_are_objects(self) -> None:
        assert len(self.kept) <= 2

    @invariant()
    def the_newest_state_is_kept(self) -> None:
        for kept in self.kept.first(9):
            now = self.store.get(kept.last.plain_key)
            assert kept.is_deleted == (now is None)
            assert now is None or kept.last is now

    def teardown(self) -> None:
        self.bad.clear()
        for kept in [*self.in_hand, *self.kept.first(9)]:
            self.finish(kept)
        for kept in self.kept.first(9):
            self.finish(kept)
        assert len(self.kept) == 0


TestKeptChanges = KeptChangesMachine.TestCase
TestKeptChanges.settings = settings(max_examples=300, stateful_step_count=40, deadline=None)
