# SPDX-License-Identifier: Apache-2.0
"""A site: an address on loopback whose port, authority and token stay the same for the servers of successive tests."""

from __future__ import annotations

import errno
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from apimachinery.errors import UsageError
from apimachinery.host import Host
from embedded_apiserver.shell.address import LOOPBACK
from embedded_apiserver.shell.identity import new_identity
from embedded_apiserver.shell.kubeconfig import kubeconfig, write_private
from embedded_apiserver.shell.listener import reserve
from embedded_apiserver.shell.thread import LoopbackServer
from embedded_apiserver.testing.front import Front
from embedded_apiserver.testing.round import Credentials, Round
from embedded_apiserver.users import AUTHENTICATED, User


class Site:
    """An address on loopback, and a private folder with the kubeconfigs of the administrator and other users.

    Servers of successive tests (rounds) use the same address. Before the first round the port is bound but does not
    listen, so connections are refused, and there is no thread. After that, requests between rounds get the status 503.

    Args:
        host: The host of the machine.
        port: The port; 0 lets the system choose one.

    Attributes:
        front: Passes requests to the current round.
        url: The URL.
        kubeconfig: The path of the administrator's kubeconfig.

    Raises:
        UsageError: The port is in use or not allowed.

    Threads: one.
    """

    def __init__(self, host: Host, port: int = 0) -> None:
        try:
            self._socket = reserve(port)
        except OSError as error:
            reason = "is taken" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
            raise UsageError(f"port {port} of {LOOPBACK} {reason}: choose another one, or 0 for any") from error
        self._host = host
        identity = new_identity(host.now())
        self._certificates = identity.certificates
        self.credentials = Credentials(
            identity.token, identity.signing_key, identity.certificates.authority.decode(), {}
        )
        self.front = Front()
        self.url = f"https://{LOOPBACK}:{self._socket.getsockname()[1]}"
        self._folder = Path(tempfile.mkdtemp(prefix="embedded-apiserver-"))
        self.kubeconfig = self._folder / "kubeconfig"
        self._write(self.kubeconfig, identity.token)
        self._files: list[tuple[User, Path]] = []
        self._thread: LoopbackServer | None = None

    def begin(self, test: str, options: Mapping[str, Any]) -> Round:
        """Start the server of a test, with a new and empty storage, and return it.

        Args:
            test: The name of the test.
            options: Further arguments of `APIServer`.

        Raises:
            UsageError: An option is invalid.
        """
        begun = Round(self._host, self.credentials, test, options)
        self.front.begin(begun)
        if self._thread is None:
            self._thread = LoopbackServer(
                self._host, self.front, certificates=self._certificates, sock=self._socket, daemon=True
            )
            self._thread.start()
        begun.server.publish(self._thread.port)
        return begun

    def renew(self, old: Round, options: Mapping[str, Any]) -> Round:
        """Replace the server of a test by one with an empty storage, end the old one's watches, and return the new
        one.
        """
        renewed = Round(self._host, self.credentials, old.test, options)
        self.front.replace(old, renewed)
        self._finish(old)
        return renewed

    def end(self, ended: Round) -> list[str]:
        """End the server of a test: its watches, and the connections with a request in progress.

        Return messages about watches that code of earlier tests has opened.

        Raises:
            Exception: The error of a task that ran in the round and failed.
        """
        self.front.end(ended)
        self._finish(ended)
        return self.front.take_leftovers()

    def user(self, name: str, groups: Sequence[str]) -> Path:
        """Return the path of a kubeconfig for a user with these groups, which is valid in every test."""
        user = User(name, groups=tuple(dict.fromkeys((*groups, AUTHENTICATED))))
        for known, path in self._files:
            if known == user:
                return path
        path = self._folder / f"user-{len(self._files)}"
        token = new_token(self._host)
        self.credentials.users[token] = user
        self._write(path, token)
        self._files.append((user, path))
        return path

    def close(self) -> None:
        """Stop the server, free the port and remove the folder. Idempotent."""
        if self._thread is not None:
            self._thread.stop()
        self._socket.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _finish(self, ended: Round) -> None:
        try:
            ended.end()
        finally:
            if self._thread is not None:
                self._thread.cut()

    def _write(self, path: Path, token: str) -> None:
        text = kubeconfig(self.url, self._certificates.authority, token)
        write_private(path, text.encode())


def new_token(host: Host) -> str:
    """Return a new bearer token without dots, so that it cannot be confused with a service account's token."""
    return (host.uuid() + host.uuid()).replace("-", "")
