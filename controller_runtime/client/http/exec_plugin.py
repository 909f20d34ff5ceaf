# SPDX-License-Identifier: Apache-2.0
"""Credentials from a program that the kubeconfig names, as clouds have them: run, bounded, and its answer read."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from controller_runtime.client.http.credentials import Credential
from controller_runtime.core.errors import UNREADABLE
from controller_runtime.core.host import Clock
from controller_runtime.core.system import SystemHost

if TYPE_CHECKING:
    from kubernetes.client import Configuration

PLUGIN_TIMEOUT = 60.0
"""Seconds that a plugin may take: those of clouds take one to three."""
LONGEST_CREDENTIAL = 1024**2
"""Bytes that a plugin may say: as many as a Secret holds."""

_NO_CREDENTIAL: tuple[type[Exception], ...] = (LookupError, TypeError, AttributeError, *UNREADABLE)
_PIECE = 64 * 1024  # bytes that are read at once, and kept of what a plugin complains of
_SHOWN = 300  # characters of a plugin's last words that go into an error


class ExecPlugin:
    """A `credentials.Source` that runs a program, which is never asked to talk to a terminal.

    Args:
        command: The program and its arguments.
        environment: What it finds in its environment besides ours.
        api_version: The version of the ExecCredential that it reads and writes.
        cluster: What it is told of the cluster; None for nothing.
        hint: How to install it.
        timeout: Seconds until it is killed.
        clock: Counts them; by default the machine's, on which the program runs.

    Threads: one asks, any gives up.
    """

    is_followed = False
    is_quick = False

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        api_version: str,
        cluster: Mapping[str, Any] | None = None,
        hint: str = "",
        timeout: float = PLUGIN_TIMEOUT,
        clock: Clock | None = None,
    ) -> None:
        self._command = [*command]
        self._environment = environment
        self._api_version = api_version
        self._cluster = cluster
        self._hint = hint
        self._timeout = timeout
        self._clock = clock or SystemHost()
        self._process: subprocess.Popen[bytes] | None = None  # the asker's; who gives up only kills it

    def __str__(self) -> str:
        return f"the credential plugin {self._command[0]!r}"

    def ask(self) -> Credential:
        """Run it.

        Raises:
            OSError: It cannot be run, fails, takes too long, or says too much.
            ValueError: What it says is no credential.
        """
        return self._credential(self._run())

    def give_up(self) -> None:
        """Kill it, if it runs."""
        process = self._process
        if process is not None:
            _kill(process)

    def __call__(self, configuration: Configuration) -> None:
        """As a hook of the official client, for tokens alone."""
        configuration.api_key["BearerToken"] = self.ask().header or ""

    def _run(self) -> bytes:
        spec: dict[str, Any] = {"interactive": False, **({"cluster": self._cluster} if self._cluster else {})}
        told = {"kind": "ExecCredential", "apiVersion": self._api_version, "spec": spec}
        environment = {**os.environ, **self._environment, "KUBERNETES_EXEC_INFO": json.dumps(told)}
        try:
            self._process = process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                start_new_session=True,  # so that what it started goes with it, and Ctrl-C is ours alone
            )
        except OSError as error:
            hint = f"; {self._hint}" if self._hint else ""
            raise OSError(f"{self} cannot be run: {error.strerror or error}{hint}") from error
        try:
            said, complained = self._heard_of(process)
        finally:
            self._process = None
        if process.returncode:
            words = complained.decode(errors="replace").strip()[-_SHOWN:]
            raise OSError(f"{self} failed with exit status {process.returncode}: {words or 'it said nothing'}")
        return said

    def _heard_of(self, process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
        """What it says until it ends, and the last of what it complains of; it is killed if either has no end."""
        deadline = self._clock.monotonic() + self._timeout
        said, complained = bytearray(), bytearray()
        with process, selectors.DefaultSelector() as selector:
            for pipe, heard in ((process.stdout, said), (process.stderr, complained)):
                assert pipe is not None, "both are pipes"
                selector.register(pipe, selectors.EVENT_READ, heard)
            try:
                while selector.get_map():
                    for key, _ in selector.select(self._left(deadline)):
                        if not (part := os.read(key.fd, _PIECE)):
                            selector.unregister(key.fileobj)
                        key.data.extend(part)
                    if len(said) > LONGEST_CREDENTIAL:
                        raise OSError(f"{self} said more than {LONGEST_CREDENTIAL} bytes, which is no credential")
                    del complained[:-_PIECE]
                process.wait(self._left(deadline))
            except subprocess.TimeoutExpired as error:
                raise OSError(f"{self} did not answer within {self._timeout:g} s") from error
            finally:
                _kill(process)
        return bytes(said), bytes(complained)

    def _left(self, deadline: float) -> float:
        left = deadline - self._clock.monotonic()
        if left <= 0:
            raise subprocess.TimeoutExpired(self._command, self._timeout)
        return left

    def _credential(self, said: bytes) -> Credential:
        try:
            answer = json.loads(said)
            kind = (answer["kind"], answer["apiVersion"])
            if kind != ("ExecCredential", self._api_version):
                raise ValueError(f"it is a {kind[1]} {kind[0]}, not a {self._api_version} ExecCredential")
            status = answer["status"]
            token, certificate, key = (status.get(name) for name in ("token", "clientCertificateData", "clientKeyData"))
            if bool(certificate) != bool(key) or not (token or certificate):
                raise ValueError("it has no token, nor both a certificate and its key")
            expires = status.get("expirationTimestamp")
            expires_at = datetime.fromisoformat(expires) if expires else None
            if expires_at is not None and expires_at.tzinfo is None:
                raise ValueError(f"its expirationTimestamp {expires!r} has no time zone")
            return Credential(
                f"Bearer {token}" if token else None,
                (certificate, key) if certificate else None,
                expires_at,
            )
        except _NO_CREDENTIAL as error:
            raise ValueError(f"{self} gave no credential: {error}") from error


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is None:  # else the number may be another's by now
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
