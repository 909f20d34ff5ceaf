# SPDX-License-Identifier: Apache-2.0
"""Attacks on the audit log, the files and the acknowledged writes of a server."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml
from attacks import Skipped, check
from target import CONFIG_MAPS, Target, config_map, kill, serving, start_and_fail

from apimachinery.errors import ControllerRuntimeError
from apimachinery.system import SystemHost
from controller_runtime.testing.server_process import APIServerProcess

KILLS = int(os.environ.get("ATTACK_KILLS", "20"))
WRITERS = 4
ROUNDS = 5
"""Times that servers are started at once on a new directory; which of them goes on is left to chance."""
DATABASE, LOG, WITNESS = "objects.sqlite", "objects.sqlite-wal", "acknowledged"


def past_the_audit(place: Path) -> str:
    """Acting without a line in the audit log."""
    log = place / "audit.log"
    agents = (b"\xff", b"\xe9t\xe9", b"a\tb", b"\xed\xa0\x80", b'"}\\', b"x" * 6_000)
    with serving("--audit-log-path", str(log)) as (target, _):
        before = len(log.read_bytes().splitlines())
        answers = [target.exchange("GET", "/api/v1/secrets", b"", b"User-Agent: " + agent)[0] for agent in agents]
        answers += [target.exchange("GET", "/api/v1/secrets", b"", b"Authorization: \xff", b"User-Agent: \xff")[0]]
        answers += [target.exchange("GET", "/api/v1/nodes/%ff?fieldManager=%ed%a0%80")[0]]
    lines = log.read_bytes().splitlines()[before:]
    check(answers == [*[200] * len(agents), 403, 404], f"answered {answers}")
    check(len(lines) == len(answers), f"{len(lines)} lines for {len(answers)} requests")
    codes = [json.loads(line)["responseStatus"]["code"] for line in lines]
    check(codes == answers, f"the log says {codes}, the answers were {answers}")
    return f"{len(answers)} requests of bytes that are no text, {len(lines)} lines"


def files_of_others(place: Path) -> str:
    """Reading the server's files as another user, whatever the umask."""
    seen = 0
    for umask in (0o000, 0o022, 0o777):
        data, log = place / f"data-{umask:o}", place / f"audit-{umask:o}.log"
        before = os.umask(umask)
        try:
            with serving("--data-dir", str(data), "--audit-log-path", str(log)) as (target, _):
                check(target.create("a") == 201, "a write failed")
                found = {path: path.stat().st_mode & 0o777 for path in (data, log, *data.iterdir())}
        finally:
            os.umask(before)
        wrong = [f"{path.name} {mode:o}" for path, mode in found.items() if mode != (0o700 if path == data else 0o600)]
        check(not wrong, f"umask {umask:o}: {', '.join(wrong)}")
        seen += len(found)
    return f"{seen} files and directories are for their owner alone"


def damaged_files(place: Path) -> str:
    """Damaging the files of a killed server, so that it serves less than it acknowledged."""
    data = place / "data"
    with serving("--data-dir", str(data)) as (target, pid):
        check(all(target.create(f"c{number}", text="x" * 500) == 201 for number in range(60)), "a write failed")
        kill(pid)
    damages = {
        "log's header flipped": lambda path: flip(path / LOG, 0.0),
        "log's middle flipped": lambda path: flip(path / LOG, 0.5),
        "log's tail cut": lambda path: cut(path / LOG, 0.8),
        "log removed": lambda path: (path / LOG).unlink(),
        "database emptied": lambda path: cut(path / DATABASE, 0.0),
        "database and log removed": lambda path: [(path / name).unlink() for name in (DATABASE, LOG)],
        "witness emptied": lambda path: cut(path / WITNESS, 0.0),
        "identity emptied": lambda path: cut(path / "identity.json", 0.0),
    }
    for name, damage in damages.items():
        copy = place / "copy"
        shutil.copytree(data, copy)
        damage(copy)
        before = contents(copy)
        code, errors = start_and_fail("--data-dir", str(copy))
        check(code == 2 and errors.count("\n") == 1, f"{name}: exit status {code}, {errors!r}")
        check(contents(copy) == before, f"{name}: the evidence was changed")
        shutil.rmtree(copy)
    with serving("--data-dir", str(data)) as (target, _):
        there = len(target.names())
    check(there == 60, f"undamaged, {there} of 60 objects are there")
    return f"{len(damages)} damages, each refused in one line and left as it was"


def flip(path: Path, share: float) -> None:
    content = bytearray(path.read_bytes())
    content[int(len(content) * share)] ^= 0xFF
    path.write_bytes(content)


def cut(path: Path, share: float) -> None:
    os.truncate(path, int(path.stat().st_size * share))


def contents(directory: Path) -> dict[str, bytes]:
    found = {path.name: path.read_bytes() for path in directory.iterdir()}
    return {name: content for name, content in found.items() if content}


class Writer:
    """Creates, changes and deletes config maps until the server is gone; remembers what was acknowledged.

    Threads: one; read once it has ended.
    """

    def __init__(self, target: Target, number: int, turn: int) -> None:
        self._target = target
        self._name = f"w{number}-{turn}"
        # The last acknowledged text of each object, by name; None after a deletion.
        self.acknowledged: dict[str, str | None] = {}
        # The object whose last write was not answered. It may exist in either state.
        self.unknown = ""

    def run(self) -> None:
        """Write without end; returns when the server does not answer any more."""
        with contextlib.suppress(OSError):
            for number in range(100_000):
                self._write(f"{self._name}-{number}", number)

    def _write(self, name: str, number: int) -> None:
        path = f"/api/v1/namespaces/default/configmaps/{name}"
        self.unknown = name
        self._send("POST", CONFIG_MAPS, config_map(name, text="first"))
        self.acknowledged[name] = "first"
        if number % 2:
            self._send("PUT", path, config_map(name, text="second"))
            self.acknowledged[name] = "second"
        if number % 3 == 0:
            self._send("DELETE", path, b"")
            self.acknowledged[name] = None
        self.unknown = ""

    def _send(self, method: str, path: str, body: bytes) -> None:
        status, _ = self._target.exchange(method, path, body)
        if not status:
            raise ConnectionError("no answer")
        check(status in (200, 201), f"{method} {path} answered {status}")


def killed_under_writers(place: Path) -> str:
    """Killing the server at random moments under writers, again and again."""
    chance, known, lost = random.Random(1), dict[str, str | None](), set[str]()
    data = place / "data"
    for turn in range(KILLS):
        with serving("--data-dir", str(data)) as (target, pid):  # `serving` raises if the server reports damage
            lost |= missing(target, known)
            check(not lost, f"after {turn} kills {len(lost)} acknowledged writes are lost: {sorted(lost)[:3]}")
            writers = [Writer(target, number, turn) for number in range(WRITERS)]
            with ThreadPoolExecutor(WRITERS) as pool:
                running = [pool.submit(writer.run) for writer in writers]
                threading.Event().wait(chance.uniform(0.05, 1.5))  # the server is killed at a random moment
                kill(pid)
            for future in running:
                future.result()
        for writer in writers:
            known.update(writer.acknowledged)
            known.pop(writer.unknown, None)
    with serving("--data-dir", str(data)) as (target, _):
        lost = missing(target, known)
    check(not lost, f"{len(lost)} acknowledged writes are lost: {sorted(lost)[:3]}")
    return f"{KILLS} kills, {len(known)} objects acknowledged, none lost, no damage reported"


def missing(target: Target, known: dict[str, str | None]) -> set[str]:
    """Return the names of objects that differ from their last acknowledged state."""
    status, body = target.exchange("GET", "/api/v1/namespaces/default/configmaps")
    check(status == 200, f"the list answered {status}")
    there = {item["metadata"]["name"]: item["data"]["text"] for item in json.loads(body)["items"]}
    return {name for name, text in known.items() if there.get(name) != text}


def two_servers(place: Path) -> str:
    """Starting further servers on one data directory."""
    data = place / "data"
    with serving("--data-dir", str(data)) as (target, _):
        check(target.create("a") == 201, "a write failed")
        before = contents(data)
        with ThreadPoolExecutor(3) as pool:
            refused = list(pool.map(lambda _: start_and_fail("--data-dir", str(data)), range(3)))
        check(all(code == 2 and "in use by another server" in said for code, said in refused), f"{refused}")
        check({**contents(data), LOG: b""} == {**before, LOG: b""}, "a refused server changed files")
        check(target.create("b") == 201 and target.names() == {"a", "b"}, "the first server was disturbed")
    return "3 were refused in one line, the first went on"


def servers_on_a_new_directory(place: Path) -> str:
    """Starting servers at once on a new data directory, so that it keeps the identity of one that ended."""
    for turn in range(ROUNDS):
        data = place / f"data-{turn}"
        servers = [APIServerProcess(SystemHost("attack"), "--data-dir", str(data), start_timeout=120.0) for _ in "1234"]
        with ThreadPoolExecutor(len(servers)) as pool:
            errors = list(pool.map(error_at_start, servers))
        try:
            running = [server for server, error in zip(servers, errors, strict=True) if not error]
            check(len(running) == 1, f"{len(running)} servers serve one directory: {errors}")
            check(all("in use by another server" in error for error in errors if error), f"{errors}")
            served = user_and_authority(running[0].kubeconfig)
        finally:
            for server in servers:
                server.stop(30.0)
        with serving("--data-dir", str(data)) as (target, _):
            check(target.create("a") == 201, "a write failed")
            kept = user_and_authority(target.kubeconfig)
        check(kept == served, "the identity that is kept is another than was served")
    return f"{ROUNDS} times, of 4 servers 1 went on, and its identity was kept"


def error_at_start(server: APIServerProcess) -> str:
    """Start a server; return the error if it ended, or nothing."""
    try:
        server.start()
    except ControllerRuntimeError as error:
        return str(error)
    return ""


def user_and_authority(kubeconfig: Path) -> tuple[str, str]:
    """Return the token and the authority of a kubeconfig."""
    config = yaml.safe_load(kubeconfig.read_bytes())
    authority = config["clusters"][0]["cluster"]["certificate-authority-data"]
    return config["users"][0]["user"]["token"], authority


@contextlib.contextmanager
def small_disk(place: Path) -> Iterator[Path]:
    """A file system of 2 MiB in memory."""
    place.mkdir()
    if os.geteuid() != 0:
        raise Skipped("a small disk can be mounted by root alone")
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if done.returncode:
        raise Skipped(f"no small disk can be mounted: {done.stderr.decode().strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)


def full_disk(place: Path) -> str:
    """Filling the disk of the data directory and the audit log, then killing the server."""
    with small_disk(place / "disk") as disk:
        arguments = ("--data-dir", str(disk / "data"), "--audit-log-path", str(disk / "audit.log"))
        with serving(*arguments) as (target, pid):
            statuses = {f"c{number}": target.create(f"c{number}", text="x" * 20_000) for number in range(150)}
            during = target.names()
            kill(pid)
        done = {name for name, status in statuses.items() if status == 201}
        check(set(statuses.values()) == {201, 500}, f"answered {set(statuses.values())}")
        check(during == done, f"{len(during ^ done)} objects are not as they were answered")
        with serving(*arguments) as (target, _):
            after = target.names()
        check(after == done, f"after a kill {len(after ^ done)} objects are not as they were answered")
    return f"{len(done)} writes acknowledged and kept, {len(statuses) - len(done)} refused and not done"


ATTACKS = (
    past_the_audit,
    files_of_others,
    damaged_files,
    two_servers,
    servers_on_a_new_directory,
    full_disk,
    killed_under_writers,
)
