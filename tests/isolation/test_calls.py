# SPDX-License-Identifier: Apache-2.0
"""An audit event is a call to the world outside, or it is none."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from controller_runtime.isolation.calls import FORK_EXEC, OutwardCall, call_of, is_allowed


@pytest.mark.parametrize(
    ("event", "args", "says"),
    [
        pytest.param("socket.connect", (None, ("10.0.0.7", 443)), "calls 10.0.0.7:443", id="IPv4"),
        pytest.param("socket.connect", (None, ("fe80::1%eth0", 443, 0, 2)), "calls [fe80::1]:443", id="IPv6"),
        pytest.param("socket.connect", (None, "/var/run/docker.sock"), "calls /var/run/docker.sock", id="a path"),
        pytest.param("socket.connect", (None, b"/run/db"), "calls /run/db", id="a path as bytes"),
        pytest.param("socket.connect", (None, "\0bus"), "calls @bus", id="an abstract socket"),
        pytest.param("socket.sendto", (None, ("10.0.0.7", 53)), "calls 10.0.0.7:53", id="a datagram"),
        pytest.param("socket.sendmsg", (None, None), None, id="a datagram on a connected socket"),
        pytest.param("socket.getaddrinfo", ("S3.example", 443, 0, 0, 0), "calls s3.example:443", id="a name"),
        pytest.param("socket.getaddrinfo", (b"s3.example", "https", 0, 0, 0), "calls s3.example", id="a service"),
        pytest.param("socket.getaddrinfo", (None, 80, 0, 0, 0), None, id="an address to listen at"),
        pytest.param("socket.getaddrinfo", ("10.0.0.7", 80, 0, 0, 0), None, id="a number is no question"),
        pytest.param("socket.getaddrinfo", (socket.gethostname(), 0, 0, 0, 0), None, id="this machine"),
        pytest.param("socket.gethostbyname", ("db.example",), "calls db.example", id="an old look-up"),
        pytest.param("subprocess.Popen", ("/usr/bin/helm", ["helm"], None, None), "runs /usr/bin/helm", id="Popen"),
        pytest.param("subprocess.Popen", (None, ["helm", "ls"], None, None), "runs helm", id="Popen by arguments"),
        pytest.param("os.system", (b"rm -r /tmp/x",), "runs rm", id="a shell"),
        pytest.param("os.system", ("echo 'open",), "runs echo", id="a command that no shell takes"),
        pytest.param("os.exec", ("/bin/ls", ["ls"], None), "runs /bin/ls", id="exec"),
        pytest.param("os.posix_spawn", (b"/bin/ls", ["ls"], {}), "runs /bin/ls", id="posix_spawn"),
        pytest.param("os.spawn", (0, "ls", ["ls"], None), "runs ls", id="spawn"),
        pytest.param("pty.spawn", (("bash", "-i"),), "runs bash", id="pty"),
        pytest.param(FORK_EXEC, (b"/usr/bin/python3", ["python3"]), "runs /usr/bin/python3", id="multiprocessing"),
        pytest.param("socket.bind", (None, ("", 80)), None, id="listening"),
        pytest.param("open", ("/etc/passwd", "r", 0), None, id="a file"),
    ],
)
def test_a_call_is_named_by_host_path_or_program(event: str, args: tuple[Any, ...], says: str | None) -> None:
    call = call_of(event, args)

    assert (None if call is None else str(call)) == says


@pytest.mark.parametrize(
    ("call", "allowed", "is_open"),
    [
        pytest.param(OutwardCall("s3.example", 443), {"s3.example"}, True, id="a host"),
        pytest.param(OutwardCall("s3.example", 443), {"example"}, False, id="a domain is no host"),
        pytest.param(OutwardCall("/usr/bin/helm", runs=True), {"helm"}, True, id="a program by its name"),
        pytest.param(OutwardCall("/usr/bin/helm", runs=True), {"/usr/bin/helm"}, True, id="a program by its path"),
        pytest.param(OutwardCall("/run/helm"), {"helm"}, False, id="a socket counts by its whole path"),
    ],
)
def test_what_is_allowed_is_named_whole(call: OutwardCall, allowed: set[str], is_open: bool) -> None:
    assert is_allowed(call, allowed) is is_open
