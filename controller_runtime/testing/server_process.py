# SPDX-License-Identifier: Apache-2.0
"""The embedded API server as a process of its own, so that neither side slows the other."""

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

from controller_runtime.core.errors import ControllerRuntimeError
from controller_runtime.core.host import Clock

_TOLD = b" kubeconfig="  # the last word of the line by which the server says that it is ready


class APIServerProcess:
    """Starts `python -m controller_runtime.apiserver`, or a program that takes the same options, and stops it.

    The server ends when this process does, however that ends: it watches the pipe on
    its standard input. It runs in a session of its own, so Ctrl-C in the terminal
    reaches this process alone, which then stops the server when it no longer needs it.

    Args:
        clock: Bounds the wait for the server.
        arguments: Further arguments of the command, such as `--data-dir DIR`.
        start_timeout: Seconds the server may take to be ready.
        program: What `python -m` runs, and its first arguments.

    Threads: one owner.
    """

    def __init__(
        self,
        clock: Clock,
        *arguments: str,
        start_timeout: float = 20.0,
        program: Sequence[str] = ("controller_runtime.apiserver",),
    ) -> None:
        self._clock = clock
        self._arguments = arguments
        self._start_timeout = start_timeout
        self._program = program
        self._kubeconfig: Path | None = None
        # Without a name, so that nothing is left of it however this process ends.
        self._errors: IO[bytes] | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def kubeconfig(self) -> Path:
        """The file (mode 0600) with which anybody reaches the server; it is the server's own, and goes with it."""
        if self._kubeconfig is None:
            raise ControllerRuntimeError("the embedded API server is not running")
        return self._kubeconfig

    @property
    def pid(self) -> int:
        """The server's process."""
        if self._process is None:
            raise ControllerRuntimeError("the embedded API server is not running")
        return self._process.pid

    def start(self) -> None:
        """Start the server and wait until it answers.

        Raises:
            ControllerRuntimeError: It ended or was not ready in time; the message has its last words.
        """
        command = [sys.executable, "-m", *self._program, "--exit-with-parent", *self._arguments]
        # A pipe that nobody reads would stop the server once it is full. Closed by `stop`.
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
        """End the server, by force if it takes longer than `grace` seconds. Idempotent."""
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
        if self._kubeconfig is not None:  # still there if the server was killed; then its folder is, too
            self._kubeconfig.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                self._kubeconfig.parent.rmdir()
            self._kubeconfig = None

    def _wait_until_ready(self, process: subprocess.Popen[bytes], errors: IO[bytes]) -> Path:
        """Wait for the line that says where the kubeconfig is."""
        assert process.stdout is not None
        deadline = self._clock.monotonic() + self._start_timeout
        said = b""
        while b"\n" not in said:
            left = deadline - self._clock.monotonic()
            if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
                raise ControllerRuntimeError(
                    f"the embedded API server was not ready within {self._start_timeout:.0f} s: {_last_words(errors)}"
                )
            chunk = os.read(process.stdout.fileno(), 65536)
            if not chunk:
                raise ControllerRuntimeError(f"the embedded API server ended at its start: {_last_words(errors)}")
            said += chunk
        return Path(os.fsdecode(said.partition(b"\n")[0].rpartition(_TOLD)[2]))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _last_words(errors: IO[bytes]) -> str:
    size = os.fstat(errors.fileno()).st_size
    lines = os.pread(errors.fileno(), size, 0).decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else "it said nothing"
