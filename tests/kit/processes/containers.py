# SPDX-License-Identifier: Apache-2.0
"""Programs for the images that suites of other clients use: their commands run on this machine, in a folder.

They stand in for containers. Only paths below nginx's folder of pages are moved into the folder; so use them for the
commands of known tests alone.
"""

from __future__ import annotations

import subprocess
import threading
from http.server import SimpleHTTPRequestHandler
from pathlib import Path
from typing import Any, BinaryIO, cast

from embedded_apiserver.programs import Killed, Output, Process, Program

_PAGES = "/usr/share/nginx/html"
_WELCOME = "<html><body><h1>Welcome to nginx!</h1></body></html>\n"
_CHUNK = 64 * 1024
_NOT_FOUND = 127
"""The exit status of a shell for a command that does not exist."""


def command(process: Process, folder: Path) -> int:
    """Run the command of a process on this machine, with its streams, and return the exit status."""
    args = [arg.replace(_PAGES, str(folder)) for arg in process.args]
    pipe = subprocess.PIPE
    try:
        child = subprocess.Popen(args, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
    except FileNotFoundError as error:
        process.stderr.write(f"{error}\n")
        return _NOT_FOUND
    with child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stderr is not None
        threading.Thread(target=_feed, args=(process, child.stdin), daemon=True).start()
        outputs = [
            threading.Thread(target=_pump, args=(cast("BinaryIO", source), target), daemon=True)
            for source, target in ((child.stdout, process.stdout), (child.stderr, process.stderr))
        ]
        for thread in outputs:
            thread.start()
        for thread in outputs:
            thread.join()
        return child.wait()


def _feed(process: Process, target: Any) -> None:
    """Hand the input on until it ends, or the command does."""
    try:
        while data := process.stdin.read1(_CHUNK):
            target.write(data)
        target.close()
    except (Killed, OSError, ValueError):
        return


def _pump(source: BinaryIO, target: Output) -> None:
    try:
        while data := source.read(_CHUNK):
            target.write(data)
    except Killed:
        return


def echo(process: Process) -> None:
    """Send back what is sent to a port."""
    while data := process.stdin.read1(_CHUNK):
        process.stdout.write(data)


class _Connection:
    """A forwarded connection in the shape of a socket, as far as the standard library's HTTP server uses one."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def makefile(self, mode: str, buffering: int = -1) -> Any:
        return self._process.stdin

    def sendall(self, data: bytes) -> None:
        self._process.stdout.write(bytes(data))


class _Pages(SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Log nothing."""


def images(folder: Path) -> dict[str, Program]:
    """Return the programs by image.

    Args:
        folder: An empty folder, in which commands run and nginx has its pages.
    """
    (folder / "index.html").write_text(_WELCOME)

    def run(process: Process) -> int:
        return command(process, folder)

    def pages(process: Process) -> None:
        _Pages(cast("Any", _Connection(process)), ("127.0.0.1", 0), cast("Any", None), directory=str(folder))

    plain = Program(run)
    return {
        "busybox": plain,
        "ubuntu": plain,
        "nginx": Program(run, ports={80: pages}),
        "python": Program(run, ports={1234: echo, 1235: echo}),
    }
