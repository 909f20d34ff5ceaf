# SPDX-License-Identifier: Apache-2.0
"""A process that serves until it is told to stop: signals, its parent's end, the kubeconfig, the one line."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import os
import signal
import sys
import tempfile
from asyncio import sslproto
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs

from controller_runtime.api.http import Handler
from controller_runtime.apiserver.shell.identity import Identity
from controller_runtime.apiserver.shell.kubeconfig import kubeconfig, write_kubeconfig
from controller_runtime.apiserver.shell.listener import LOOPBACK, raise_descriptor_limit
from controller_runtime.apiserver.shell.shell import serve
from controller_runtime.apiserver.upkeep.identity_lease import IdentityLease
from controller_runtime.core.errors import UsageError
from controller_runtime.core.host import Host

# Bytes that one read of a connection over TLS may take: two records.
_READ_BUFFER = 32 * 1024
# Seconds that a thread computes before another gets its turn; Python's own are 5 ms.
_SWITCH_INTERVAL = 0.0005


@attrs.frozen(kw_only=True)
class ProcessOptions:
    """How a server process serves.

    Attributes:
        port: On loopback; the system picks one for 0.
        kubeconfig_out: Where the kubeconfig goes; None is a private folder that is gone after the process.
        exit_with_parent: Stop when standard input ends, which it does however the process at its other end ends.
    """

    port: int = 0
    kubeconfig_out: Path | None = None
    exit_with_parent: bool = False


def run(
    host: Host,
    handler: Handler,
    identity: Identity,
    options: ProcessOptions,
    announce: Callable[[str], None],
    lease: IdentityLease | None = None,
) -> None:
    """Serve `handler` over TLS until SIGINT, SIGTERM or the parent's end.

    Args:
        host: Makes the threads that answer what takes long.
        handler: Answers; called on this thread, and on those.
        identity: What it shows, and what it takes; the kubeconfig tells clients.
        options: Port and files.
        announce: Told one line once the server answers.
        lease: Says meanwhile that the server runs.

    Raises:
        UsageError: The port is taken or the kubeconfig cannot be written.

    Threads: the main one, for the signals' sake.
    """
    # Each connection over TLS keeps a buffer of this size for itself: with the 256 KiB that asyncio takes, five
    # hundred watchers cost 145 MB, so 33. A setting of the whole process; this one is ours.
    sslproto.SSLProtocol.max_size = _READ_BUFFER
    # A small request gives up the interpreter about ten times (for each call into the system and into OpenSSL), and
    # waits this long for it each time while a heavy one computes.
    sys.setswitchinterval(_SWITCH_INTERVAL)
    # A full collection holds up all threads, for as long as it takes to look at each object; those that are there
    # now, modules and schemas, stay anyway.
    gc.freeze()
    raise_descriptor_limit()
    with _kubeconfig_path(options.kubeconfig_out) as path:
        asyncio.run(_serve(host, handler, identity, options, path, announce, lease))


async def _serve(
    host: Host,
    handler: Handler,
    identity: Identity,
    options: ProcessOptions,
    path: Path,
    announce: Callable[[str], None],
    lease: IdentityLease | None,
) -> None:
    until = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, until.set)
    if options.exit_with_parent:
        _watch_parent(loop, until)

    def tell(port: int) -> None:
        url = f"https://{LOOPBACK}:{port}"
        with _told_about(path):
            write_kubeconfig(path, kubeconfig(url, identity.certificates.authority, identity.token))
        if lease is not None:
            beating.append(loop.create_task(_keep(lease, lease.begin(f"{LOOPBACK}:{port}"), until)))
        announce(f"ready url={url} kubeconfig={path}")

    beating: list[asyncio.Task[None]] = []
    context = identity.certificates.server_context()
    try:
        await serve(host, handler, until, tell, port=options.port, context=context)
    except OSError as error:
        reason = "is taken" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
        raise UsageError(f"port {options.port} of {LOOPBACK} {reason}: choose another with --port") from error
    finally:
        until.set()
        await asyncio.gather(*beating)


async def _keep(lease: IdentityLease, wait: float, until: asyncio.Event) -> None:
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
def _told_about(path: Path) -> Iterator[None]:
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
    except (AttributeError, ValueError, OSError) as error:  # none, closed, or a plain file, which never ends
        raise UsageError("--exit-with-parent needs a pipe or a terminal as standard input, held open") from error
