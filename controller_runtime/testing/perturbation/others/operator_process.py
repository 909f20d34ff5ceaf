# SPDX-License-Identifier: Apache-2.0
"""The operator: a command in a session of its own, started and killed as its plan says."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from apimachinery.errors import UsageError
from apimachinery.host import Host

ENDED = 5.0
"""Seconds within which a process that was killed has to be gone."""


class OperatorProcess:
    """Runs a command with a kubeconfig in its environment.

    Args:
        host: The real machine's.
        command: The command and its arguments.
        kubeconfig: Named by `KUBECONFIG` in its environment, and in place of `{kubeconfig}` in its arguments.
        log: The file that gets what it prints.

    Threads: any.
    """

    def __init__(self, host: Host, command: Sequence[str], kubeconfig: Path, log: Path) -> None:
        self._command = [part.replace("{kubeconfig}", str(kubeconfig)) for part in command]
        self._environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
        self._log = log
        # Guards the process: the thread of a request kills it, and the thread of the trial starts it again.
        self._lock = host.lock("perturbed operator")
        self._process: subprocess.Popen[bytes] | None = None
        self.starts = 0

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        with self._lock:
            return self._process is not None and self._process.poll() is None

    @property
    def is_busy(self) -> bool:
        """Whether one of its threads runs, or waits for a processor (Linux; False elsewhere)."""
        with self._lock:
            pid = self._process.pid if self._process is not None else 0
        try:
            return any(_state(task) == "R" for task in Path(f"/proc/{pid}/task").iterdir())
        except OSError:
            return False

    def start(self) -> None:
        """Start it, unless it runs.

        Raises:
            UsageError: There is no such command.
        """
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                return
            self.starts += 1
            try:
                with self._log.open("ab") as log:
                    self._process = subprocess.Popen(
                        self._command,
                        env=self._environment,
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                        start_new_session=True,  # so that its children can be ended with it
                    )
            except OSError as error:
                raise UsageError(f"cannot run {self._command[0]}: {error.strerror}") from error

    def kill(self) -> None:
        """End it and its children as `kill -9` does. Idempotent."""
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(ENDED)


def _state(task: Path) -> str:
    """Return the state of a thread; empty if it has ended."""
    with contextlib.suppress(OSError):
        return (task / "stat").read_text().rpartition(") ")[2][:1]
    return ""
