# SPDX-License-Identifier: Apache-2.0
"""Four processes of a ring against a real server for a while, with a fault each few seconds, and a judge afterwards.

`python tests/kit/ring_trial.py KUBECONFIG AUDIT_LOG DIR SECONDS`. The server must write AUDIT_LOG by a policy that
records leases as RequestResponse; its answers are ordered by their resourceVersion. The faults are kill -9, SIGSTOP,
a cut connection, and a deleted lease each minute. The exit status is 1 if claims overlap or a key is lost.
"""

from __future__ import annotations

import contextlib
import json
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from apimachinery.errors import AlreadyExists
from apimachinery.objects import ObjectKey
from controller_runtime import LEASES, NODES, Client, SystemHost
from controller_runtime.client.http.configuration import from_kubeconfig
from controller_runtime.client.http.transport import HTTPTransport
from controller_runtime.ring.records import CLAIM, RING_LABEL, Claim, annotations_of
from controller_runtime.testing import a_node

LEASE, DEADLINE, RETRY = 6.0, 4.0, 1.0
NAMES = ("one", "two", "three", "four")
OBJECTS = 24


def _wait(seconds: float) -> None:
    """Wait in real time, which the trial is about."""
    threading.Event().wait(seconds)


class Proxy:
    """Passes TCP connections to the server, unless it is cut."""

    def __init__(self, port: int) -> None:
        self._port, self.is_cut, self._open = port, False, list[socket.socket]()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            near, _ = self._listener.accept()
            try:
                far = socket.create_connection(("127.0.0.1", self._port))
            except OSError:
                near.close()
                continue
            for pair in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=pair, daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                while self.is_cut:  # held back, as by a router that is congested
                    _wait(0.02)
                target.sendall(data)
        except OSError:
            pass
        for each in (source, target):
            each.close()


class Trial:
    """The processes, and the faults that happen to them."""

    def __init__(self, kubeconfig: Path, directory: Path) -> None:
        self._directory = directory
        document = yaml.safe_load(kubeconfig.read_text())
        server = document["clusters"][0]["cluster"]["server"]
        self._proxies = {name: Proxy(int(server.rpartition(":")[2])) for name in NAMES}
        for name, proxy in self._proxies.items():
            document["clusters"][0]["cluster"]["server"] = f"https://127.0.0.1:{proxy.port}"
            (directory / f"{name}.kubeconfig").write_text(yaml.safe_dump(document))
        host = SystemHost("trial")
        self.client = Client(host, HTTPTransport(host, from_kubeconfig(kubeconfig)))
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self.faults: list[tuple[float, float, str, str]] = []  # begin and end in monotonic seconds, kind, name
        self.calm_at = 0.0  # monotonic seconds after which each key must have had an effect

    def start(self, name: str) -> None:
        replica = Path(__file__).with_name("ring_trial_replica.py")
        arguments = [str(self._directory / f"{name}.kubeconfig"), name, str(self._directory / f"{name}.effects")]
        arguments += map(str, (LEASE, DEADLINE, RETRY))
        with open(self._directory / f"{name}.log", "ab") as log:
            self._processes[name] = subprocess.Popen([sys.executable, str(replica), *arguments], stderr=log)

    def fault(self, kind: str, name: str, seconds: float) -> None:
        """Do one fault, and undo it after some seconds."""
        begun, process = time.monotonic(), self._processes[name]
        match kind:
            case "kill":
                process.kill()
                process.wait()
            case "freeze":
                process.send_signal(signal.SIGSTOP)
            case "cut":
                self._proxies[name].is_cut = True
            case "lease":
                leases = self.client.list(LEASES, "default", label_selector=f"{RING_LABEL}=trial", view=dict)
                mine = [each["metadata"]["name"] for each in leases if f"-{name}-" in each["metadata"]["name"]]
                for lease in mine:
                    self.client.delete(LEASES, ObjectKey(lease, "default"))
        _wait(seconds)
        match kind:
            case "kill":
                self.start(name)
            case "freeze":
                process.send_signal(signal.SIGCONT)
            case "cut":
                self._proxies[name].is_cut = False
        self.faults.append((begun, time.monotonic(), kind, name))

    def run(self, seconds: float) -> None:
        """Let faults happen for some seconds, then none for three leases, and stop."""
        chance, until = random.Random(1), time.monotonic() + seconds
        for name in NAMES:
            self.start(name)
        _wait(3 * LEASE)
        kinds = ("kill", "freeze", "cut", "lease")
        number = 0
        while time.monotonic() < until:
            kind, name = kinds[number % len(kinds)], chance.choice(NAMES)
            number += 1
            if kind == "lease" and chance.random() < 0.5:  # of a member that cannot know of it
                self._proxies[name].is_cut = True
                self.fault(kind, name, chance.uniform(1.0, 8.0))
                self._proxies[name].is_cut = False
            else:
                self.fault(kind, name, chance.uniform(1.0, 10.0))
            _wait(chance.uniform(4.0, 12.0))
        _wait(4 * LEASE)
        self.calm_at = time.monotonic() - LEASE
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            process.wait()


def claims(audit: Path) -> Iterator[tuple[int, float, str, Claim]]:
    """Yield each stored claim: its resourceVersion, the wall seconds at which it was received, its lease, the claim."""
    for line in audit.read_bytes().splitlines():
        if b'"leases"' not in line or b'"ResponseComplete"' not in line:
            continue
        event: dict[str, Any] = json.loads(line)
        stored = event.get("responseObject") or {}
        is_write = event["verb"] in ("create", "update") and event["responseStatus"]["code"] in (200, 201)
        if is_write and (text := annotations_of(stored).get(CLAIM)):
            at = datetime.fromisoformat(event["requestReceivedTimestamp"]).timestamp()
            name, version = stored["metadata"]["name"], int(stored["metadata"]["resourceVersion"])
            yield version, at, name, Claim.from_text(text)


def overlaps(audit: Path) -> list[str]:
    """Return the claims of a slot that another member still claimed, within that member's deadline."""
    held: dict[str, tuple[float, int]] = {}
    found = []
    for version, at, name, claim in sorted(claims(audit), key=lambda each: each[0]):
        for other, (seen_at, slots) in held.items():
            if other != name and slots & claim.slots and at < seen_at + DEADLINE:
                found.append(f"version {version}: {name} claims {(slots & claim.slots).bit_count()} slots of {other}")
        held[name] = at, claim.slots
    return found


def effects(directory: Path) -> list[tuple[float, str, tuple[int, int], str]]:
    """Return all effects of all processes in order: when, the node, the token's order, the process."""
    found = []
    for name in NAMES:
        for line in (directory / f"{name}.effects").read_text().splitlines():
            if len(parts := line.split()) == 4:
                found.append((float(parts[0]), parts[1], (int(parts[2]), int(parts[3])), name))
    return sorted(found)


def judge(trial: Trial, audit: Path, directory: Path) -> bool:
    """Print what was seen; return whether every promise was kept."""
    together, done = overlaps(audit), effects(directory)
    newest: dict[str, tuple[tuple[int, int], str]] = defaultdict(lambda: ((0, 0), ""))
    late: tuple[list[str], list[str]] = [], []
    for at, node, order, name in done:
        if order < newest[node][0] and name != newest[node][1]:
            frozen = any(k == "freeze" and n == name and b <= at <= e + 1.0 for b, e, k, n in trial.faults)
            late[not frozen].append(f"{at:.3f} {node} {name} {order} after {newest[node]}")
        newest[node] = max(newest[node], (order, name))
    last = {node: at for at, node, _, _ in done}
    lost = [f"n{number:02d}" for number in range(OBJECTS) if last.get(f"n{number:02d}", 0.0) < trial.calm_at]
    kinds: dict[str, int] = defaultdict(int)
    for _, _, kind, _ in trial.faults:
        kinds[kind] += 1
    for text, each in (
        ("faults", dict(kinds)),
        ("stored claims", sum(1 for _ in claims(audit))),
        ("effects", len(done)),
        ("overlaps of claims", together),
        ("effects after a later owner's, of a process that was stopped, with a smaller token", late[0]),
        ("effects after a later owner's, of another process", late[1]),
        ("keys lost", lost),
    ):
        sys.stdout.write(f"{text}: {each}\n")
    return not (together or lost or late[1])


def main(kubeconfig: str, audit: str, directory: str, seconds: str) -> None:
    """Run the trial, and exit with status 1 if a promise was broken."""
    place = Path(directory)
    place.mkdir(parents=True, exist_ok=True)
    trial = Trial(Path(kubeconfig), place)
    for number in range(OBJECTS):
        with contextlib.suppress(AlreadyExists):  # of an earlier trial
            trial.client.create(NODES, a_node(f"n{number:02d}"))
    trial.run(float(seconds))
    sys.exit(0 if judge(trial, Path(audit), place) else 1)


if __name__ == "__main__":
    main(*sys.argv[1:])
