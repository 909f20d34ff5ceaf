# SPDX-License-Identifier: Apache-2.0
"""The server as a process: it ends on a signal or with its parent, and writes a kubeconfig and one line when ready."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import os
import signal
import socket
import sys
import tempfile
from asyncio import sslproto
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs

from apimachinery.errors import UsageError
from apimachinery.host import Host
from apimachinery.http import Handler
from apimachinery.log import get_logger
from embedded_apiserver.shell.address import Address
from embedded_apiserver.shell.identity import Identity
from embedded_apiserver.shell.kubeconfig import kubeconfig, write_kubeconfig
from embedded_apiserver.shell.listener import raise_descriptor_limit, reserve
from embedded_apiserver.shell.shell import Shell, serve
from embedded_apiserver.upkeep.identity_lease import IdentityLease

log = get_logger(__name__)

# Bytes of the read buffer of a TLS connection: two TLS records.
_READ_BUFFER = 32 * 1024
# Seconds after which a thread that computes lets another one run. Python's default is 5 ms.
_SWITCH_INTERVAL = 0.0005


@attrs.frozen(kw_only=True)
class ProcessOptions:
    """The options of a server process.

    Attributes:
        port: The port; 0 lets the system choose one.
        address: The address to listen on, and the names for the certificate and the kubeconfig.
        kubeconfig_out: The path of the kubeconfig; None for a file in a private folder that is removed at the end.
        exit_with_parent: Stop when standard input is closed. The system closes it even if the parent is killed.
    """

    port: int = 0
    address: Address = attrs.field(factory=Address)
    kubeconfig_out: Path | None = None
    exit_with_parent: bool = False


def run(
    host: Host,
    handler: Handler,
    identity: Identity,
    options: ProcessOptions,
    announce: Callable[[str], None],
    lease: IdentityLease | None = None,
    publish: Callable[[int], None] | None = None,
) -> None:
    """Serve `handler` over TLS until SIGINT, SIGTERM or, if so configured, the end of the parent process.

    Args:
        host: The host that starts the threads for slow requests.
        handler: Answers the requests; called on this thread and on those threads.
        identity: The certificates that the server presents and the token that it accepts.
        options: The port and the files.
        announce: A function that is called with one line when the server is ready.
        lease: The identity lease to renew while the server runs; None for none.
        publish: A function that is called with the port before `announce`; None for none.

    Raises:
        UsageError: The port is in use, the address does not belong to this machine, the kubeconfig cannot be written,
            or standard input cannot show the end of the parent.

    Threads: the main thread, because Python delivers signals there.
    """
    # Each TLS connection has a buffer of this size. With asyncio's 256 KiB, five hundred watches take 145 MB; with
    # this, 33 MB. It is a setting of the whole process, which is ours here.
    sslproto.SSLProtocol.max_size = _READ_BUFFER
    # A small request releases the interpreter lock about ten times (at each system call and each call of OpenSSL).
    # While a heavy request computes, each time it waits this long to get the lock back.
    sys.setswitchinterval(_SWITCH_INTERVAL)
    # A full garbage collection stops all threads while it visits each object. The objects that exist now, modules and
    # schemas, live as long as the process: they need no visit.
    gc.freeze()
    raise_descriptor_limit()
    with _kubeconfig_path(options.kubeconfig_out) as path:
        asyncio.run(_serve(host, handler, identity, options, path, announce, lease, publish))


async def _serve(
    host: Host,
    handler: Handler,
    identity: Identity,
    options: ProcessOptions,
    path: Path,
    announce: Callable[[str], None],
    lease: IdentityLease | None,
    publish: Callable[[int], None] | None,
) -> None:
    until = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, until.set)
    if options.exit_with_parent:
        _watch_parent(loop, until)

    def started(port: int) -> None:
        place = options.address.at(port)
        url = f"https://{place}"
        with _explained(path):
            write_kubeconfig(path, kubeconfig(url, identity.certificates.authority, identity.token))
        if publish is not None:
            publish(port)
        if lease is not None:
            renewals.append(loop.create_task(_renew(lease, lease.begin(place), until)))
        if options.address.is_reached_from_elsewhere:
            log.warning(
                "other machines may reach this server for tests: a holder of its token is its administrator",
                address=options.address.bind,
                port=port,
            )
        announce(f"ready url={url} kubeconfig={path}")

    renewals: list[asyncio.Task[None]] = []
    context = identity.certificates.server_context()
    try:
        with _bound(options) as sock:
            await serve(Shell(host, handler), until, started, context=context, sock=sock)
    finally:
        until.set()
        await asyncio.gather(*renewals)


@contextlib.contextmanager
def _bound(options: ProcessOptions) -> Iterator[socket.socket]:
    """Bind the port; turn errors into `UsageError`, with a remedy."""
    bind = options.address.bind
    try:
        sock = reserve(options.port, bind)
    except OSError as error:
        if error.errno == errno.EADDRNOTAVAIL:
            remedy = "choose one of its addresses with --bind-address, or 0.0.0.0 for all"
            raise UsageError(f"{bind} is no address of this machine: {remedy}") from error
        reason = "is taken" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
        raise UsageError(f"port {options.port} of {bind} {reason}: choose another with --port") from error
    with sock:
        yield sock


async def _renew(lease: IdentityLease, wait: float, until: asyncio.Event) -> None:
    while not until.is_set():
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(until.wait(), wait)
            break
        wait = lease.beat()
    lease.end()


@contextlib.contextmanager
def _kubeconfig_path(asked: Path | None) -> Iterator[Path]:
    if asked is not None:
        yield asked.absolute()
        return
    with tempfile.TemporaryDirectory(prefix="controller-runtime-") as folder:
        yield Path(folder) / "kubeconfig"


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn errors in writing the kubeconfig into `UsageError`, with a remedy."""
    try:
        yield
    except FileExistsError as error:
        raise UsageError(f"kubeconfig {error}: choose another file with --kubeconfig-out") from error
    except OSError as error:
        remedy = "choose a file in a folder of yours with --kubeconfig-out"
        raise UsageError(f"kubeconfig {path} cannot be written ({error.strerror}): {remedy}") from error


def _watch_parent(loop: asyncio.AbstractEventLoop, until: asyncio.Event) -> None:
    def read() -> None:
        if not os.read(source, 4096):
            loop.remove_reader(source)
            until.set()

    try:
        source = sys.stdin.fileno()
        loop.add_reader(source, read)
    except (AttributeError, ValueError, OSError) as error:  # no standard input, a closed one, or a plain file
        raise UsageError("--exit-with-parent needs a pipe or a terminal as standard input, held open") from error
