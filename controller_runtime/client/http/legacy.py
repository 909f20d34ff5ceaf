# SPDX-License-Identifier: Apache-2.0
"""Credentials from the auth providers of the official client, which plugins have replaced.

This module imports the official client, so it is imported only for a kubeconfig that names a provider.
"""

from __future__ import annotations

from typing import Any

from kubernetes.config.kube_config import KubeConfigLoader, KubeConfigMerger

from controller_runtime.client.http.credentials import Credential


class AuthProvider:
    """A `CredentialSource` that renews tokens of an auth provider (OIDC, gcp) by the official client's loader.

    Args:
        name: The kubeconfig, or several as for `KUBECONFIG`.
        context: The context; None for the current one.

    Threads: `ask` from one at a time.
    """

    is_followed = True
    is_quick = False

    def __init__(self, name: str, context: str | None) -> None:
        self._name = name
        self._context = context
        self._loader: Any = None  # made when it is first asked

    def __str__(self) -> str:
        return "the auth provider of the kubeconfig"

    def ask(self) -> Credential:
        """Return the current token; renew it first if it has expired.

        Raises:
            Exception: The provider gave no token.
        """
        if self._loader is None:
            files = KubeConfigMerger(self._name)  # type: ignore[no-untyped-call]
            self._loader = KubeConfigLoader(  # type: ignore[no-untyped-call]
                files.config, active_context=self._context, config_base_path=None, config_persister=files.save_changes
            )
        self._loader.token = None
        self._loader._load_authentication()
        if not self._loader.token:
            raise ValueError("it gives no token")
        return Credential(self._loader.token)

    def give_up(self) -> None:
        """Do nothing: the provider cannot be interrupted."""
