# SPDX-License-Identifier: Apache-2.0
"""Credentials from a program that the kubeconfig names (an exec plugin), as most cloud providers use."""

from __future__ import annotations

import contextlib
import json
import os
import re
import selectors
import signal
import subprocess
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from apimachinery.errors import UNREADABLE
from apimachinery.host import Clock
from apimachinery.system import SystemHost
from controller_runtime.client.http.credentials import Credential

if TYPE_CHECKING:
    from kubernetes.client import Configuration

PLUGIN_TIMEOUT = 60.0
"""The timeout of a plugin in seconds; those of cloud providers take one to three."""
LONGEST_CREDENTIAL = 1024**2
"""The most bytes of a plugin's output: as many as a Secret may have."""

_NO_CREDENTIAL: tuple[type[Exception], ...] = (LookupError, TypeError, AttributeError, *UNREADABLE)
_PIECE = 64 * 1024  # bytes that are read at once, and most bytes of stderr that are kept
_SHOWN = 300  # characters of the last line of stderr that go into an error
# The value after the name of a credential, and texts that are as long as tokens are and have no space.
_SECRET = re.compile(
    r"((?:passw\w*|pwd|secret\w*|token\w*|\w*key\w*|authorization|bearer|basic|credential\w*)[\"']?(?:\s*[:=]\s*|\s+))"
    r"(?:(?:bearer|basic)\s+)?[^\s,;&]+|(?<![^\s=:\"'])[\w.+/=-]{40,}",
    re.IGNORECASE,
)


class ExecPlugin:
    """A `credentials.CredentialSource` that runs a program, which has no terminal.

    Args:
        command: The program and its arguments.
        environment: Environment variables that are added to those of this process.
        api_version: The API version of the ExecCredential that the plugin reads and writes.
        cluster: The description of the cluster that is passed to the program; None to pass nothing.
        hint: How to install the program, for messages.
        timeout: Seconds after which the program is killed.
        clock: The clock of the timeout; by default the machine's, since the program does not run in simulated time.

    Threads: `ask` from one at a time, `give_up` from any.
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
        self._process: subprocess.Popen[bytes] | None = None  # set by the thread in `ask`; `give_up` only kills it

    def __str__(self) -> str:
        return f"the credential plugin {self._command[0]!r}"

    def ask(self) -> Credential:
        """Run the program and return its credential.

        Raises:
            OSError: The program cannot be run, fails, takes too long, or writes too much.
            ValueError: Its output is not a credential.
        """
        return self._credential(self._run())

    def give_up(self) -> None:
        """Kill the program if it is running."""
        process = self._process
        if process is not None:
            _kill(process)

    def __call__(self, configuration: Configuration) -> None:
        """Set the token. The official client calls this as its hook; it has no place for certificates."""
        configuration.api_key["BearerToken"] = self.ask().header or ""

    def _run(self) -> bytes:
        spec: dict[str, Any] = {"interactive": False, **({"cluster": self._cluster} if self._cluster else {})}
        info = {"kind": "ExecCredential", "apiVersion": self._api_version, "spec": spec}
        environment = {**os.environ, **self._environment, "KUBERNETES_EXEC_INFO": json.dumps(info)}
        try:
            self._process = process = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                start_new_session=True,  # its children are killed with it, and Ctrl-C does not reach it
            )
        except OSError as error:
            hint = f"; {self._hint}" if self._hint else ""
            raise OSError(f"{self} cannot be run: {error.strerror or error}{hint}") from error
        try:
            output, errors = self._output_of(process)
        finally:
            self._process = None
        if process.returncode:
            raise OSError(f"{self} failed with exit status {process.returncode}: {_last_words(errors)}")
        return output

    def _output_of(self, process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
        """Return its output and the end of its stderr; kill it at the timeout, or if it writes too much."""
        deadline = self._clock.monotonic() + self._timeout
        output, errors = bytearray(), bytearray()
        with process, selectors.DefaultSelector() as selector:
            for pipe, buffer in ((process.stdout, output), (process.stderr, errors)):
                assert pipe is not None, "both are pipes"
                selector.register(pipe, selectors.EVENT_READ, buffer)
            try:
                while selector.get_map():
                    for key, _ in selector.select(self._left(deadline)):
                        if not (part := os.read(key.fd, _PIECE)):
                            selector.unregister(key.fileobj)
                        key.data.extend(part)
                    if len(output) > LONGEST_CREDENTIAL:
                        raise OSError(f"{self} wrote more than {LONGEST_CREDENTIAL} bytes, which is not a credential")
                    del errors[:-_PIECE]
                process.wait(self._left(deadline))
            except subprocess.TimeoutExpired as error:
                raise OSError(f"{self} did not answer within {self._timeout:g} s") from error
            finally:
                _kill(process)
        return bytes(output), bytes(errors)

    def _left(self, deadline: float) -> float:
        left = deadline - self._clock.monotonic()
        if left <= 0:
            raise subprocess.TimeoutExpired(self._command, self._timeout)
        return left

    def _credential(self, output: bytes) -> Credential:
        try:
            answer = json.loads(output)
            kind = (answer["kind"], answer["apiVersion"])
            if kind != ("ExecCredential", self._api_version):
                raise ValueError(f"it is a {kind[1]} {kind[0]}, not a {self._api_version} ExecCredential")
            status = answer["status"]
            token, certificate, key = (status.get(name) for name in ("token", "clientCertificateData", "clientKeyData"))
            if bool(certificate) != bool(key) or not (token or certificate):
                raise ValueError("it has neither a token nor a certificate with its key")
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
            raise ValueError(f"{self} returned no credential: {error}") from error


def _last_words(errors: bytes) -> str:
    """Return the last line of a plugin's stderr, for an error that will be logged.

    It is escaped, at most `_SHOWN` characters, and lacks the values that look like credentials: a plugin may print the
    request that it made, or a token that was refused.
    """
    lines = errors.decode(errors="replace").strip().splitlines()
    if not lines:
        return "its stderr is empty"
    text = _SECRET.sub(lambda found: f"{found[1] or ''}<hidden>", lines[-1].strip())[-_SHOWN:]
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in text)


def _kill(process: subprocess.Popen[bytes]) -> None:
    if process.returncode is None:  # or the system may have given its number to another process
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
