# SPDX-License-Identifier: Apache-2.0
"""The storage: versions, optimistic commits, the history, cursors."""

from __future__ import annotations

from typing import Any

import pytest

from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.storage.history import Compacted, History
from embedded_apiserver.storage.storage import Cursor, Ended, Storage
from embedded_apiserver.storage.stored import Change, Draft, Stored


def thing(name: str, **spec: Any) -> Draft:
    return Draft.of({"metadata": {"name": name, "uid": "u"}, "spec": spec})


def write(storage: Storage, key: str, **spec: Any) -> Change:
    change = storage.commit("things", key, storage.get("things", key), thing(key.rpartition("/")[2], **spec))
    assert change is not None
    return change


def remove(storage: Storage, key: str) -> Change:
    change = storage.commit("things", key, storage.get("things", key), None)
    assert change is not None
    return change


def taken(cursor: Cursor) -> list[int]:
    batch = cursor.take(100)
    assert batch is not None
    return [change.version for change in batch.changes]


@pytest.fixture
def storage(sim: Simulation) -> Storage:
    return Storage(sim.host("server"), History(changes=5, age=60.0))


@pytest.mark.scenario("H-04")
def test_every_write_of_any_collection_takes_the_next_version(storage: Storage) -> None:
    """All kinds share one counter, so versions can be compared across collections."""
    first = write(storage, "a")

    other = storage.commit("others", "a", None, thing("a"))

    assert other is not None
    assert (other.version, storage.version) == (first.version + 1, first.version + 1)


def test_version_stands_in_the_bytes_after_the_uid(storage: Storage) -> None:
    change = write(storage, "a", n=1)

    assert change.new is not None
    expected = f'{{"metadata":{{"name":"a","uid":"u","resourceVersion":"{change.version}"}},"spec":{{"n":1}}}}'
    assert change.new.raw.decode() == expected


def test_labels_that_imitate_a_version_are_left_alone(storage: Storage) -> None:
    draft = Draft.of({"metadata": {"labels": {"resourceVersion": "5"}, "name": "a", "resourceVersion": "7"}})

    stored = Stored("a", 5, draft.at(5))

    assert stored.decode()["metadata"] == {"name": "a", "resourceVersion": "5", "labels": {"resourceVersion": "5"}}
    assert b'"resourceVersion":"6","labels":{"resourceVersion":"5"}' in stored.raw_at(6)


def test_object_that_is_never_written_has_no_version() -> None:
    assert thing("a").unversioned() == b'{"metadata":{"name":"a","uid":"u"},"spec":{}}'


def test_commit_is_refused_once_somebody_else_wrote(storage: Storage) -> None:
    read = write(storage, "a", n=1).new
    write(storage, "a", n=2)
    before = storage.version

    assert storage.commit("things", "a", read, thing("a", n=3)) is None
    assert storage.commit("things", "a", read, None) is None
    assert storage.commit("things", "a", None, thing("a", n=3)) is None
    assert storage.version == before


def test_objects_are_read_in_key_order_and_by_prefix(storage: Storage) -> None:
    for key in ("b/2", "a/1", "b/10", "b-c/1", "c/1"):
        write(storage, key)

    assert [item.key for item in storage.read("things").items] == ["a/1", "b-c/1", "b/10", "b/2", "c/1"]
    assert [item.key for item in storage.read("things", "b/").items] == ["b/10", "b/2"]
    assert [item.key for item in storage.read("things", "b/1").items] == ["b/10"]


def test_past_state_is_the_one_that_was_read_then(storage: Storage) -> None:
    write(storage, "a/1", n=1)
    write(storage, "a/2", n=1)
    then = storage.read("things", "a/")
    write(storage, "a/1", n=2)
    remove(storage, "a/2")
    write(storage, "a/3")

    past = storage.read("things", "a/", then.version)

    assert past == then
    assert [item.key for item in storage.read("things", "a/").items] == ["a/1", "a/3"]


def test_deletion_tells_the_last_state_with_its_own_version(storage: Storage) -> None:
    write(storage, "a", n=1)

    change = remove(storage, "a")

    line = change.line(b'{"type":"DELETED","object":{', gone=True)
    metadata = f'"metadata":{{"name":"a","uid":"u","resourceVersion":"{change.version}"}}'
    assert line == f'{{"type":"DELETED","object":{{{metadata},"spec":{{"n":1}}}}}}\n'.encode()


def test_line_is_built_once_for_all_watchers(storage: Storage) -> None:
    change = write(storage, "a")

    assert change.line(b'{"type":"ADDED",', gone=False) is change.line(b'{"type":"ADDED",', gone=False)


def test_cursor_gives_the_changes_after_its_version_in_order(storage: Storage) -> None:
    first = write(storage, "a")
    cursor = storage.follow("things", first.version, lambda: None)
    later = [write(storage, "a", n=1), write(storage, "b"), remove(storage, "a")]

    assert taken(cursor) == [change.version for change in later]
    assert taken(cursor) == []


def test_cursor_takes_no_more_than_asked_and_says_when_nothing_is_missing(storage: Storage) -> None:
    cursor = storage.follow("things", storage.version, lambda: None)
    versions = [write(storage, key).version for key in "abc"]

    batches = [cursor.take(2), cursor.take(2)]

    assert [batch and [change.version for change in batch.changes] for batch in batches] == [versions[:2], versions[2:]]
    assert [batch and batch.version for batch in batches] == [None, storage.version]


def test_reader_is_told_once_until_it_has_taken_everything(storage: Storage) -> None:
    told: list[str] = []
    cursor = storage.follow("things", storage.version, lambda: told.append("ready"))
    cursor.take(10)

    write(storage, "a")
    write(storage, "b")
    assert told == ["ready"]

    cursor.take(10)
    write(storage, "c")
    assert told == ["ready", "ready"]


def test_reader_of_another_collection_is_left_alone(storage: Storage) -> None:
    told: list[str] = []
    storage.follow("others", storage.version, lambda: told.append("ready")).take(10)

    write(storage, "a")

    assert told == []


def test_closed_cursor_is_told_nothing(storage: Storage) -> None:
    told: list[str] = []
    cursor = storage.follow("things", storage.version, lambda: told.append("ready"))
    cursor.take(10)

    cursor.close()
    cursor.close()
    cursor.take(10)
    write(storage, "a")

    assert told == []


def test_cursor_of_the_future_waits_for_its_version(storage: Storage) -> None:
    cursor = storage.follow("things", storage.version + 2, lambda: None)

    versions = [write(storage, key).version for key in "abc"]

    assert taken(cursor) == versions[2:]


def test_history_forgets_what_is_too_much(storage: Storage) -> None:
    before = storage.version
    cursor = storage.follow("things", before, lambda: None)
    versions = [write(storage, "a", n=n).version for n in range(6)]

    with pytest.raises(Compacted) as late:
        cursor.take(10)
    with pytest.raises(Compacted):
        storage.read("things", at=before)

    assert late.value.oldest == versions[0]
    assert taken(storage.follow("things", versions[0], lambda: None)) == versions[1:]


def test_history_forgets_what_is_too_old(sim: Simulation, storage: Storage) -> None:
    first = write(storage, "a")
    sim.advance(61)
    second = write(storage, "a", n=1)

    with pytest.raises(Compacted):
        storage.follow("things", first.version - 1, lambda: None)

    assert taken(storage.follow("things", first.version, lambda: None)) == [second.version]


def test_a_collection_ends_once_it_is_empty_and_its_readers_have_taken_the_rest(storage: Storage) -> None:
    told: list[str] = []
    write(storage, "a")
    cursor = storage.follow("things", storage.version, lambda: told.append("ready"))
    taken(cursor)

    refused = storage.end("things")
    last = remove(storage, "a")
    ended = storage.end("things")

    assert (refused, ended, told) == (False, True, ["ready"])
    batch = cursor.take(100)
    assert batch is not None
    assert ([change.version for change in batch.changes], batch.version) == ([last.version], None)
    assert cursor.take(100) is None


def test_a_waiting_reader_is_told_of_the_end(storage: Storage) -> None:
    told: list[str] = []
    last = remove(storage, write(storage, "a").key)
    waiting = storage.follow("things", last.version, lambda: told.append("ready"))
    taken(waiting)

    storage.end("things")

    assert told == ["ready"]
    assert waiting.take(100) is None


def test_closing_ends_every_cursor(storage: Storage) -> None:
    told: list[str] = []
    cursor = storage.follow("things", storage.version, lambda: told.append("ready"))
    cursor.take(10)

    storage.close()
    storage.close()

    assert told == ["ready"]
    assert cursor.take(10) is None


@pytest.mark.parametrize("seed", range(20))
def test_concurrent_writers_each_win_one_round(seed: int) -> None:
    with Simulation(seed=seed) as sim:
        host = sim.host("server")
        storage = Storage(host)
        write(storage, "a", n=0)

        def count_up() -> None:
            for _ in range(5):
                while True:
                    current = storage.get("things", "a")
                    assert current is not None
                    if storage.commit("things", "a", current, thing("a", n=current.decode()["spec"]["n"] + 1)):
                        break

        for number in range(4):
            host.spawn(f"writer-{number}", count_up)
        sim.settle()

        final = storage.get("things", "a")
        assert final is not None
        assert final.decode()["spec"]["n"] == 20


def test_who_comes_to_a_collection_after_its_end_finds_and_leaves_nothing(storage: Storage) -> None:
    write(storage, "a")
    remove(storage, "a")

    assert storage.end("things")
    late = storage.follow("things", storage.version, lambda: None)

    assert late.take(10) is None
    with pytest.raises(Ended):
        storage.commit("things", "b", None, thing("b"))
    assert storage.read("things").items == []


def test_a_collection_begins_anew_without_a_past(storage: Storage) -> None:
    before = write(storage, "a").version
    remove(storage, "a")
    storage.end("things")

    storage.begin("things")
    begun = storage.version
    write(storage, "b")
    storage.begin("things")

    assert [item.key for item in storage.read("things").items] == ["b"]
    with pytest.raises(Compacted):
        storage.follow("things", before, lambda: None)
    assert len(taken(storage.follow("things", begun, lambda: None))) == 1
