# SPDX-License-Identifier: Apache-2.0
"""The journal: acknowledged writes are there after a restart, and versions never go back."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from apimachinery.errors import UsageError
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.status import StatusError
from embedded_apiserver.storage.journal import SQLiteJournal
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.storage.stored import Draft

# Writes and deletes until it is killed; prints a line after each write.
WRITER = """
import sys
from pathlib import Path
from embedded_apiserver.storage.journal import SQLiteJournal
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.storage.stored import Draft
from apimachinery.system import SystemHost

storage = Storage(SystemHost("writer"), journal=SQLiteJournal(Path(sys.argv[1])))
number = 0
while True:
    change = storage.commit("things", f"t{number}", None, Draft.of({"metadata": {"name": f"t{number}"}}))
    print("put", number, change.version, flush=True)
    if number % 3 == 0:
        gone = storage.commit("things", f"t{number}", change.new, None)
        print("delete", number, gone.version, flush=True)
    number += 1
"""


def thing(name: str, **spec: int) -> Draft:
    return Draft.of({"metadata": {"name": name}, "spec": spec})


def contents(storage: Storage) -> dict[str, bytes]:
    return {item.key: item.raw for item in storage.read("things").items}


def fill(storage: Storage) -> None:
    for number in range(1000):
        storage.commit("things", f"t{number}", None, thing("x" * 10_000))


@pytest.mark.scenario("H-62")
def test_restarted_storage_has_the_same_objects_and_larger_versions(sim: Simulation, tmp_path: Path) -> None:
    """A restart keeps all writes and never hands out a version twice."""
    host = sim.host("server")
    first = Storage(host, journal=SQLiteJournal(tmp_path))
    kept = first.commit("things", "a", None, thing("a", n=1))
    gone = first.commit("things", "b", None, thing("b"))
    assert kept is not None
    assert gone is not None
    first.commit("things", "b", gone.new, None)
    last, before = first.version, contents(first)
    first.close()
    sim.jump(host, -3600)

    second = Storage(host, journal=SQLiteJournal(tmp_path))
    change = second.commit("things", "c", None, thing("c"))
    second.close()

    assert change is not None
    assert change.version > last
    assert {**before, "c": contents(second)["c"]} == contents(second)


def test_versions_are_reserved_beyond_the_first_block(sim: Simulation, tmp_path: Path) -> None:
    host = sim.host("server")
    journal = SQLiteJournal(tmp_path)
    storage = Storage(host, journal=journal)
    first = storage.version

    journal.write("things", "a", first + 20_001, b"{}")
    storage.close()
    sim.jump(host, -3600)

    again = Storage(host, journal=SQLiteJournal(tmp_path))
    assert again.version >= first + 20_001
    again.close()


def test_second_server_on_one_directory_is_refused(sim: Simulation, tmp_path: Path) -> None:
    storage = Storage(sim.host("server"), journal=SQLiteJournal(tmp_path))

    with pytest.raises(UsageError, match="is in use by another server"):
        SQLiteJournal(tmp_path)

    storage.close()


def test_damaged_file_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "objects.sqlite").write_bytes(b"not a database" * 1000)

    with pytest.raises(UsageError, match=r"data directory .* is damaged: .*file is not a database") as refused:
        SQLiteJournal(tmp_path)

    assert "\n" not in str(refused.value)


def test_file_damaged_in_its_middle_is_refused(sim: Simulation, tmp_path: Path) -> None:
    storage = Storage(sim.host("server"), journal=SQLiteJournal(tmp_path))
    for number in range(200):
        storage.commit("things", f"t{number}", None, thing(f"t{number}"))
    storage.close()
    path = tmp_path / "objects.sqlite"
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 8192) + content[-4096:])

    with pytest.raises(UsageError, match="is damaged"):
        Storage(sim.host("other"), journal=SQLiteJournal(tmp_path))


def test_directory_that_is_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("")

    with pytest.raises(UsageError, match="cannot be used"):
        SQLiteJournal(path)


def test_full_disk_refuses_the_write_and_loses_nothing(sim: Simulation, tmp_path: Path) -> None:
    journal = SQLiteJournal(tmp_path)
    storage = Storage(sim.host("server"), journal=journal)
    storage.commit("things", "kept", None, thing("kept"))
    journal._database.execute(
        "PRAGMA max_page_count = 1"
    )  # SQLite raises it to the present number of pages: from now on, the database is full

    with pytest.raises(StatusError, match=r"data directory .*: database or disk is full") as refused:
        fill(storage)
    before = contents(storage)
    storage.close()

    again = Storage(sim.host("server again"), journal=SQLiteJournal(tmp_path))
    assert refused.value.code == 500
    assert contents(again) == before
    assert "kept" in before
    again.close()


def test_killed_process_leaves_everything_it_acknowledged(sim: Simulation, tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as writer:
        assert writer.stdout is not None
        lines = [writer.stdout.readline() for _ in range(500)]
        writer.send_signal(signal.SIGKILL)
        lines += [line for line in writer.stdout if line.endswith("\n")]
    said = [line.split() for line in lines]
    put = {f"t{number}" for verb, number, _ in said if verb == "put"}
    deleted = {f"t{number}" for verb, number, _ in said if verb == "delete"}

    storage = Storage(sim.host("server"), journal=SQLiteJournal(tmp_path))
    found = set(contents(storage))
    storage.close()

    # The last write may not have been printed any more; it may have been the deletion of the object put last.
    last = {f"t{said[-1][1]}"} if said[-1][0] == "put" else set()
    assert put - deleted - found <= last
    assert not deleted & found
    assert storage.version >= max(int(version) for _, _, version in said)


def test_a_file_of_another_format_is_refused(tmp_path: Path) -> None:
    SQLiteJournal(tmp_path).close()
    with contextlib.closing(sqlite3.connect(tmp_path / "objects.sqlite")) as database:
        database.execute("PRAGMA user_version = 7")

    for _ in range(2):  # the second time shows that the first refusal closed the file
        with pytest.raises(UsageError, match="cannot be used: its format is 7, not 2"):
            SQLiteJournal(tmp_path)


def test_what_a_killed_process_left_is_read_without_writing_so_that_a_full_disk_does_not_matter(
    sim: Simulation, tmp_path: Path
) -> None:
    storage = Storage(sim.host("s"), journal=SQLiteJournal(tmp_path / "data"))
    storage.commit("things", "a", None, thing("a"))
    shutil.copytree(tmp_path / "data", tmp_path / "left")
    storage.close()
    before = {path.name: path.read_bytes() for path in (tmp_path / "left").iterdir()}

    journal = SQLiteJournal(tmp_path / "left")
    _, found = journal.load()

    after = {path.name: path.read_bytes() for path in (tmp_path / "left").iterdir()}
    journal.close()
    assert [stored.key for _, stored in found] == ["a"]
    assert after == before
