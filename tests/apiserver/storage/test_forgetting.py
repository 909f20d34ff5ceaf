# SPDX-License-Identifier: Apache-2.0
"""A storage that forgets its changes: versions from before are too old, and readers too if they are to be."""

from __future__ import annotations

import pytest

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.storage.history import Compacted
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.storage.stored import Draft


@pytest.fixture
def storage(sim: Simulation) -> Storage:
    return Storage(sim.host("server"))


def write(storage: Storage, collection: str, key: str) -> None:
    assert storage.commit(collection, key, None, Draft.of({"metadata": {"name": key, "uid": "u"}})) is not None


def test_what_was_seen_before_is_too_old_and_what_is_seen_now_is_not(storage: Storage) -> None:
    write(storage, "things", "a")
    before = storage.read("things").version

    storage.forget()

    for collection in ("things", "unused"):
        with pytest.raises(Compacted):
            storage.follow(collection, before, lambda: None)
        with pytest.raises(Compacted):
            storage.read(collection, at=before)
        storage.follow(collection, storage.read(collection).version, lambda: None)
    assert [item.key for item in storage.read("things").items] == ["a"]


def test_a_reader_that_has_read_all_goes_on_unless_watches_are_to_end(storage: Storage) -> None:
    told: list[str] = []
    cursor = storage.follow("things", storage.version, lambda: told.append("ready"))
    assert cursor.take(10) is not None

    storage.forget(["things"])
    assert told == []
    write(storage, "things", "a")
    batch = cursor.take(10)
    assert batch is not None
    assert [change.key for change in batch.changes] == ["a"]
    told.clear()

    storage.forget(["things"], ends_watches=True)

    assert told == ["ready"]
    with pytest.raises(Compacted):
        cursor.take(10)


def test_another_collection_forgets_nothing(storage: Storage) -> None:
    write(storage, "others", "a")
    before = storage.version
    cursor = storage.follow("others", before, lambda: None)

    storage.forget(["things"], ends_watches=True)

    assert cursor.take(10) is not None
    storage.follow("others", before, lambda: None)
