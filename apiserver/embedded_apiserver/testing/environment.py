# SPDX-License-Identifier: Apache-2.0
"""The environment variables by which clients of Kubernetes find their server."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from pathlib import Path

from embedded_apiserver.shell.address import LOOPBACK

KUBECONFIG = "KUBECONFIG"
_IN_CLUSTER = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "KUBERNETES_SERVICE_PORT_HTTPS")
_PROXIES = ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy")
_NO_PROXY = ("NO_PROXY", "no_proxy")


def changes(environment: MutableMapping[str, str], kubeconfig: Path) -> dict[str, str | None]:
    """Return the environment variables to change so that clients find only this kubeconfig: new values, or None to
    unset.

    `KUBECONFIG` is set to the file. The variables that a pod has are unset, because clients prefer them. If a proxy is
    configured, 127.0.0.1 bypasses it.
    """
    changed: dict[str, str | None] = {KUBECONFIG: str(kubeconfig), **dict.fromkeys(_IN_CLUSTER)}
    if any(environment.get(name) for name in _PROXIES):
        for name in _NO_PROXY:
            excepted = environment.get(name, "")
            if LOOPBACK not in excepted.split(",") and excepted != "*":
                changed[name] = ",".join(filter(None, (excepted, LOOPBACK)))
    return changed


class ProcessEnvironment:
    """Changes to the environment variables of this process, in effect from `enter` to `leave`.

    Args:
        kubeconfig: The kubeconfig for clients.
        environment: The variables to change; None for those of this process.

    Threads: one.
    """

    def __init__(self, kubeconfig: Path, environment: MutableMapping[str, str] | None = None) -> None:
        self._kubeconfig = kubeconfig
        self._environment = os.environ if environment is None else environment
        self._before: dict[str, str | None] = {}

    def enter(self) -> None:
        """Set and unset the environment variables."""
        changed = changes(self._environment, self._kubeconfig)
        self._before = {name: self._environment.get(name) for name in changed}
        self._put(changed)

    def leave(self) -> None:
        """Restore the former values of the environment variables. Idempotent."""
        self._put(self._before)
        self._before = {}

    def _put(self, wanted: dict[str, str | None]) -> None:
        for name, value in wanted.items():
            if value is None:
                self._environment.pop(name, None)
            else:
                self._environment[name] = value
