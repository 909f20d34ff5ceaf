# SPDX-License-Identifier: Apache-2.0
"""The server for `unittest`.

Importing this module prepares the environment, unless a plugin of pytest has: clients read it when they are imported.
"""

from __future__ import annotations

import atexit
import unittest
from typing import TYPE_CHECKING

from apimachinery.errors import UsageError
from embedded_apiserver.testing import shared
from embedded_apiserver.testing.server import KubernetesServer

if TYPE_CHECKING:
    _Case = unittest.TestCase
else:
    _Case = object

if shared.suite is None:
    shared.begin(changes_environment=True)
    atexit.register(shared.end)


class KubernetesServerMixin(_Case):
    """Provides each test of a `unittest.TestCase` with an empty server, as `self.kubernetes_server`, from `setUp` on.

    Put it before `TestCase` in the list of base classes, import it before any client of Kubernetes, and call
    `super().setUp()` if you override `setUp`.
    """

    _kubernetes_server: KubernetesServer | None = None

    @property
    def kubernetes_server(self) -> KubernetesServer:
        """The server of the current test.

        Raises:
            UsageError: `setUp` of the mixin was not called.
        """
        if self._kubernetes_server is None:
            raise UsageError("there is no server yet: call super().setUp() first in setUp()")
        return self._kubernetes_server

    def setUp(self) -> None:
        """Start the server of the test."""
        super().setUp()
        self._kubernetes_server = self.enterContext(shared.present().server(self.id()))
