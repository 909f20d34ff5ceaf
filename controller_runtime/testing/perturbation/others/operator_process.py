# SPDX-License-Identifier: Apache-2.0
"""The operator: a command below a guardian process, started and killed when the plan says so."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, NamedTuple

from apimachinery.errors import ControllerRuntimeError, UsageError
from apimachinery.host import Host
from controller_runtime.testing.perturbation.others import guardian

_NONE: Mapping[str, str] = MappingProxyType({})


class Look(NamedTuple):
    """The present state of the operator's processes.

    Attributes:
        alive: True if the first process runs.
        status: The exit status of the first process if it has ended by itself, negative for a signal; otherwise None.
        processes: The number of processes, with all descendants (Linux; 0 elsewhere).
        busy: True if any thread of them runs, or waits for a processor (Linux; False elsewhere).
    """

    alive: bool
    status: int | None
    processes: int
    busy: bool

    @property
    def end(self) -> str:
        """A sentence with the first process's exit status or signal; empty if it has not ended by itself."""
        if self.status is None:
            return ""
        how = f"exit status {self.status}" if self.status >= 0 else f"signal {-self.status}"
        left = ", and its other processes run on: give the command that runs it in the foreground"
        return f"the operator has ended by itself with {how}{left if self.processes else ''}"


class OperatorProcess:
    """Runs a command with a kubeconfig; a context manager, after which no process or file of it is left.

    All processes end and the folder is removed even if this process is killed, because a guardian process does that.

    Args:
        host: The host of the real machine.
        command: The command and its arguments; `{kubeconfig}` in them is replaced by the path of the kubeconfig.

    Attributes:
        folder: The folder of the run, which also holds the temporary files of the operator.
        log: The file with the operator's output.
        left: The processes that could not be killed, as text.

    Threads: any.
    """

    def __init__(self, host: Host, command: Sequence[str]) -> None:
        self._command = command
        # Guards the pipe to the guardian: the thread of a request kills, and the thread of the trial starts and looks.
        self._lock = host.lock("guardian of a perturbed operator")
        self._runs = False
        self.left: list[str] = []

    def __enter__(self) -> OperatorProcess:
        self._guardian = subprocess.Popen(
            [sys.executable, "-I", "-S", guardian.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # so that no signal of a terminal reaches it
        )
        self.folder = Path(self._answer()["folder"])
        self.log = self.folder / "operator.log"
        (self.folder / "tmp").mkdir()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with self._lock:
            self._runs = False
            self._guardian.communicate()  # its input ends: it ends all, and removes the folder

    def look(self) -> Look:
        """Return whether the command is alive and busy."""
        with self._lock:
            if not self._runs:
                return Look(alive=False, status=None, processes=0, busy=False)
            return Look(**self._ask({"do": "look"}))

    def start(
        self, kubeconfig: Path, places: Mapping[str, str] = _NONE, environment: Mapping[str, str] = _NONE
    ) -> None:
        """Start the command with a kubeconfig; it must not be running.

        Args:
            kubeconfig: The path for `KUBECONFIG` in the environment, and for `{kubeconfig}` in the arguments.
            places: Texts for other names in braces in the arguments, by name.
            environment: Additional environment variables.

        Raises:
            UsageError: The command cannot be run.
        """
        command = [*self._command]
        for name, place in {"kubeconfig": str(kubeconfig), **places}.items():
            command = [part.replace(f"{{{name}}}", place) for part in command]
        self.run(command, {"KUBECONFIG": str(kubeconfig), **environment}, kubeconfig.name)

    def run(self, command: Sequence[str], environment: Mapping[str, str], title: str) -> None:
        """Start another command; none may be running.

        Args:
            command: The command and its arguments.
            environment: Additional environment variables.
            title: The text that marks this start in the log.

        Raises:
            UsageError: The command cannot be run.
        """
        environment = {"TMPDIR": str(self.folder / "tmp"), **environment}
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"# start {title}\n")
        with self._lock:
            asked = {"do": "start", "command": command, "environment": environment, "log": str(self.log)}
            answer = self._ask(asked)
            self._runs = "error" not in answer
        if "error" in answer:
            raise UsageError(f"cannot run {command[0]}: {answer['error']}")

    def kill(self) -> None:
        """Kill the command and all descendants with SIGKILL. Idempotent."""
        with self._lock:
            if self._runs:
                self._runs = False
                self.left += self._ask({"do": "end"})["left"]

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        assert self._guardian.stdin is not None, "it is a pipe"
        try:
            self._guardian.stdin.write(f"{json.dumps(request)}\n".encode())
            self._guardian.stdin.flush()
        except BrokenPipeError:
            pass  # it has no answer then
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._guardian.stdout is not None, "it is a pipe"
        line = self._guardian.stdout.readline()
        if not line:
            raise ControllerRuntimeError("the process that guards the operator was killed")
        answer: dict[str, Any] = json.loads(line)
        return answer
