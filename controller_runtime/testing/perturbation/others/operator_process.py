# SPDX-License-Identifier: Apache-2.0
"""The operator: a command below a guardian, started and killed as its plan says."""

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
    """A look at an operator.

    Attributes:
        alive: Whether its first process runs.
        status: The exit status of its first process once that has ended by itself, negative for a signal; else None.
        processes: How many processes it has, with all descendants (Linux; 0 elsewhere).
        busy: Whether a thread of one of them runs, or waits for a processor (Linux; False elsewhere).
    """

    alive: bool
    status: int | None
    processes: int
    busy: bool

    @property
    def end(self) -> str:
        """How it has ended by itself; empty if it has not."""
        if self.status is None:
            return ""
        how = f"exit status {self.status}" if self.status >= 0 else f"signal {-self.status}"
        left = ", and its other processes run on: give the command that runs it in the foreground"
        return f"the operator has ended by itself with {how}{left if self.processes else ''}"


class OperatorProcess:
    """Runs a command with a kubeconfig in its environment; a context manager, after which nothing of it is left.

    All its processes end, and its folder is removed, also when this process is killed: a guardian sees to that.

    Args:
        host: The real machine's.
        command: The command and its arguments; `{kubeconfig}` in them is the path of the kubeconfig.

    Attributes:
        folder: The folder of the run. Temporary files of the operator lie in it.
        log: The file that gets what the operator prints.
        left: The processes that could not be ended, as text.

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
        """Return whether it is alive and busy."""
        with self._lock:
            if not self._runs:
                return Look(alive=False, status=None, processes=0, busy=False)
            return Look(**self._ask({"do": "look"}))

    def start(
        self, kubeconfig: Path, places: Mapping[str, str] = _NONE, environment: Mapping[str, str] = _NONE
    ) -> None:
        """Start it; it must not run.

        Args:
            kubeconfig: Named by `KUBECONFIG` in its environment, and in place of `{kubeconfig}` in its arguments.
            places: The texts that take the place of other names in braces in its arguments.
            environment: More variables of its environment.

        Raises:
            UsageError: There is no such command.
        """
        command = [*self._command]
        for name, place in {"kubeconfig": str(kubeconfig), **places}.items():
            command = [part.replace(f"{{{name}}}", place) for part in command]
        self.run(command, {"KUBECONFIG": str(kubeconfig), **environment}, kubeconfig.name)

    def run(self, command: Sequence[str], environment: Mapping[str, str], title: str) -> None:
        """Start a command; none must run.

        Raises:
            UsageError: There is no such command.
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
        """End it and all its descendants as `kill -9` does. Idempotent."""
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
