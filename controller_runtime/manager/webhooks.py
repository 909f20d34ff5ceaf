# SPDX-License-Identifier: Apache-2.0
"""The webhooks of a manager, which are created when they are first needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from apimachinery.host import Host
from apimachinery.stop import Stop
from controller_runtime.client.client import Client
from controller_runtime.client.transport import Transport
from controller_runtime.manager.rights import Right

if TYPE_CHECKING:  # a program without webhooks should not pay for them
    from controller_runtime.webhooks.webhooks import Webhooks


class DeclaredWebhooks:
    """The webhooks that a program has declared so far; false in a condition if there are none.

    The package of webhooks is imported only if a program declares one.

    Args:
        host: The manager's host.
        transport: Carries the requests that renew certificates; it is not bound to a leadership, since each replica
            renews them.

    Threads: any, and one for the first call of `made`.
    """

    def __init__(self, host: Host, transport: Transport) -> None:
        self._host, self._transport = host, transport
        self._made: Webhooks | None = None

    def made(self) -> Webhooks:
        """Return the webhooks; the first call creates them."""
        if self._made is None:
            from controller_runtime.webhooks.webhooks import Webhooks

            self._made = Webhooks(self._host, Client(self._host, self._transport))
        return self._made

    def __bool__(self) -> bool:
        """Return whether any webhooks are declared."""
        return bool(self._made)

    @property
    def converted(self) -> frozenset[str]:
        """The names of the definitions whose versions this program converts."""
        return frozenset() if self._made is None else self._made.converted

    def with_conversion(self, definition: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a definition with the address of the conversion webhook, if this program converts its versions."""
        return definition if self._made is None else self._made.with_conversion(definition)

    def problem(self) -> str:
        """Return in one line why the webhooks are not served, or not trusted yet; empty if they are."""
        return "" if self._made is None else self._made.problem()

    def unregistered(self) -> str:
        """Return in one line why no API server calls some of the webhooks; empty if no reason is known."""
        return "" if self._made is None else self._made.unregistered()

    def start(self, stopping: Stop, declare: Callable[[Right], None]) -> None:
        """Serve the webhooks, if any are declared. They do not wait for caches, because caches may wait for them.

        Args:
            stopping: The manager's stop, which is failed if they fail.
            declare: Called with the rights to the objects that store their certificates.

        Raises:
            UsageError: Their address cannot be bound, or there is no certificate.
        """
        if self._made is not None:
            for resource, names, namespace in self._made.kept():
                declare(Right(resource, names=names, namespace=namespace))
            self._made.start(stopping)

    def trust_new(self) -> None:
        """Make API servers trust the conversion webhooks of new definitions, before caches request their objects."""
        if self._made is not None:
            self._made.trust_new()

    def close(self) -> None:
        """Stop serving the webhooks. Idempotent."""
        if self._made is not None:
            self._made.close()
