# SPDX-License-Identifier: Apache-2.0
"""The storage compared with a model: a dict for the present state, a list for the changes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from apimachinery.system import SystemHost
from embedded_apiserver.storage.history import Compacted, History
from embedded_apiserver.storage.storage import Cursor, Storage
from embedded_apiserver.storage.stored import Draft

pytestmark = pytest.mark.ends

KEYS = st.sampled_from(["a/1", "a/2", "a-b/1", "b/1", "b/10", "b/2"])
PREFIXES = st.sampled_from(["", "a/", "b/", "a-b/", "b/1", "c/"])
KEPT = 8

State = dict[str, int]


def values_of(items: Any) -> list[tuple[str, int]]:
    return [(item.key, item.decode()["n"]) for item in items]


class Reader:
    """A cursor, and the state that results from the changes it returned."""

    def __init__(self, cursor: Cursor, state: State, version: int) -> None:
        self.cursor = cursor
        self.state = dict(state)
        self.version = version


class StorageAndModel(RuleBasedStateMachine):
    readers = Bundle("readers")

    def __init__(self) -> None:
        super().__init__()
        self.storage = Storage(SystemHost("test"), History(changes=KEPT, age=3600.0))
        self.state: State = {}
        self.past: list[tuple[int, State]] = [(self.storage.version, {})]

    @rule(key=KEYS, value=st.integers(0, 3))
    def put(self, key: str, value: int) -> None:
        expected = self.storage.get("things", key)
        change = self.storage.commit("things", key, expected, Draft.of({"metadata": {"name": key}, "n": value}))

        assert change is not None
        assert change.version > self.past[-1][0]
        self.state = {**self.state, key: value}
        self.past.append((change.version, self.state))

    @rule(key=KEYS)
    def delete(self, key: str) -> None:
        expected = self.storage.get("things", key)
        if expected is None:
            assert key not in self.state
            return
        change = self.storage.commit("things", key, expected, None)

        assert change is not None
        self.state = {name: value for name, value in self.state.items() if name != key}
        self.past.append((change.version, self.state))

    @rule()
    def write_elsewhere(self) -> None:
        key = str(self.storage.version)
        assert self.storage.commit("others", key, None, Draft.of({"metadata": {"name": key}}))

    @rule(back=st.integers(0, 2 * KEPT), prefix=PREFIXES)
    def read_the_past(self, back: int, prefix: str) -> None:
        version, state = self.past[max(-1 - back, -len(self.past))]
        kept = len(self.past) - 1 <= KEPT or back <= KEPT
        try:
            snapshot = self.storage.read("things", prefix, version)
        except Compacted:
            assert not kept
            return

        assert kept
        assert values_of(snapshot.items) == sorted((k, v) for k, v in state.items() if k.startswith(prefix))

    @rule(target=readers)
    def follow(self) -> Reader:
        version = self.storage.version
        return Reader(self.storage.follow("things", version, lambda: None), self.state, version)

    @rule(reader=readers, limit=st.integers(1, 5))
    def take(self, reader: Reader, limit: int) -> None:
        try:
            batch = reader.cursor.take(limit)
        except Compacted:
            assert sum(written > reader.version for written, _ in self.past) > KEPT
            return

        assert batch is not None
        for change in batch.changes:
            assert change.version > reader.version
            reader.version = change.version
            if change.new is None:
                del reader.state[change.key]
            else:
                reader.state[change.key] = change.new.decode()["n"]
        if batch.version is not None:
            assert reader.state == self.state

    @invariant()
    def present_is_the_model(self) -> None:
        assert values_of(self.storage.read("things").items) == sorted(self.state.items())
        for key, value in self.state.items():
            stored = self.storage.get("things", key)
            assert stored is not None
            assert stored.decode()["n"] == value


TestStorageAndModel = StorageAndModel.TestCase
