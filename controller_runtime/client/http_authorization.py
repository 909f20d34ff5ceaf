# SPDX-License-Identifier: Apache-2.0
"""Who we are, asked as time goes by and after a refusal; one asks while others use the last answer.

Credentials are asked for by one thread at a time, and nobody waits for them beyond the
deadline of the request that needs them. Files that are replaced are noticed by their status.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import attrs

from controller_runtime.client.credentials import Credential, source_of
from controller_runtime.core.errors import ConnectionLost
from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger

if TYPE_CHECKING:
    from kubernetes.client import Configuration

log = get_logger(__name__)

# How long what was asked counts as asked just now, be it in vain.
_FRESH = 1.0
# A server that refuses us whoever we say we are is no reason to run a plugin with every request.
_RENEWALS_APART = 5.0


@attrs.frozen
class Identity:
    """Who we are.

    Attributes:
        credential: What we say.
        files: The status of the files for TLS; another one means that they were replaced.
    """

    credential: Credential
    files: tuple[object, ...]

    @property
    def of_connection(self) -> tuple[object, ...]:
        """What a connection is made with, and cannot change."""
        return (self.credential.certificate, self.files)

    def is_told_from(self, other: Identity) -> bool:
        """Whether a server can tell the two apart."""
        return (self.credential.header, self.of_connection) != (other.credential.header, other.of_connection)


class Authorization:
    """The identity that a configuration gives us; asked for when it is needed first.

    Threads: any.
    """

    def __init__(self, host: Host, configuration: Configuration) -> None:
        self._host = host
        self._configuration = configuration
        self._source = source_of(configuration)
        # Guards the five below; never held while anybody is asked.
        self._condition = host.condition("authorization")
        self._asking = False
        self._failure: ConnectionLost | None = None
        self._identity: Identity | None = None  # until it was had for the first time
        self._asked_at = self._renewed_at = -float("inf")

    def identity(self, deadline: float) -> Identity:
        """Who we are now.

        Raises:
            ConnectionLost: The credentials could not be had, or not by `deadline`.
        """
        now = self._host.monotonic()
        with self._condition:
            if now - self._asked_at < _FRESH:
                return self._known()
        files = self._files()
        with self._condition:
            if self._is_good(files):
                self._asked_at = now
                return self._known()
            if self._asking and self._is_good(None):
                return self._known()
            is_ours = self._begin(deadline)
        return self._result(deadline, is_ours)

    def renewed(self, refused: Identity, deadline: float) -> Identity | None:
        """Who we are instead of `refused`, which the server does not know; None if that is all there is."""
        with self._condition:
            is_ours = False
            if not self._known().is_told_from(refused):
                now = self._host.monotonic()
                if not self._source.is_quick and not self._asking and now - self._renewed_at < _RENEWALS_APART:
                    return None
                self._renewed_at = now
                is_ours = self._begin(deadline)
        try:
            identity = self._result(deadline, is_ours)
        except ConnectionLost as error:  # the refusal is what the caller is told
            log.warning("the server refuses the credentials, and there are no others", error=error)
            return None
        return identity if identity.is_told_from(refused) else None

    def give_up(self) -> None:
        """Let go of what the credentials are waited for."""
        self._source.give_up()

    def _known(self) -> Identity:
        if self._identity is None:
            raise ConnectionLost(str(self._failure)) from self._failure
        return self._identity

    def _is_good(self, files: tuple[object, ...] | None) -> bool:
        """Whether what we know can be used; with `files`, whether nobody need ask for anything newer."""
        if self._identity is None:
            return False
        expires_at = self._identity.credential.expires_at
        has_expired = expires_at is not None and self._host.now() >= expires_at
        is_newest = files is None or (files == self._identity.files and not self._source.is_followed)
        return is_newest and not has_expired

    def _begin(self, deadline: float) -> bool:
        """Wait until nobody asks; whether we are the one who shall then, since nobody has meanwhile."""
        was_asking = self._asking
        while self._asking and self._host.monotonic() < deadline:
            self._condition.wait_until(deadline)
        if was_asking:
            return False
        self._asking = True
        return True

    def _result(self, deadline: float, is_ours: bool) -> Identity:
        if is_ours:
            self._ask_until(deadline)
        with self._condition:
            if self._asking:
                raise ConnectionLost("the credentials were not refreshed in time")
            if self._failure is not None:
                raise ConnectionLost(str(self._failure)) from self._failure
            return self._known()

    def _ask_until(self, deadline: float) -> None:
        if self._source.is_quick:
            self._ask()
            return
        try:  # it takes the time it takes, and ours is short
            thread = self._host.spawn("credentials", self._ask)
        except RuntimeError:  # the system has no threads left; this one has to do
            self._ask()
        else:
            thread.join_until(deadline)

    def _ask(self) -> None:
        identity = failure = None
        try:
            identity = self._asked()
        except ConnectionLost as error:
            failure = error
        with self._condition:
            self._asking = False
            self._asked_at = self._host.monotonic()
            self._failure = failure
            self._identity = identity or self._identity
            self._condition.notify_all()

    def _asked(self) -> Identity:
        files = self._files()
        try:
            return Identity(self._source.ask(), files)
        except Exception as error:  # plugins, files and identity providers fail in ways of their own
            raise ConnectionLost(f"the credentials could not be refreshed: {error}") from error

    def _files(self) -> tuple[object, ...]:
        c = self._configuration
        return tuple(_status(path) for path in (c.ssl_ca_cert, c.cert_file, c.key_file) if path)


def _status(path: str) -> object:
    try:
        status = os.stat(path)
    except OSError:  # whoever uses it will say so
        return None
    return (status.st_ino, status.st_mtime_ns, status.st_size)
