# SPDX-License-Identifier: Apache-2.0
"""The webhooks of a manager, which are made when they are first asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from apimachinery.host import Host
from apimachinery.stop import Stop
from controller_runtime.client.client import Client
from controller_runtime.client.counting import CountingTransport
from controller_runtime.manager.rights import Right

if TYPE_CHECKING:  # a program without webhooks should not pay for them
    from controller_runtime.webhooks.webhooks import Webhooks


class ManagedWebhooks:
    """The part of a manager that serves webhooks; a base of `Manager`, which makes the attributes.

    Threads: any, and one for the first use of `webhooks`.
    """

    host: Host
    transport: CountingTransport
    stopping: Stop
    declared: list[Right]
    _webhooks: Webhooks | None = None

    @property
    def webhooks(self) -> Webhooks:
        """The webhooks that this program serves: declare them by `add`, before the manager runs.

        They are served whether this replica leads or not, before any cache starts and until all else has ended.
        """
        if self._webhooks is None:
            from controller_runtime.webhooks.webhooks import Webhooks

            # Its client is not bound to a leadership: each replica keeps the certificates.
            self._webhooks = Webhooks(self.host, Client(self.host, self.transport))
        return self._webhooks

    @property
    def has_webhooks(self) -> bool:
        """Whether any webhooks are declared."""
        return bool(self._webhooks)

    @property
    def converted(self) -> frozenset[str]:
        """The names of the definitions whose versions this program converts."""
        return frozenset() if self._webhooks is None else self._webhooks.converted

    def with_conversion(self, definition: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return a definition with the place of its conversion, if its versions are converted here."""
        return definition if self._webhooks is None else self._webhooks.with_conversion(definition)

    def webhooks_problem(self) -> str:
        """Return why the webhooks are not served, or not trusted yet, in one line; empty if they are."""
        return "" if self._webhooks is None else self._webhooks.problem()

    def webhooks_unregistered(self) -> str:
        """Return why no API server calls some of the webhooks, in one line; empty if nothing is known to be missing."""
        return "" if self._webhooks is None else self._webhooks.unregistered()

    def start_webhooks(self) -> None:
        """Serve the webhooks, if any are declared; they do not wait for caches, which may wait for them.

        Raises:
            UsageError: Their address cannot be bound, or there is no certificate.
        """
        if self._webhooks is not None:
            for resource, names, namespace in self._webhooks.kept():
                self.declared.append(Right(resource, names=names, namespace=namespace))
            self._webhooks.start(self.stopping)

    def trust_webhooks(self) -> None:
        """Have API servers trust the conversions of definitions that were just installed, before caches ask them."""
        if self._webhooks is not None:
            self._webhooks.trust_new()

    def stop_webhooks(self) -> None:
        """Serve the webhooks no more. Idempotent."""
        if self._webhooks is not None:
            self._webhooks.close()
