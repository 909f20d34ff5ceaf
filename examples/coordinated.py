# SPDX-License-Identifier: Apache-2.0
"""Three replicas of different versions elect a leader and are upgraded one by one: `python examples/coordinated.py`.

Each replica is a process; the API server decides the elections. The replica of the oldest version
leads, so it is upgraded first. At the end the example prints which replica led when, and
that no two led at the same time.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import attrs
import click

from controller_runtime import Client, Host, ObjectKey, Stop, SystemHost
from controller_runtime import Timeline as Drawn
from controller_runtime.errors import NotFound
from controller_runtime.resources import LEASE_CANDIDATES, LEASES
from controller_runtime.testing import APIServerProcess

LEASE = ObjectKey("controllers", "kube-system")
SERVER = ("controllers", "apiserver")
TIMEOUT = 300.0
"""Seconds after which a wait is given up; each takes a few seconds."""
LED = re.compile(r"^(\S+) \S+ +(became leader|resigned)", re.MULTILINE)
"""The lines of a replica's log at which its leadership begins and ends."""


class Replica:
    """Runs one process after another; each logs when it begins and stops to lead."""

    def __init__(self, name: str, folder: Path, kubeconfig: Path) -> None:
        self.name = name
        self.version = ""
        self._folder = folder
        self._kubeconfig = kubeconfig
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, version: str) -> None:
        """Start a process of this version."""
        self.version = version
        command = [sys.executable, "-m", "controllers", "run", "--kubeconfig", str(self._kubeconfig)]
        command += ["--controllers=node-ttl", "--leader-elect", "--coordinated", "--binary-version", version]
        with (self._folder / f"{self.name} {version}").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)

    def stop(self) -> None:
        """Stop the process, and wait until it has ended."""
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait()

    def restart_if_it_ended(self) -> None:
        """Start the process again if it has ended, as a cluster does; if it yielded, it is a candidate again."""
        if self._process is not None and self._process.poll() is not None:
            self.start(self.version)


@attrs.define
class Timeline:
    """Prints what happens and when, and which replica holds the lease."""

    host: Host
    client: Client
    replicas: list[Replica]
    began: float
    drawn: Drawn
    holder: str = ""

    def print(self, what: str) -> None:
        """Print one line, with the seconds since the beginning."""
        print(f"{self.host.monotonic() - self.began:6.1f} s  {what}", flush=True)
        self.drawn.mark(what)

    def wait_for(self, version: str) -> None:
        """Watch the lease until a replica of `version` holds it."""
        asleep, deadline = Stop(self.host), self.host.monotonic() + TIMEOUT
        while not self._leading_version().startswith(version):
            if self.host.monotonic() > deadline:
                raise SystemExit(f"no replica of version {version} leads after {TIMEOUT:.0f} s")
            for replica in self.replicas:
                replica.restart_if_it_ended()
            asleep.wait(0.2)

    def _leading_version(self) -> str:
        """Return the version that leads, empty for none, and print it if it has changed."""
        holder, version = _holder(self.client)
        if holder != self.holder and (version or not holder):
            self.holder = holder
            self.drawn.note({"leader": version or None})
            self.print(f"{version} leads" if version else "the lease is free")
        return version


def _holder(client: Client) -> tuple[str, str]:
    """Return the holder of the lease and the version in which it leads; no version if it has not begun to lead."""
    try:
        spec = client.get(LEASES, LEASE, dict[str, Any])["spec"]
        holder = spec.get("holderIdentity") or ""
        # The coordinator writes a lease of 5 s for the replica that it elects, which that replaces when it begins.
        if not holder or spec["leaseDurationSeconds"] == 5:
            return holder, ""
        candidate = client.get(LEASE_CANDIDATES, ObjectKey(holder, LEASE.namespace), dict[str, Any])
    except NotFound:
        return "", ""
    return holder, candidate["spec"]["emulationVersion"]


def terms(folder: Path) -> list[tuple[datetime, datetime, str]]:
    """Return when each leadership began and ended and which replica's it was, from the replicas' own logs."""
    found = []
    for log in sorted(folder.iterdir()):
        began: datetime | None = None
        for time, what in LED.findall(log.read_text()):
            if what == "became leader":
                began = datetime.fromisoformat(time)
            elif began is not None:
                found.append((began, datetime.fromisoformat(time), log.name))
                began = None
    return sorted(found)


def play(versions: list[str], upgraded: str, plot: Path | None = None) -> list[str]:
    """Run a replica of each version, then upgrade them, oldest first; return those that led, in order."""
    host = SystemHost()
    with APIServerProcess(host, program=SERVER) as server, tempfile.TemporaryDirectory() as folder:
        client = Client.from_kubeconfig(server.kubeconfig)
        replicas = [Replica(f"replica-{i}", Path(folder), server.kubeconfig) for i in range(len(versions))]
        timeline = Timeline(host, client, replicas, host.monotonic(), Drawn(host))
        try:
            for replica, version in zip(replicas, versions, strict=True):
                timeline.print(f"{replica.name} starts in version {version}")
                replica.start(version)
            timeline.print("they register as candidates; of those that it knows, the server elects the oldest version")
            for version, replica in sorted(zip(versions, replicas, strict=True), key=lambda pair: pair[0]):
                timeline.wait_for(version)
                timeline.print(f"{replica.name} is upgraded from {version} to {upgraded}")
                replica.stop()
                replica.start(upgraded)
            timeline.wait_for(upgraded)
        finally:
            for replica in replicas:
                replica.stop()
            client.transport.close()
        led = terms(Path(folder))
    for began, ended, who in led:
        print(f"{began:%H:%M:%S.%f} to {ended:%H:%M:%S.%f}  {who} led")
    if plot is not None:
        timeline.drawn.write(plot, "Three versions, upgraded one by one")
    overlaps = [f"{a[2]} and {b[2]}" for a, b in pairwise(led) if b[0] < a[1]]
    print(f"two at a time: {', '.join(overlaps) or 'never'}")
    return [*(who for _, _, who in led), *(f"overlap: {pair}" for pair in overlaps)]


@click.command()
@click.option("--plot", type=click.Path(path_type=Path), help="Draw who led when, to this file.")
def main(plot: Path | None) -> None:
    """Run the example."""
    play(["1.36.0", "1.34.0", "1.35.0"], "1.37.0", plot)


if __name__ == "__main__":
    main()
