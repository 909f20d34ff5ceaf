# SPDX-License-Identifier: Apache-2.0
"""Attacks by connections, heads, bodies, unread answers and expensive requests."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import ssl
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from attacks import check
from target import Target, serving

LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
NODES = "/api/v1/nodes"
MAPS = "/api/v1/namespaces/default/configmaps"
# Seconds after which a client that makes no progress is cut off, and some more for a busy machine.
PATIENCE = 30.0 + 15.0
# Seconds that a lease renewal may wait beside a request that takes long.
LONGEST_WAIT = 0.2
# Seconds for which renewals are measured beside one request.
MEASURED = 6.0
MIB = 1024 * 1024


class Renewals:
    """Renews a lease on one connection and measures how long each answer takes."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._connection = target.connect()
        self._number = 0
        lease = {"metadata": {"name": "beat"}, "spec": {"holderIdentity": "beat", "leaseDurationSeconds": 40}}
        status, made = target.exchange("POST", LEASES, json.dumps(lease).encode())
        assert status == 201, status
        self._lease = json.loads(made)
        self.renew()  # makes the connection an authenticated one

    def renew(self) -> float:
        """Renew once; return the seconds until the answer."""
        self._number += 1
        self._lease["spec"]["leaseTransitions"] = self._number
        body = json.dumps(self._lease).encode()
        head = f"PUT {LEASES}/beat HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {self._target.token}\r\n"
        head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        before = time.monotonic()
        self._connection.sendall(head.encode() + body)
        answer = b""
        while not (found := re.search(rb"content-length: (\d+)\r\n", answer, re.IGNORECASE)) or len(
            answer.partition(b"\r\n\r\n")[2]
        ) < int(found[1]):
            part = self._connection.recv(65536)
            assert part, "the connection of a well-behaved client was closed"
            answer += part
        assert answer.startswith(b"HTTP/1.1 200 "), answer[:200]
        waited = time.monotonic() - before
        self._lease = json.loads(answer.partition(b"\r\n\r\n")[2])
        return waited

    def for_seconds(self, seconds: float, until: Callable[[], bool] = lambda: False) -> list[float]:
        """Renew every 10 ms for `seconds`, or until `until` returns true; return the seconds that each answer took."""
        end = time.monotonic() + seconds
        waits = [self.renew()]
        while time.monotonic() < end and not until():
            pause(0.01)
            waits.append(self.renew())
        return waits


def pause(seconds: float) -> None:
    """Wait for `seconds`."""
    threading.Event().wait(seconds)


def told(waits: list[float]) -> str:
    """Return a text with the median and the longest of some waits."""
    return f"{len(waits)} renewals, median {statistics.median(waits) * 1e3:.1f} ms, worst {max(waits) * 1e3:.0f} ms"


def resident(pid: int) -> int:
    """Return the resident memory of a process, in bytes."""
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[1]) * 1024  # type: ignore[index]


def said(pid: int) -> int:
    """Return the bytes that a server has written to its standard error."""
    return os.stat(f"/proc/{pid}/fd/2").st_size


def cpu_seconds(pid: int) -> float:
    """Return the CPU time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def raw(target: Target) -> socket.socket:
    """Open a connection without TLS."""
    return socket.create_connection(target.address, 60.0)


def is_ended(sock: socket.socket) -> bool:
    """Return whether the server has ended the connection; drop the data that it sent before."""
    sock.settimeout(0.01)
    try:
        while sock.recv(65536):
            pass
    except (TimeoutError, ssl.SSLWantReadError):
        return False
    except OSError:
        return True
    return True


def wait_ended(socks: list[socket.socket], seconds: float) -> int:
    """Wait, within bounds, until the server has ended all connections; return how many are left."""
    end = time.monotonic() + seconds
    left = list(socks)
    while left and time.monotonic() < end:
        left = [sock for sock in left if not is_ended(sock)]
        pause(0.2)
    return len(left)


@contextlib.contextmanager
def attacked() -> Iterator[tuple[Target, int, Renewals, contextlib.ExitStack]]:
    """Start a server; yield the target, its process ID, a well-behaved client, and a stack that closes sockets."""
    with serving() as (target, pid), contextlib.ExitStack() as stack:
        yield target, pid, Renewals(target), stack


def silent_connections(place: Path) -> str:
    """1,100 connections that send nothing, not even a TLS handshake."""
    with attacked() as (target, pid, beat, stack):
        socks = [stack.enter_context(raw(target)) for _ in range(1100)]
        waits = beat.for_seconds(1.0)
        newcomer = target.exchange("GET", "/readyz")[0]
        left = wait_ended(socks, 10.0 + 15.0)
        words = said(pid)
    check(newcomer == 200, f"a new client got {newcomer}")
    check(left == 0, f"{left} were still open after 25 s")
    check(words < 2000, f"{words} bytes on standard error")
    return f"all closed within 25 s, a new client served meanwhile, {words} bytes logged, {told(waits)}"


def slow_heads(place: Path) -> str:
    """300 request heads that never end, one of them sent byte by byte."""
    with attacked() as (target, pid, beat, stack):
        socks: list[socket.socket] = [stack.enter_context(target.connect()) for _ in range(300)]
        for sock in socks:
            with contextlib.suppress(OSError):
                sock.sendall(f"GET /readyz HTTP/1.1\r\nauthorization: Bearer {target.token}\r\n".encode())
        waits = beat.for_seconds(1.0)
        end = time.monotonic() + PATIENCE
        left = socks
        while left and time.monotonic() < end:
            with contextlib.suppress(OSError):
                socks[-1].sendall(b"a")
            left = [sock for sock in left if not is_ended(sock)]
        grown = resident(pid) / MIB
    check(not left, f"{len(left)} were still open after {PATIENCE:.0f} s")
    return f"all closed, {grown:.0f} MiB, {told(waits)}"


def bodies_without_a_token(place: Path) -> str:
    """150 bodies of 3 MB without a token, never finished."""
    head = b"POST /api/v1/nodes HTTP/1.1\r\nhost: x\r\ncontent-length: 3000000\r\n\r\n"
    with attacked() as (target, pid, beat, stack):
        before = resident(pid)
        answers = []
        for _ in range(150):
            sock = stack.enter_context(target.connect())
            with contextlib.suppress(OSError):
                sock.sendall(head)
                answers.append(sock.recv(12)[9:])
                sock.sendall(bytes(2_900_000))
        grown = (resident(pid) - before) / MIB
        waits = beat.for_seconds(1.0)
    check(answers == [b"403"] * 150, f"answered {set(answers)}")
    check(grown < 64, f"{grown:.0f} MiB for them")
    return f"150 times 403 before the body, {grown:+.0f} MiB, {told(waits)}"


def fill(target: Target, count: int) -> None:
    """Create config maps of 1 MB each."""
    for number in range(count):
        body = json.dumps({"metadata": {"name": f"large{number}"}, "data": {"x": "y" * 1_000_000}}).encode()
        assert target.exchange("POST", MAPS, body)[0] == 201


def unread_lists(place: Path) -> str:
    """40 lists of 20 MB that are never read."""
    with attacked() as (target, pid, beat, stack):
        fill(target, 20)
        before = resident(pid)
        ask = f"GET {MAPS} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {target.token}\r\n\r\n".encode()
        socks: list[socket.socket] = []
        for _ in range(40):
            sock = stack.enter_context(target.connect())
            sock.sendall(ask)
            socks.append(sock)
        waits = beat.for_seconds(5.0)
        most = resident(pid) - before
        end = time.monotonic() + PATIENCE
        while (left := resident(pid) - before) > 100 * MIB and time.monotonic() < end:
            waits += beat.for_seconds(1.0)
    check(most < 450 * MIB, f"{most / MIB:.0f} MiB at most")
    check(left <= 100 * MIB, f"{left / MIB:.0f} MiB after {PATIENCE:.0f} s")
    return f"{most / MIB:+.0f} MiB at most, {left / MIB:+.0f} MiB in the end, {told(waits)}"


def unread_watches(place: Path) -> str:
    """300 watches that are never read, with 20 events of 1 MB for each."""
    with attacked() as (target, pid, beat, stack):
        before = resident(pid)
        ask = f"GET {MAPS}?watch=1 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {target.token}\r\n\r\n".encode()
        for _ in range(300):
            stack.enter_context(target.connect()).sendall(ask)
        fill(target, 20)
        waits = beat.for_seconds(1.0)
        most = resident(pid) - before
        end = time.monotonic() + PATIENCE
        while open_sockets(pid) > 20 and time.monotonic() < end:
            waits += beat.for_seconds(1.0)
        left = open_sockets(pid)
    # The server may buffer two of the events for each connection, one below TLS and one above it.
    check(most < 300 * 4 * MIB, f"{most / MIB:.0f} MiB")
    check(left <= 20, f"{left} connections after {PATIENCE:.0f} s")
    return f"{most / MIB:+.0f} MiB at most, all ended, {told(waits)}"


def open_sockets(pid: int) -> int:
    """Return how many sockets a process has."""
    links = [Path(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]
    count = 0
    for link in links:
        with contextlib.suppress(OSError):
            count += os.readlink(link).startswith("socket:")
    return count


def unread_pipeline(place: Path) -> str:
    """Requests one after the other for 25 s, without reading an answer."""
    with attacked() as (target, pid, beat, stack):
        before = resident(pid)
        sock = stack.enter_context(target.connect())
        sock.settimeout(1.0)
        ask = f"GET {NODES} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {target.token}\r\n\r\n".encode() * 1000
        sent = 0
        with contextlib.suppress(OSError):
            while sent < 500 * MIB:
                sock.sendall(ask)
                sent += len(ask)
        waits = beat.for_seconds(1.0)
        grown = (resident(pid) - before) / MIB
        left = 1
        end = time.monotonic() + PATIENCE
        while (left := open_sockets(pid)) > 5 and time.monotonic() < end:
            pause(1.0)
    check(grown < 32, f"{grown:.0f} MiB")
    check(sent < 64 * MIB, f"{sent / MIB:.0f} MiB were taken")
    return f"{sent / MIB:.1f} MiB taken, {grown:+.0f} MiB, {left} sockets in the end, {told(waits)}"


def garbage_handshakes(place: Path) -> str:
    """600 handshakes of garbage."""
    garbage = (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00" + bytes(512), b"\xff" * 2000, b"\x16\x03\x01\xff\xff")
    with attacked() as (target, pid, beat, _):
        before = open_sockets(pid)
        for number in range(600):
            with raw(target) as sock, contextlib.suppress(OSError):
                sock.sendall(garbage[number % len(garbage)])
        waits = beat.for_seconds(1.0)
        end = time.monotonic() + PATIENCE
        while (left := open_sockets(pid)) > before and time.monotonic() < end:
            pause(0.2)
        words = said(pid)
    check(left <= before, f"{left - before} sockets are left")
    check(words < 2000, f"{words} bytes on standard error")
    return f"no socket left, {words} bytes logged, {told(waits)}"


def beside(name: str, prepare: Callable[[Target], object], request: Callable[[Target], tuple[int, bytes]]) -> str:
    """Renew a lease during one expensive request, for some seconds at most."""
    with attacked() as (target, pid, beat, _):
        prepare(target)
        alone = beat.for_seconds(1.0)
        cpu = cpu_seconds(pid)
        answers: list[int] = []

        def ask() -> None:
            with contextlib.suppress(OSError):
                answers.append(request(target)[0])

        asking = threading.Thread(target=ask, daemon=True)
        asking.start()
        waits = beat.for_seconds(MEASURED, until=lambda: bool(answers))
        cpu = cpu_seconds(pid) - cpu
        ended = f"answered {answers[0]}" if answers else "went on"
    # The wait without the request is caused by the machine and not by the server, so it is allowed on top.
    check(max(waits) < LONGEST_WAIT + max(alone), f"{name}: {told(waits)}; alone {told(alone)}")
    return f"{ended}, {cpu:.1f} s of CPU, {told(waits)}; alone {told(alone)}"


def patch(target: Target, path: str, content_type: str, body: bytes) -> tuple[int, bytes]:
    """Send a patch."""
    return send(target, "PATCH", path, content_type, body)


def send(target: Target, method: str, path: str, content_type: str, body: bytes) -> tuple[int, bytes]:
    """Send a request with a media type of its own."""
    head = f"{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {target.token}\r\n"
    head += f"content-type: {content_type}\r\ncontent-length: {len(body)}\r\n\r\n"
    answer = b""
    with target.connect() as sock:
        sock.settimeout(60.0)
        sock.sendall(head.encode() + body)
        while len(answer) < MIB and (part := sock.recv(65536)):
            answer += part
    return int(answer.split()[1]) if answer else 0, answer


def node(target: Target) -> None:
    """Create a node."""
    assert target.exchange("POST", NODES, b'{"metadata":{"name":"n"}}')[0] == 201


def beside_a_json_patch(place: Path) -> str:
    """A lease renewal beside a JSON patch of 10,000 operations on a list of 200,000."""
    start = [{"op": "add", "path": "/metadata/finalizers", "value": ["a/b"] * 200_000}]
    inserts = [{"op": "add", "path": "/metadata/finalizers/0", "value": "c/d"}] * 9999
    body = json.dumps(start + inserts).encode()
    return beside("JSON patch", node, partial(patch, path=f"{NODES}/n", content_type=JSON_PATCH, body=body))


JSON_PATCH, APPLY = "application/json-patch+json", "application/apply-patch+yaml"


def beside_a_yaml_text(place: Path) -> str:
    """A lease renewal beside a YAML text of 3 MB."""
    body = b'{"metadata":{"name":"y"},"x":[' + b"1," * 1_400_000 + b"1]}"
    return beside("YAML", node, partial(send, method="POST", path=NODES, content_type="application/yaml", body=body))


def beside_an_apply(place: Path) -> str:
    """A lease renewal beside the apply of a config map with 60,000 keys."""
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}}
    body = json.dumps({**config, "data": {f"k{n}": "v" for n in range(60_000)}}).encode()
    path = f"{MAPS}/c?fieldManager=attack&force=true"
    return beside("apply", node, partial(patch, path=path, content_type=APPLY, body=body))


def beside_a_creation(place: Path) -> str:
    """A lease renewal beside the creation of a config map of 1 MB with 80,000 keys."""
    body = json.dumps({"metadata": {"name": "c"}, "data": {f"k{n}": "" for n in range(80_000)}}).encode()
    return beside("creation", node, partial(send, method="POST", path=MAPS, content_type="application/json", body=body))


def beside_empty_containers(place: Path) -> str:
    """A lease renewal beside a pod of 250,000 empty containers."""
    body = json.dumps({"metadata": {"name": "c"}, "spec": {"containers": [{}] * 250_000}}).encode()
    path = "/api/v1/namespaces/default/pods"
    return beside("pod", node, partial(send, method="POST", path=path, content_type="application/json", body=body))


def beside_managed_fields(place: Path) -> str:
    """A lease renewal beside an update with 3,000 entries of managedFields."""
    entry = {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "time": "2026-01-01T00:00:00Z"}
    entries = [{**entry, "manager": f"m{n}", "fieldsV1": {"f:metadata": {}}} for n in range(3000)]
    body = json.dumps({"metadata": {"name": "n", "managedFields": entries, "labels": {"a": "b"}}}).encode()
    path = f"{NODES}/n"
    return beside(
        "managed fields", node, partial(send, method="PUT", path=path, content_type="application/json", body=body)
    )


def beside_a_long_list(place: Path) -> str:
    """A lease renewal beside a table of 3,000 objects."""

    def prepare(target: Target) -> None:
        connection = target.connect()
        for number in range(3000):
            body = b'{"metadata":{"name":"n%d"}}' % number
            head = f"POST {NODES} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {target.token}\r\n"
            head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body)
            connection.recv(65536)

    def ask(target: Target) -> tuple[int, bytes]:
        return target.exchange("GET", NODES, b"", b"Accept: application/json;as=Table;v=v1;g=meta.k8s.io")

    return beside("list", prepare, ask)


ATTACKS = (
    silent_connections,
    slow_heads,
    bodies_without_a_token,
    unread_lists,
    unread_watches,
    unread_pipeline,
    garbage_handshakes,
    beside_a_json_patch,
    beside_a_yaml_text,
    beside_an_apply,
    beside_a_creation,
    beside_empty_containers,
    beside_managed_fields,
    beside_a_long_list,
)
