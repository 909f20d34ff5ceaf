# SPDX-License-Identifier: Apache-2.0
"""Who we are, asked as time goes by and after a refusal; one asks while others use the last answer.

Credentials are asked for by one thread at a time, and nobody waits for them beyond the
deadline of the request that needs them. Files that are replaced are noticed by their status.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import attrs

from controller_runtime.client.http.credentials import Credential, source_of
from controller_runtime.client.http.inquiry import Inquiry
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
        # Guards the four below; never held while anybody is asked.
        self._lock = host.lock("authorization")
        self._identity: Identity | None = None  # the last there was
        self._inquiry = self._another_inquiry()  # the last that was begun, or is about to be
        self._asked_at = self._renewed_at = -float("inf")

    def identity(self, deadline: float) -> Identity:
        """Who we are now.

        Raises:
            ConnectionLost: The credentials could not be had, or not by `deadline`.
        """
        now = self._host.monotonic()
        with self._lock:
            known, inquiry = self._identity, self._inquiry
            is_fresh = now - self._asked_at < _FRESH
        if not is_fresh:
            files = self._files()
            with self._lock:
                known = self._usable(files, now)
                inquiry = self._inquiry if known else self._open_inquiry()
        return known or self._answer(inquiry, deadline)

    def renewed(self, refused: Identity, deadline: float) -> Identity | None:
        """Who we are instead of `refused`, which the server does not know; None if that is all there is."""
        now = self._host.monotonic()
        with self._lock:
            known, is_asking = self._identity, not self._inquiry.is_over
            if known is not None and known.is_told_from(refused):
                return known
            if not self._source.is_quick and not is_asking and now - self._renewed_at < _RENEWALS_APART:
                return None
            self._renewed_at = now
            inquiry = self._open_inquiry()
        try:
            identity = self._answer(inquiry, deadline)
        except ConnectionLost as error:  # the refusal is what the caller is told
            log.warning("the server refuses the credentials, and there are no others", error=error)
            return None
        return identity if identity.is_told_from(refused) else None

    def give_up(self) -> None:
        """Let go of what the credentials are waited for."""
        self._source.give_up()

    def _usable(self, files: tuple[object, ...], now: float) -> Identity | None:
        """What we know, if it will do: because it is the newest there is, or while somebody else asks for a newer."""
        known = self._identity
        if known is None or known.credential.has_expired(self._host.now()):
            return None
        if known.files == files and not self._source.is_followed:
            self._asked_at = now
            return known
        return None if self._inquiry.is_over else known

    def _open_inquiry(self) -> Inquiry[Identity]:
        if self._inquiry.is_over:
            self._inquiry = self._another_inquiry()
        return self._inquiry

    def _another_inquiry(self) -> Inquiry[Identity]:
        return Inquiry(self._host, "credentials", self._ask, is_quick=self._source.is_quick)

    def _answer(self, inquiry: Inquiry[Identity], deadline: float) -> Identity:
        if not inquiry.is_over_by(deadline):
            raise ConnectionLost(f"the credentials were not refreshed in time: {self._source} has yet to answer")
        if inquiry.answer is None:
            raise ConnectionLost(f"the credentials could not be refreshed: {inquiry.failure}") from inquiry.failure
        return inquiry.answer

    def _ask(self) -> Identity:
        files = self._files()  # before, so that those which are replaced meanwhile count as others
        try:
            identity = Identity(self._source.ask(), files)
            with self._lock:
                self._identity = identity
        finally:
            with self._lock:
                self._asked_at = self._host.monotonic()
        return identity

    def _files(self) -> tuple[object, ...]:
        c = self._configuration
        return tuple(_status(path) for path in (c.ssl_ca_cert, c.cert_file, c.key_file) if path)


def _status(path: str) -> object:
    try:
        status = os.stat(path)
    except OSError:  # whoever uses it will say so
        return None
    return (status.st_ino, status.st_mtime_ns, status.st_size)
