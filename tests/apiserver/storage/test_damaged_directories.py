# SPDX-License-Identifier: Apache-2.0
"""Each file of a data directory, damaged in many ways: the command prints one line with the fault and the remedy."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from apimachinery.errors import UsageError
from apimachinery.host import Host
from controller_runtime.testing.simulation import Simulation
from embedded_apiserver.__main__ import main
from embedded_apiserver.server import APIServer
from embedded_apiserver.shell.identity import kept_identity
from embedded_apiserver.storage.journal import SQLiteJournal

DATABASE, LOG, WITNESS, IDENTITY = "objects.sqlite", "objects.sqlite-wal", "acknowledged", "identity.json"
REMEDIES = ("restore a backup", "remove it", "move it away", "mend that", "run the server as the owner")
DEFINITION = "customresourcedefinitions.apiextensions.k8s.io"

Damage = Callable[[Path], object]


def becomes_a_directory(path: Path) -> None:
    path.unlink()
    path.mkdir(mode=0o700)


def becomes_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


DAMAGES = [
    pytest.param(lambda path: path.write_bytes(b""), id="empty"),
    pytest.param(lambda path: os.truncate(path, path.stat().st_size * 2 // 3), id="truncated"),
    pytest.param(lambda path: path.write_bytes(b"{"), id="not JSON"),
    pytest.param(lambda path: path.write_bytes(b"[" * 100_000), id="deep"),
    pytest.param(lambda path: path.write_bytes(b'{"a": 1}'), id="other JSON"),
    pytest.param(lambda path: path.write_bytes(b"\xff" * 5000), id="no text"),
    pytest.param(becomes_a_directory, id="a directory"),
    pytest.param(becomes_a_pipe, id="a pipe"),
]


@pytest.fixture(scope="module")
def taken_port() -> Iterator[str]:
    """A port that is in use, so that a server which accepts the directory ends, too."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield str(taken.getsockname()[1])


@pytest.fixture
def directory(sim: Simulation, tmp_path: Path) -> Path:
    """A data directory as `kill -9` leaves it."""
    host = sim.host("server")
    running, killed = tmp_path / "running", tmp_path / "killed"
    kept_identity(running, host.now())
    server = APIServer(host, data_dir=running)
    killed.mkdir(mode=0o700)
    for path in running.iterdir():
        with os.fdopen(os.open(killed / path.name, os.O_CREAT | os.O_WRONLY, 0o600), "wb") as file:
            file.write(path.read_bytes())
    server.close()
    return killed


def refusal(directory: Path, port: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run the command, which must exit with status 2 and print one line; return that line."""
    code = main(["--data-dir", str(directory), "--port", port])
    errors = capsys.readouterr().err
    assert (code, errors.count("\n")) == (2, 1), errors
    assert errors.startswith("error: ")
    return errors


def test_a_whole_directory_is_refused_for_its_port_alone(
    directory: Path, taken_port: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "is taken" in refusal(directory, taken_port, capsys)


@pytest.mark.parametrize("name", [DATABASE, LOG, WITNESS, IDENTITY])
@pytest.mark.parametrize("damage", DAMAGES)
def test_each_file_in_each_damage_is_told_with_the_remedy(
    directory: Path, taken_port: str, name: str, damage: Damage, capsys: pytest.CaptureFixture[str]
) -> None:
    if name == DATABASE:
        SQLiteJournal(directory).close()  # merges the log into the database
    damage(directory / name)

    told = refusal(directory, taken_port, capsys)

    assert str(directory) in told
    assert any(remedy in told for remedy in REMEDIES)


def change(path: Path, **fields: object) -> None:
    """Change fields of the identity file."""
    content = json.loads(path.read_bytes())
    certificates = {name: value for name, value in fields.items() if name in content["certificates"]}
    content["certificates"].update(certificates)
    content.update({name: value for name, value in fields.items() if name not in certificates})
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        pytest.param({"token": ""}, "its token is no bearer token", id="empty token"),
        pytest.param({"token": "a b\n"}, "its token is no bearer token", id="token with a space"),
        pytest.param({"token": 7}, "Expected `str`", id="token of another type"),
        pytest.param({"key": "AAAA"}, "the key is not that of the server's certificate", id="bad key"),
        pytest.param({"key": ""}, "the key is not that of the server's certificate", id="no key"),
        pytest.param({"key": "?"}, "Invalid base64", id="key that is no base64"),
        pytest.param({"server": "AAAA"}, "identity.json is damaged", id="bad certificate"),
        pytest.param({"authority": "AAAA"}, "identity.json is damaged", id="bad authority"),
        pytest.param({"certificates": None}, "Expected `object`", id="no certificates"),
    ],
)
def test_an_identity_that_cannot_serve_is_told(
    directory: Path,
    taken_port: str,
    fields: dict[str, object],
    told: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    change(directory / IDENTITY, **fields)

    said = refusal(directory, taken_port, capsys)

    assert told in said
    assert "identity.json" in said
    assert "remove it" in said


@pytest.mark.parametrize("name", ["key", "server", "authority"])
def test_an_identity_whose_parts_are_of_two_servers_is_told(
    directory: Path, tmp_path: Path, sim: Simulation, taken_port: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    kept_identity(tmp_path / "other", sim.host("other").now())
    other = json.loads((tmp_path / "other" / IDENTITY).read_bytes())
    change(directory / IDENTITY, **{name: other["certificates"][name]})

    assert "identity.json is damaged" in refusal(directory, taken_port, capsys)


def open_all(directory: Path, host: Host) -> None:
    kept_identity(directory, host.now())
    SQLiteJournal(directory)


@pytest.mark.parametrize("name", [DATABASE, LOG, WITNESS, IDENTITY, "."])
def test_files_of_another_user_are_told_with_the_remedy(
    directory: Path, name: str, sim: Simulation, monkeypatch: pytest.MonkeyPatch
) -> None:
    host = sim.host("again")
    (directory / name).chmod(0)
    if os.geteuid() == 0:  # root may read and write whatever the mode says
        for path in (directory, *directory.iterdir()):
            os.chown(path, 65534, 65534)
        monkeypatch.chdir(directory.parent)
        outside = [path for path in directory.parents if str(path).startswith("/tmp/")]
        modes = [(path, path.stat().st_mode) for path in outside]
        for path in outside:
            path.chmod(0o755)
        os.seteuid(65534)
        undo = lambda: (os.seteuid(0), [path.chmod(mode) for path, mode in modes])  # noqa: E731
    else:
        undo = lambda: None  # noqa: E731

    try:
        with pytest.raises(UsageError, match=r"Permission denied.*run the server as the owner") as refused:
            open_all(directory, host)
    finally:
        undo()
        (directory / name).chmod(0o700)

    assert str(directory) in str(refused.value)


def definition(**parts: object) -> bytes:
    whole = {
        "metadata": {"name": "things.example.com", "uid": "u", "resourceVersion": "1"},
        "spec": {
            "group": "example.com",
            "names": {"plural": "things", "kind": "Thing"},
            "scope": "Namespaced",
            "versions": [{"name": "v1", "served": True, "storage": True}],
        },
        "status": {"acceptedNames": {}},
    }
    return json.dumps({name: value for name, value in {**whole, **parts}.items() if value is not None}).encode()


@pytest.mark.parametrize(
    "parts",
    [{"spec": None}, {"spec": {}}, {"spec": 7}, {"status": None}, {"metadata": {"name": "things.example.com"}}],
    ids=["no spec", "empty spec", "spec of another type", "no status", "no uid"],
)
def test_a_definition_that_lacks_what_each_one_has_is_told(
    sim: Simulation, tmp_path: Path, taken_port: str, parts: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    journal = SQLiteJournal(tmp_path / "data")
    journal.write(DEFINITION, "things.example.com", 1, definition(**parts))
    journal.close()

    told = refusal(tmp_path / "data", taken_port, capsys)

    assert "custom resource definition things.example.com cannot be read" in told
    assert "restore a backup" in told


def test_a_damaged_row_is_told_and_the_others_of_its_collection_are_listed_once_that_is_accepted(
    sim: Simulation, directory: Path, taken_port: str, capsys: pytest.CaptureFixture[str]
) -> None:
    server = APIServer(sim.host("again"), data_dir=directory)
    server.close()
    with contextlib.closing(sqlite3.connect(directory / DATABASE, isolation_level=None)) as database:
        database.execute("UPDATE objects SET raw = 'text' WHERE key = 'default'")

    assert "the content of namespaces default has changed" in refusal(directory, taken_port, capsys)

    accepting = APIServer(sim.host("accepting"), data_dir=directory, accept_loss=True)
    keys = [item.key for item in accepting.storage.read("namespaces").items]
    accepting.close()
    assert keys == ["default", "kube-node-lease", "kube-public", "kube-system"]  # the damaged namespace was made again
