# SPDX-License-Identifier: Apache-2.0
"""Four processes of a ring against a real server for a while, with a fault each few seconds, and a judge afterwards.

`PYTHONPATH=tests python -m kit.ring.ring_trial KUBECONFIG AUDIT_LOG DIR SECONDS`. The server writes AUDIT_LOG by a
policy that records leases as RequestResponse and nodes as Request; with `embedded` for KUBECONFIG, the trial starts an
embedded server that does (`ring_trial_server.py`). The faults are kill -9, SIGSTOP, a cut connection,
and a deleted lease each minute. The exit status is 1 if claims overlap, a key is lost, or a write began outside of its
interval without a reason; see `ring_trial_judge`.
"""

from __future__ import annotations

import contextlib
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from pathlib import Path

import yaml

from apimachinery.errors import AlreadyExists
from apimachinery.objects import ObjectKey
from controller_runtime import Client, SystemHost
from controller_runtime.client.http.configuration import from_kubeconfig
from controller_runtime.client.http.transport import HTTPTransport
from controller_runtime.resources import LEASES, NODES
from controller_runtime.ring.records import RING_LABEL
from controller_runtime.testing import a_node
from controller_runtime.testing.server_process import APIServerProcess
from kit.ring.ring_trial_judge import Fault, Verdict, judged, overlaps, read

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
        self.faults: list[Fault] = []
        self.calm_at = 0.0  # wall seconds after which each key must have had an effect

    def start(self, name: str) -> None:
        replica = Path(__file__).with_name("ring_trial_replica.py")
        arguments = [str(self._directory / f"{name}.kubeconfig"), name, str(self._directory / f"{name}.effects")]
        arguments += map(str, (LEASE, DEADLINE, RETRY))
        with open(self._directory / f"{name}.log", "ab") as log:
            self._processes[name] = subprocess.Popen([sys.executable, str(replica), *arguments], stderr=log)

    def fault(self, kind: str, name: str, seconds: float) -> None:
        """Do one fault, and undo it after some seconds."""
        begun, process = time.time(), self._processes[name]
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
        self.faults.append(Fault(kind, name, begun, time.time()))

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
                begun, self._proxies[name].is_cut = time.time(), True
                self.fault(kind, name, chance.uniform(1.0, 8.0))
                self._proxies[name].is_cut = False
                self.faults.append(Fault("cut", name, begun, time.time()))
            else:
                self.fault(kind, name, chance.uniform(1.0, 10.0))
            _wait(chance.uniform(4.0, 12.0))
        _wait(4 * LEASE)
        self.calm_at = time.time() - LEASE
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            process.wait()


def effects(directory: Path) -> dict[str, float]:
    """Return when each node had its last effect, in wall seconds."""
    last: dict[str, float] = {}
    for name in NAMES:
        for line in (directory / f"{name}.effects").read_text().splitlines():
            if len(parts := line.split()) == 4:
                last[parts[1]] = max(float(parts[0]), last.get(parts[1], 0.0))
    return last


def judge(trial: Trial, audit: Path, directory: Path) -> bool:
    """Print what was seen; return whether every promise was kept."""
    stored, writes = read(audit, NAMES)
    together, last = overlaps(stored, DEADLINE), effects(directory)
    lost = [f"n{number:02d}" for number in range(OBJECTS) if last.get(f"n{number:02d}", 0.0) < trial.calm_at]
    found: dict[Verdict, list[str]] = defaultdict(list)
    for write, verdict in judged(writes, stored, trial.faults, DEADLINE):
        found[verdict].append(f"{write.at:.3f} {write.node} {write.process} {write.order} {write.code}")
    lines = [f"faults: {dict(Counter(fault.kind for fault in trial.faults))}", f"stored claims: {len(stored)}"]
    lines += [f"overlaps of claims: {together}", f"keys lost: {lost}"]
    for verdict in Verdict:
        listed = "" if verdict in (Verdict.INSIDE, Verdict.LATE) else f" {found[verdict]}"
        lines.append(f"writes {verdict.value}: {len(found[verdict])}{listed}")
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    return not (together or lost or found[Verdict.WRONG])


def main(kubeconfig: str, audit: str, directory: str, seconds: str) -> None:
    """Run the trial, and exit with status 1 if a promise was broken."""
    place = Path(directory)
    place.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:
        if kubeconfig == "embedded":
            program = ("kit.ring.ring_trial_server",)
            server = APIServerProcess(SystemHost("trial"), "--audit-log-path", audit, program=program)
            kubeconfig = str(stack.enter_context(server).kubeconfig)
        sys.exit(0 if _is_kept(Trial(Path(kubeconfig), place), Path(audit), place, float(seconds)) else 1)


def _is_kept(trial: Trial, audit: Path, place: Path, seconds: float) -> bool:
    for number in range(OBJECTS):
        with contextlib.suppress(AlreadyExists):  # of an earlier trial
            trial.client.create(NODES, a_node(f"n{number:02d}"))
    trial.run(seconds)
    return judge(trial, audit, place)


if __name__ == "__main__":
    main(*sys.argv[1:])
