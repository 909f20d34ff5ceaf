# SPDX-License-Identifier: Apache-2.0
"""Where credentials come from: what was configured, a file that is rotated, a plugin, a hook of the official client."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import attrs

if TYPE_CHECKING:
    from kubernetes.client import Configuration


def _sendable(credential: Credential, attribute: attrs.Attribute[str | None], header: str | None) -> None:
    if header is not None and not (header.isascii() and header.isprintable()):
        raise ValueError("the token cannot be sent: it holds a line break, or other characters that no token has")


@attrs.frozen
class Credential:
    """Who we say we are.

    Attributes:
        header: The value of `authorization`; None for none.
        certificate: Client certificate and key in PEM, where a plugin gave them; None for those of the configuration.
        expires_at: From when on it is of no use; None if it does not say.

    Raises:
        ValueError: The header cannot be sent.
    """

    header: str | None = attrs.field(default=None, repr=False, validator=_sendable)
    certificate: tuple[str, str] | None = attrs.field(default=None, repr=False)
    expires_at: datetime | None = None

    def has_expired(self, now: datetime) -> bool:
        """Whether it is of no use any more."""
        return self.expires_at is not None and now >= self.expires_at


@runtime_checkable
class Source(Protocol):
    """Gives credentials; as a string, what it is. Asked by one thread at a time."""

    @property
    def is_followed(self) -> bool:
        """Whether to ask again and again; if not, the credential says itself until when it is good."""

    @property
    def is_quick(self) -> bool:
        """Whether asking takes no time to speak of."""

    def ask(self) -> Credential:
        """The credential as it is now.

        Raises:
            Exception: It could not be had.
        """

    def give_up(self) -> None:
        """Let go of what `ask` waits for, if it can; from any thread."""


@attrs.frozen
class Constant:
    """A credential that does not change."""

    credential: Credential
    is_followed: bool = False
    is_quick: bool = True

    def ask(self) -> Credential:
        """The credential."""
        return self.credential

    def give_up(self) -> None:
        """Nothing waits."""

    def __call__(self, configuration: Configuration) -> None:
        """As a hook of the official client, to which the configuration says it all."""


@attrs.frozen
class TokenFile:
    """A file that holds a token and is rotated by somebody else, such as a service account's."""

    path: Path
    is_followed: bool = True
    is_quick: bool = True

    def ask(self) -> Credential:
        """What is in the file now.

        Raises:
            OSError: It cannot be read.
            ValueError: It is empty.
        """
        token = self.path.read_text().strip()
        if not token:
            raise ValueError(f"the token file {self.path} is empty")
        return Credential(f"Bearer {token}")

    def give_up(self) -> None:
        """Nothing waits."""

    def __call__(self, configuration: Configuration) -> None:
        """As a hook of the official client."""
        configuration.api_key["BearerToken"] = self.ask().header or ""


@attrs.frozen
class Configured:
    """What an official configuration says: constant, or what its hook makes of it, however long that takes."""

    configuration: Configuration

    def __str__(self) -> str:
        return "the hook of the configuration"

    @property
    def is_followed(self) -> bool:
        """A hook may renew what it gives whenever it likes."""
        return self._hook is not None

    @property
    def is_quick(self) -> bool:
        """A hook may ask an identity provider."""
        return self._hook is None

    @property
    def _hook(self) -> object:
        return self.configuration.refresh_api_key_hook

    def ask(self) -> Credential:
        """What the configuration says now."""
        value = self.configuration.get_api_key_with_prefix("BearerToken", alias="authorization")
        return Credential(value.strip() if value else None)  # files end in newlines more often than not

    def give_up(self) -> None:
        """A hook cannot be interrupted."""


def source_of(configuration: Configuration) -> Source:
    """Where the credentials of a configuration come from: its hook if that is one of ours, else it itself."""
    hook: object = configuration.refresh_api_key_hook
    return hook if isinstance(hook, Source) else Configured(configuration)
