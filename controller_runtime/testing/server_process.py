# SPDX-License-Identifier: Apache-2.0
"""The embedded API server in its own process, so that it does not share Python's global interpreter lock with the
caller.
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from apimachinery.errors import ControllerRuntimeError
from apimachinery.host import Clock
from controller_runtime.core.extras import needed_by

_KUBECONFIG = b" kubeconfig="  # precedes the path at the end of the line that the server prints when it is ready


class APIServerProcess:
    """Starts `python -m embedded_apiserver`, or a program that takes the same options, and stops it.

    The server ends when this process does, even if that is killed: it reads the pipe on its standard input until the
    end. It runs in its own session, so Ctrl-C in the terminal reaches only this process, which can stop the server
    last.

    Args:
        clock: Measures the wait for the server.
        arguments: Further arguments of the command, such as `--data-dir DIR`.
        start_timeout: Seconds within which the server has to be ready.
        program: The module that `python -m` runs, and its first arguments.

    Threads: one at a time.
    """

    def __init__(
        self,
        clock: Clock,
        *arguments: str,
        start_timeout: float = 20.0,
        program: Sequence[str] = ("embedded_apiserver",),
    ) -> None:
        self._clock = clock
        self._arguments = arguments
        self._start_timeout = start_timeout
        self._program = program
        self._kubeconfig: Path | None = None
        # A file without a name, so that none is left behind however this process ends.
        self._errors: IO[bytes] | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig (mode 0600) with full access to the server; it is deleted when the server ends.

        Reading it raises `ControllerRuntimeError` if the server is not running.
        """
        if self._kubeconfig is None:
            raise ControllerRuntimeError("the embedded API server is not running")
        return self._kubeconfig

    @property
    def pid(self) -> int:
        """The id of the server's process. Reading it raises `ControllerRuntimeError` if the server is not running."""
        if self._process is None:
            raise ControllerRuntimeError("the embedded API server is not running")
        return self._process.pid

    def start(self) -> None:
        """Start the server and wait until it is ready.

        Raises:
            UsageError: The distribution of the server is not installed.
            ControllerRuntimeError: The server ended or was not ready in time; the message has its last line of standard
                error.
        """
        with needed_by("the embedded API server"):
            import embedded_apiserver  # noqa: F401  the program that is started imports it
        command = [sys.executable, "-m", *self._program, "--exit-with-parent", *self._arguments]
        # Not a pipe, because the server would block when the pipe is full. Closed by `stop`.
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, start_new_session=True
        )
        try:
            self._kubeconfig = self._wait_until_ready(self._process, self._errors)
        except BaseException:
            self.stop()
            raise

    def stop(self, grace: float = 2.0) -> None:
        """Stop the server; kill it if that takes longer than `grace` seconds. Idempotent."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(grace)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            self._process = None
        if self._errors is not None:
            self._errors.close()
            self._errors = None
        if self._kubeconfig is not None:  # a server that was killed has left it behind, and its directory
            self._kubeconfig.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                self._kubeconfig.parent.rmdir()
            self._kubeconfig = None

    def _wait_until_ready(self, process: subprocess.Popen[bytes], errors: IO[bytes]) -> Path:
        """Wait for the line that the server prints when it is ready, and return the path of the kubeconfig in it."""
        assert process.stdout is not None
        deadline = self._clock.monotonic() + self._start_timeout
        output = b""
        while b"\n" not in output:
            left = deadline - self._clock.monotonic()
            if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
                raise ControllerRuntimeError(
                    f"the embedded API server was not ready within {self._start_timeout:.0f} s: {_last_line(errors)}"
                )
            chunk = os.read(process.stdout.fileno(), 65536)
            if not chunk:
                raise ControllerRuntimeError(f"the embedded API server ended at its start: {_last_line(errors)}")
            output += chunk
        return Path(os.fsdecode(output.partition(b"\n")[0].rpartition(_KUBECONFIG)[2]))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _last_line(errors: IO[bytes]) -> str:
    size = os.fstat(errors.fileno()).st_size
    lines = os.pread(errors.fileno(), size, 0).decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it wrote nothing to standard error"
