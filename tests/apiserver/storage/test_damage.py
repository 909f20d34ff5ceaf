# SPDX-License-Identifier: Apache-2.0
"""Damage to a data directory is told at the start with what is lost, and changes nothing until it is accepted."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from controller_runtime.apiserver.status import StatusError
from controller_runtime.apiserver.storage.journal import SQLiteJournal
from controller_runtime.apiserver.storage.witness import Mark, Witness
from controller_runtime.core.errors import UsageError
from controller_runtime.core.log import text_of

DATABASE, LOG, WITNESS = "objects.sqlite", "objects.sqlite-wal", "acknowledged"
COUNT = 150  # so few that all of it fits into the log
FIRST = 5_000

# The tables as the first version of the server made them.
OLD_SCHEMA = """
CREATE TABLE objects (
    collection TEXT NOT NULL, key TEXT NOT NULL, version INTEGER NOT NULL, raw BLOB NOT NULL,
    PRIMARY KEY (collection, key)
);
CREATE TABLE reserved (one INTEGER PRIMARY KEY CHECK (one = 1), version INTEGER NOT NULL);
"""

Damage = Callable[[Path], None]
Rows = dict[str, tuple[int, bytes]]


def raw_of(number: int) -> bytes:
    return b'{"metadata":{"name":"t%d"},"data":"%b"}' % (number, b"x" * (number * 37 % 900))


def write_all(journal: SQLiteJournal) -> None:
    """Create objects, change every third and delete every seventh of them."""
    version = FIRST
    for number in range(COUNT):
        journal.write("things", f"t{number}", version := version + 1, raw_of(number))
        if number % 3 == 0:
            journal.write("things", f"t{number}", version := version + 1, raw_of(number + 1))
        if number % 7 == 0:
            journal.write("things", f"t{number}", version := version + 1, None)


def rows_of(directory: Path, *, accept_loss: bool = False) -> Rows:
    journal = SQLiteJournal(directory, accept_loss=accept_loss)
    rows = {item.key: (item.version, item.raw) for _, item in journal.load()[1]}
    journal.close()
    return rows


def content_of(directory: Path) -> dict[str, bytes]:
    """The content of all files but empty ones: those say nothing that missing ones do not."""
    files = {path.name: path.read_bytes() for path in directory.iterdir() if path.is_file()}
    return {name: content for name, content in files.items() if content}


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """A directory as `kill -9` leaves it: most of what was written stands in the log alone."""
    journal = SQLiteJournal(tmp_path / "running")
    write_all(journal)
    shutil.copytree(tmp_path / "running", tmp_path / "killed")
    journal.close()
    return tmp_path / "killed"


@pytest.fixture
def stopped(tmp_path: Path) -> Path:
    """A directory as a server that was stopped leaves it: without a log."""
    journal = SQLiteJournal(tmp_path / "stopped")
    write_all(journal)
    journal.close()
    return tmp_path / "stopped"


def flip(name: str, share: float) -> Damage:
    """Change the byte at a share of the file's length."""

    def do(directory: Path) -> None:
        content = bytearray((directory / name).read_bytes())
        content[int(len(content) * share)] ^= 0x10
        (directory / name).write_bytes(content)

    return do


def cut(name: str, share: float) -> Damage:
    """Leave the beginning of a file."""

    def do(directory: Path) -> None:
        os.truncate(directory / name, int((directory / name).stat().st_size * share))

    return do


def remove(*names: str) -> Damage:
    def do(directory: Path) -> None:
        for name in names:
            (directory / name).unlink()

    return do


def put(name: str, content: bytes) -> Damage:
    return lambda directory: (directory / name).write_bytes(content) and None


def change(statement: str) -> Damage:
    """Change the database behind the server's back, with its triggers asleep, as damage to a page does."""

    def do(directory: Path) -> None:
        with contextlib.closing(sqlite3.connect(directory / DATABASE, isolation_level=None)) as database:
            triggers = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
            for name, _ in triggers:
                database.execute(f"DROP TRIGGER {name}")
            database.execute(statement)
            with contextlib.suppress(sqlite3.OperationalError):  # their table may be gone
                for _, sql in triggers:
                    database.execute(sql)

    return do


def change_row(directory: Path) -> None:
    """Change a byte within an object's bytes, in the file itself."""
    content = (directory / DATABASE).read_bytes()
    assert content.count(b'"name":"t2"') == 1
    (directory / DATABASE).write_bytes(content.replace(b'"name":"t2"', b'"name":"t\xb2"'))


TO_KILLED = [
    pytest.param(flip(LOG, 0.0), "of 222 acknowledged writes are missing", id="log's header flipped"),
    pytest.param(flip(LOG, 0.5), "of 222 acknowledged writes are missing", id="log's middle flipped"),
    pytest.param(cut(LOG, 0.8), "of 222 acknowledged writes are missing", id="log's tail cut"),
    pytest.param(cut(LOG, 0.9999), "the last 1 of 222 acknowledged writes are missing", id="log's last byte cut"),
    pytest.param(cut(LOG, 0.0), "the last 222 of 222 acknowledged writes are missing", id="log emptied"),
    pytest.param(remove(LOG), "the last 222 of 222 acknowledged writes are missing", id="log removed"),
    pytest.param(cut(DATABASE, 0.0), "missing or empty, though its log is there", id="database emptied"),
    pytest.param(remove(DATABASE), "missing or empty, though its log is there", id="database removed"),
    pytest.param(remove(DATABASE, LOG), "222 writes were acknowledged", id="database and log removed"),
    pytest.param(remove(WITNESS), "the witness file is missing or empty", id="witness removed"),
]
TO_STOPPED = [
    pytest.param(cut(DATABASE, 0.0), "222 writes were acknowledged", id="database emptied"),
    pytest.param(cut(DATABASE, 0.5), "objects.sqlite cannot be read", id="database cut"),
    pytest.param(flip(DATABASE, 0.0), "file is not a database", id="header flipped"),
    pytest.param(put(DATABASE, b"something else" * 500), "file is not a database", id="database replaced"),
    pytest.param(change_row, "the content of things t2 has changed", id="byte in a row flipped"),
    pytest.param(
        change("UPDATE objects SET raw = CAST(raw AS TEXT) WHERE key = 't2'"),
        "the content of things t2 has changed",
        id="text in place of a blob",
    ),
    pytest.param(change("UPDATE objects SET raw = 7"), "and 125 more has changed", id="numbers in place of blobs"),
    pytest.param(change("UPDATE objects SET version = 1 WHERE key = 't2'"), "things t2 has changed", id="version"),
    pytest.param(change("UPDATE objects SET key = CAST(x'ff' AS TEXT) WHERE key = 't2'"), "has changed", id="key"),
    pytest.param(
        change("DELETE FROM objects WHERE key = 't2'"),
        "127 objects are in objects.sqlite where there were 128",
        id="row gone",
    ),
    pytest.param(change("DROP TABLE objects"), "no such table: objects", id="table gone"),
    pytest.param(change("DROP TABLE summary"), "no such table: summary", id="summary's table gone"),
    pytest.param(change("DELETE FROM summary"), "has no summary", id="summary gone"),
    pytest.param(change("UPDATE summary SET writes = 'x'"), "cannot be read", id="summary of another type"),
    pytest.param(change("UPDATE summary SET total = total + 1"), "other objects than were written last", id="total"),
    pytest.param(put(WITNESS, b""), "the witness file is missing or empty", id="witness emptied"),
    pytest.param(put(WITNESS, b"{}"), "acknowledged cannot be read", id="witness of another kind"),
    pytest.param(put(WITNESS, b"\xff" * 102), "acknowledged cannot be read", id="witness without text"),
    pytest.param(cut(WITNESS, 0.25), "acknowledged cannot be read", id="witness cut"),
]


def refused_then_accepted(directory: Path, damage: Damage, told: str, caplog: pytest.LogCaptureFixture) -> None:
    whole = {f"t{number}": raw_of(number) for number in range(COUNT)}
    damage(directory)
    before = content_of(directory)

    for _ in range(2):
        with pytest.raises(UsageError, match="is damaged") as refused:
            SQLiteJournal(directory)
        assert told in str(refused.value)
        assert "restore a backup" in str(refused.value)
        assert "--accept-loss" in str(refused.value)
        assert "\n" not in str(refused.value)
        assert content_of(directory) == before

    rows = rows_of(directory, accept_loss=True)

    assert all(raw in (whole[key], raw_of(int(key[1:]) + 1)) for key, (_, raw) in rows.items())
    assert content_of(directory / "damaged-1") == before
    assert [text_of(record) for record in caplog.records if "damage" in text_of(record)] == ["damage accepted"]
    assert rows_of(directory) == rows


@pytest.mark.parametrize(("damage", "told"), TO_KILLED)
def test_damage_after_a_kill_is_told_and_no_file_is_changed_until_it_is_accepted(
    killed: Path, damage: Damage, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    refused_then_accepted(killed, damage, told, caplog)


@pytest.mark.parametrize(("damage", "told"), TO_STOPPED)
def test_damage_after_a_stop_is_told_and_no_file_is_changed_until_it_is_accepted(
    stopped: Path, damage: Damage, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    refused_then_accepted(stopped, damage, told, caplog)


def test_what_can_be_read_of_a_damaged_directory_is_all_but_the_damage(stopped: Path) -> None:
    before = rows_of(stopped)
    change_row(stopped)

    after = rows_of(stopped, accept_loss=True)

    assert before.keys() - after.keys() == {"t2"}
    assert after.items() <= before.items()


def test_versions_go_on_from_what_was_acknowledged_though_the_objects_are_lost(stopped: Path) -> None:
    last = max(version for version, _ in rows_of(stopped).values())
    (stopped / DATABASE).unlink()

    journal = SQLiteJournal(stopped, accept_loss=True)

    assert journal.load()[0] >= last
    journal.close()


@pytest.mark.parametrize("name", [DATABASE, LOG, WITNESS])
def test_a_byte_changed_anywhere_is_told_or_without_consequence(killed: Path, tmp_path: Path, name: str) -> None:
    if name == DATABASE:
        SQLiteJournal(killed).close()  # so that all of it stands there
    whole, size = rows_of_copy(killed, tmp_path / "whole"), (killed / name).stat().st_size
    chance, told = random.Random(7), 0

    for turn in range(80):
        copy = tmp_path / f"turn-{turn}"
        shutil.copytree(killed, copy)
        content = bytearray((copy / name).read_bytes())
        content[chance.randrange(size)] ^= 1 << chance.randrange(8)
        (copy / name).write_bytes(content)
        before = content_of(copy)
        try:
            assert rows_of(copy) == whole
        except UsageError:
            told += 1
            assert content_of(copy) == before
        shutil.rmtree(copy)

    assert told or name == WITNESS  # which has two lines, and one of them suffices


def rows_of_copy(directory: Path, copy: Path) -> Rows:
    shutil.copytree(directory, copy)
    return rows_of(copy)


def test_each_moment_of_a_kill_is_without_complaint(tmp_path: Path) -> None:
    journal = SQLiteJournal(tmp_path / "data")
    kept: Rows = {}
    for number in range(12):
        raw = None if number % 4 == 3 else raw_of(number)
        key = f"t{number - number % 4 // 3}"
        witness = (tmp_path / "data" / WITNESS).read_bytes()
        journal.write("things", key, FIRST + number, raw)
        if raw is None:
            del kept[key]
        else:
            kept[key] = (FIRST + number, raw)
        # Killed after the transaction and before the witness heard of it, and then after that.
        for name, heard in (("before", witness), ("after", None)):
            shutil.copytree(tmp_path / "data", tmp_path / name)
            if heard is not None:
                (tmp_path / name / WITNESS).write_bytes(heard)
            assert rows_of(tmp_path / name) == kept
            assert rows_of(tmp_path / name) == kept
            shutil.rmtree(tmp_path / name)
    journal.close()


@pytest.mark.parametrize(
    "left",
    [
        pytest.param({WITNESS: b""}, id="before the first file was built"),
        pytest.param({WITNESS: b"", f"{DATABASE}.new": b"half", f"{DATABASE}.new-journal": b"half"}, id="while it was"),
        pytest.param({DATABASE: b"", f"{DATABASE}-journal": b""}, id="by the first version of the server"),
    ],
)
def test_a_kill_in_the_first_start_is_no_damage(tmp_path: Path, left: dict[str, bytes]) -> None:
    for name, content in left.items():
        (tmp_path / name).write_bytes(content)

    journal = SQLiteJournal(tmp_path)
    journal.write("things", "a", 1, raw_of(1))
    journal.close()

    assert rows_of(tmp_path) == {"a": (1, raw_of(1))}
    assert {path.name for path in tmp_path.iterdir()} == {DATABASE, WITNESS}


def test_a_kill_in_the_first_start_after_the_database_was_built_is_no_damage(tmp_path: Path) -> None:
    SQLiteJournal(tmp_path).close()
    (tmp_path / WITNESS).write_bytes(b"")

    assert rows_of(tmp_path) == {}


def test_a_kill_while_the_files_were_inspected_leaves_them_whole(killed: Path) -> None:
    whole = rows_of_copy(killed, killed.parent / "whole")
    for name in (DATABASE, LOG):
        os.link(killed / name, killed / name.replace(DATABASE, f"{DATABASE}.read"))

    assert rows_of(killed) == whole
    assert {path.name for path in killed.iterdir()} == {DATABASE, WITNESS}


def test_a_mark_that_was_written_in_part_leaves_the_one_before_it(tmp_path: Path) -> None:
    witness = Witness(tmp_path)
    witness.begin(Mark(0, 0))
    for writes in range(1, 6):
        before = (tmp_path / WITNESS).read_bytes()
        witness.note(Mark(writes, 100 + writes))
        after = (tmp_path / WITNESS).read_bytes()
        changed = [place for place in range(len(after)) if before[place] != after[place]]

        for written in changed:
            (tmp_path / WITNESS).write_bytes(after[: written + 1] + before[written + 1 :])
            assert witness.read() in (Mark(writes - 1, 99 + writes if writes > 1 else 0), Mark(writes, 100 + writes))
        (tmp_path / WITNESS).write_bytes(after)
    witness.close()


def test_a_log_that_ends_in_half_a_transaction_is_no_damage(killed: Path) -> None:
    whole = rows_of_copy(killed, killed.parent / "whole")
    content = (killed / LOG).read_bytes()
    (killed / LOG).write_bytes(content + content[32 : 32 + 4000])  # as a kill within a write leaves it

    assert rows_of(killed) == whole


def test_a_directory_of_the_first_format_is_taken_over(tmp_path: Path) -> None:
    old, left = tmp_path / "old", tmp_path / "left"
    old.mkdir()
    with contextlib.closing(sqlite3.connect(old / DATABASE, isolation_level=None)) as database:
        database.executescript(f"PRAGMA journal_mode = WAL; {OLD_SCHEMA} PRAGMA user_version = 1;")
        for number in range(COUNT):
            database.execute("INSERT INTO objects VALUES ('things', ?, ?, ?)", (f"t{number}", number, raw_of(number)))
        database.execute("INSERT INTO reserved VALUES (1, 90000)")
        shutil.copytree(old, left)
    expected = {f"t{number}": (number, raw_of(number)) for number in range(COUNT)}

    for directory in (old, left):  # stopped and killed
        journal = SQLiteJournal(directory)
        used, rows = journal.load()
        journal.write("things", "new", used + 1, raw_of(1))
        journal.close()
        assert used == 90_000
        assert {item.key: (item.version, item.raw) for _, item in rows} == expected
        assert rows_of(directory) == {**expected, "new": (used + 1, raw_of(1))}


@pytest.mark.parametrize("raw", ["text", 7, b"no JSON", b"{}", b'{"metadata":{"name":7}}', b'["metadata"]'])
def test_a_row_of_the_first_format_that_is_no_object_is_told(tmp_path: Path, raw: object) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / DATABASE, isolation_level=None)) as database:
        database.executescript(f"PRAGMA journal_mode = WAL; {OLD_SCHEMA} PRAGMA user_version = 1;")
        database.execute("INSERT INTO objects VALUES ('things', 'bad', 1, ?)", (raw,))
        database.execute("INSERT INTO objects VALUES ('things', 'good', 2, ?)", (raw_of(1),))

    with pytest.raises(UsageError, match="the content of things bad has changed"):
        SQLiteJournal(tmp_path)

    assert rows_of(tmp_path, accept_loss=True) == {"good": (2, raw_of(1))}


def test_a_log_whose_database_is_in_the_first_format_again_is_told(killed: Path) -> None:
    with contextlib.closing(sqlite3.connect(killed / "other", isolation_level=None)) as database:
        database.executescript(f"{OLD_SCHEMA} PRAGMA user_version = 1;")
    (killed / LOG).unlink()
    (killed / "other").rename(killed / DATABASE)

    with pytest.raises(UsageError, match="222 writes were acknowledged"):
        SQLiteJournal(killed)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no disk that is always full")
def test_nothing_more_is_acknowledged_while_the_witness_cannot_be_written(tmp_path: Path) -> None:
    journal = SQLiteJournal(tmp_path)
    journal.write("things", "a", 1, raw_of(1))
    mine = journal._witness._descriptor
    kept, full = os.dup(mine), os.open("/dev/full", os.O_RDWR)
    os.dup2(full, mine)

    journal.write("things", "b", 2, raw_of(2))  # was complete before the witness should hear of it
    with pytest.raises(StatusError, match="No space left"):
        journal.write("things", "c", 3, raw_of(3))
    os.dup2(kept, mine)
    journal.write("things", "d", 3, raw_of(4))
    journal.close()
    os.close(kept)
    os.close(full)

    assert rows_of(tmp_path).keys() == {"a", "b", "d"}


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o777])
def test_directory_and_files_are_for_their_owner_alone_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        journal = SQLiteJournal(tmp_path / "data")
        journal.write("things", "a", 1, raw_of(1))
    finally:
        os.umask(before)

    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "data").iterdir()}
    journal.close()
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
    assert modes == dict.fromkeys((DATABASE, LOG, WITNESS), 0o600)


def test_a_directory_that_others_may_read_is_told_in_one_line_with_the_remedy(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data = tmp_path / "data of mine"
    SQLiteJournal(data).close()
    assert not caplog.records
    data.chmod(0o755)
    (data / DATABASE).chmod(0o644)

    SQLiteJournal(data).close()

    told = f"other users may read what the server keeps: run chmod go= '{data}' '{data / DATABASE}'"
    assert [text_of(record) for record in caplog.records] == [told]
