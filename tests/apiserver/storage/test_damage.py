# SPDX-License-Identifier: Apache-2.0
"""Damage to a data directory: the start is refused with the reason, and no file changes until the loss is accepted."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from kit.apiserver.journals import COUNT, DATABASE, LOG, WITNESS, content_of, raw_of, rows_of, rows_of_copy

from apimachinery.errors import UsageError
from apimachinery.log import text_of
from embedded_apiserver.storage.journal import SQLiteJournal

Damage = Callable[[Path], None]


def flip(name: str, share: float) -> Damage:
    """Change the byte at this share (0..1) of the file's length."""

    def do(directory: Path) -> None:
        content = bytearray((directory / name).read_bytes())
        content[int(len(content) * share)] ^= 0x10
        (directory / name).write_bytes(content)

    return do


def cut(name: str, share: float) -> Damage:
    """Keep only this share (0..1) of a file, from its beginning."""

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
    """Change the database without its triggers, so that the summary is not updated: as damage to a page does."""

    def do(directory: Path) -> None:
        with contextlib.closing(sqlite3.connect(directory / DATABASE, isolation_level=None)) as database:
            triggers = database.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
            for name, _ in triggers:
                database.execute(f"DROP TRIGGER {name}")
            database.execute(statement)
            with contextlib.suppress(sqlite3.OperationalError):  # the statement may have dropped the table
                for _, sql in triggers:
                    database.execute(sql)

    return do


def change_row(directory: Path) -> None:
    """Change one byte of an object, in the file itself."""
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
    """Damage a directory; check the refusal, which changes no file, and the start with accepted loss."""
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
        SQLiteJournal(killed).close()  # merges the log into the database, so that all is there
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

    assert told or name == WITNESS  # the witness has two lines, and one of them suffices
