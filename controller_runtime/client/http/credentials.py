# SPDX-License-Identifier: Apache-2.0
"""The sources of credentials: constants, files that are rotated, and hooks of the official client."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import attrs

if TYPE_CHECKING:
    from kubernetes.client import Configuration


def _sendable(credential: Credential, attribute: attrs.Attribute[str | None], header: str | None) -> None:
    if header is not None and not (header.isascii() and header.isprintable()):
        raise ValueError("the token cannot be sent: it contains a line break or other characters that no token has")


@attrs.frozen
class Credential:
    """A credential by which this client authenticates.

    Attributes:
        header: The value of the `authorization` header; None to send none.
        certificate: Client certificate and key in PEM, if a plugin returned them; None for those of the configuration.
        expires_at: The time at which the credential expires; None if unknown.

    Raises:
        ValueError: The header has characters that cannot be sent.
    """

    header: str | None = attrs.field(default=None, repr=False, validator=_sendable)
    certificate: tuple[str, str] | None = attrs.field(default=None, repr=False)
    expires_at: datetime | None = None

    def has_expired(self, now: datetime) -> bool:
        """Return whether the credential has expired at `now`."""
        return self.expires_at is not None and now >= self.expires_at


@runtime_checkable
class CredentialSource(Protocol):
    """A source of credentials. Its `str()` is its name in messages.

    Threads: `ask` from one at a time, the rest from any.
    """

    @property
    def is_followed(self) -> bool:
        """Whether the source must be asked regularly, because it may return another credential at any time."""

    @property
    def is_quick(self) -> bool:
        """Whether `ask` takes hardly any time, so that the calling thread can run it."""

    def ask(self) -> Credential:
        """Return the current credential.

        Raises:
            Exception: There is no credential; the message has the reason.
        """

    def give_up(self) -> None:
        """Cancel a running `ask`, if that is possible."""


@attrs.frozen
class Constant:
    """A credential that does not change."""

    credential: Credential
    is_followed: bool = False
    is_quick: bool = True

    def ask(self) -> Credential:
        """Return the credential."""
        return self.credential

    def give_up(self) -> None:
        """Do nothing: `ask` does not wait."""

    def __call__(self, configuration: Configuration) -> None:
        """Do nothing. The official client calls this as its hook, and the configuration has the credential already."""


@attrs.frozen
class TokenFile:
    """A file with a token that another process renews, such as that of a service account."""

    path: Path
    is_followed: bool = True
    is_quick: bool = True

    def ask(self) -> Credential:
        """Return the token that is in the file now.

        Raises:
            OSError: The file cannot be read.
            ValueError: The file is empty.
        """
        token = self.path.read_text().strip()
        if not token:
            raise ValueError(f"the token file {self.path} is empty")
        return Credential(f"Bearer {token}")

    def give_up(self) -> None:
        """Do nothing: `ask` does not wait."""

    def __call__(self, configuration: Configuration) -> None:
        """Set the token. The official client calls this as its hook."""
        set_authorization(configuration, self.ask().header)


@attrs.frozen
class Configured:
    """The credential in a `Configuration` of the official client: a constant, or the result of a hook."""

    configuration: Configuration

    def __str__(self) -> str:
        return "the hook of the configuration"

    @property
    def is_followed(self) -> bool:
        """True if the credential comes from the configuration's hook, which may return another one at any time."""
        return self._hook is not None

    @property
    def is_quick(self) -> bool:
        """False if there is a hook, which may ask an identity provider."""
        return self._hook is None

    @property
    def _hook(self) -> object:
        return self.configuration.refresh_api_key_hook

    def ask(self) -> Credential:
        """Return the credential that the configuration has now."""
        value = authorization_of(self.configuration)
        return Credential(value.strip() if value else None)  # tokens read from files often end in a newline

    def give_up(self) -> None:
        """Do nothing: a hook cannot be interrupted."""


# The names under which a configuration of the official client keeps its token: from release 36 on, and before.
_TOKEN_NAMES = ("BearerToken", "authorization")


def authorization_of(configuration: Configuration) -> str | None:
    """Return the current value of the `authorization` header in an official `Configuration`; None if it has no token.

    The hook of the configuration is called first, if there is one. The token is found under the key of any release of
    the client, not only the installed one.
    """
    hook: object = configuration.refresh_api_key_hook
    if callable(hook):
        hook(configuration)
    key = _first(configuration.api_key)
    prefix = _first(configuration.api_key_prefix)
    return f"{prefix} {key}" if key and prefix else key


def _first(values: Mapping[str, str]) -> str | None:
    return next((values[name] for name in _TOKEN_NAMES if values.get(name)), None)


def set_authorization(configuration: Configuration, header: str | None) -> None:
    """Set the `authorization` header in an official `Configuration`, under the keys of all releases of the client."""
    for name in _TOKEN_NAMES:
        configuration.api_key[name] = header or ""
