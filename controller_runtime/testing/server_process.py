# SPDX-License-Identifier: Apache-2.0
"""The embedded API server as a process of its own, so that neither side slows the other."""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from controller_runtime.core.errors import ControllerRuntimeError
from controller_runtime.core.host import Clock

_ERRORS = "errors"  # the name of the file, beside the kubeconfig


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
        self._folder: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def kubeconfig(self) -> Path:
        """The file (mode 0600) with which anybody reaches the server; there while it runs."""
        if self._folder is None:
            raise ControllerRuntimeError("the embedded API server is not running")
        return self._folder / "kubeconfig"

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
        self._folder = Path(tempfile.mkdtemp(prefix="controller-runtime-"))
        command = [sys.executable, "-m", *self._program, "--exit-with-parent"]
        command += ["--kubeconfig-out", str(self.kubeconfig), *self._arguments]
        with (self._folder / _ERRORS).open("wb") as errors:  # a pipe that nobody reads would stop it once it is full
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=True
            )
        try:
            self._wait_until_ready(self._process)
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
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        deadline = self._clock.monotonic() + self._start_timeout
        said = b""
        while b"\n" not in said:
            left = deadline - self._clock.monotonic()
            if left <= 0 or not select.select([process.stdout], [], [], left)[0]:
                raise ControllerRuntimeError(
                    f"the embedded API server was not ready within {self._start_timeout:.0f} s: {self._last_words()}"
                )
            chunk = os.read(process.stdout.fileno(), 65536)
            if not chunk:
                raise ControllerRuntimeError(f"the embedded API server ended at its start: {self._last_words()}")
            said += chunk

    def _last_words(self) -> str:
        assert self._folder is not None
        lines = (self._folder / _ERRORS).read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
