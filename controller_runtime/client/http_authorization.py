# SPDX-License-Identifier: Apache-2.0
"""Who we are, asked of the official configuration as time goes by, by one thread at a time.

Its hooks re-read token files and run credential plugins, rewrite the configuration
as they do, and take no locks. So one caller asks while others use the last answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from controller_runtime.core.errors import ConnectionLost
from controller_runtime.core.host import Host

if TYPE_CHECKING:
    from kubernetes.client import Configuration

# The hook costs 50 µs even when nothing is due, a fifth of a small write; tokens live for minutes.
_FRESH = 1.0


class Authorization:
    """The `authorization` header of a configuration.

    Threads: any. The caller who finds it due asks, and waits as long as a credential plugin takes.
    """

    def __init__(self, host: Host, configuration: Configuration) -> None:
        self._host = host
        self._configuration = configuration
        # Guards the three below; never held while the configuration is asked.
        self._lock = host.lock("authorization")
        self._header = self._ask()
        self._asked_at = host.monotonic()
        self._asking = False

    def header(self) -> str | None:
        """The header's value, at most a second old; None where the configuration has none.

        Raises:
            ConnectionLost: The credentials could not be refreshed.
        """
        now = self._host.monotonic()
        with self._lock:
            if self._asking or now - self._asked_at < _FRESH:
                return self._header
            self._asking = True
            header = self._header
        try:
            header = self._ask()
        finally:
            with self._lock:
                self._asking = False
                self._asked_at = now
                self._header = header
        return header

    def _ask(self) -> str | None:
        try:
            value: str | None = self._configuration.get_api_key_with_prefix("BearerToken", alias="authorization")
        except Exception as error:  # plugins, files and identity providers fail in ways of their own
            raise ConnectionLost(f"the credentials could not be refreshed: {error}") from error
        # A token file ends in a newline more often than not.
        return value.strip() if value else None
