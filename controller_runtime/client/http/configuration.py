# SPDX-License-Identifier: Apache-2.0
"""Loads the configuration of a cluster by the official client's loaders, with errors that name the remedy.

Parts of those loaders are replaced: token files, which they read once, are read again, and credential
plugins, which they run once and without a bound, have a timeout and are run again when they expire.
"""

from __future__ import annotations

import base64
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from kubernetes.client import Configuration
from kubernetes.config import ConfigException
from kubernetes.config.incluster_config import (
    SERVICE_CERT_FILENAME,
    SERVICE_HOST_ENV_NAME,
    SERVICE_TOKEN_FILENAME,
    InClusterConfigLoader,
)
from kubernetes.config.kube_config import KubeConfigLoader, KubeConfigMerger

from controller_runtime.client.http.credentials import Constant, Credential, Source, TokenFile
from controller_runtime.client.http.exec_plugin import ExecPlugin
from controller_runtime.core.errors import UsageError

_EXTENSION = "client.authentication.k8s.io/exec"
_CLUSTER_INFO = ("server", "tls-server-name", "insecure-skip-tls-verify", "certificate-authority-data", "proxy-url")


def from_kubeconfig(path: str | os.PathLike[str] | None = None, context: str | None = None) -> Configuration:
    """Return the configuration that a kubeconfig describes: address, TLS, proxy, and credentials of every kind.

    Args:
        path: The file; None for `$KUBECONFIG` (several files are merged), or else `~/.kube/config`.
        context: The context; None for the current one.

    Raises:
        UsageError: The file is missing or is not a kubeconfig, or the context or a file that it names is missing.
    """
    name = os.fspath(path) if path is not None else os.environ.get("KUBECONFIG") or "~/.kube/config"
    if not any(Path(part).expanduser().exists() for part in name.split(os.pathsep) if part):
        raise UsageError(f"kubeconfig {name} does not exist: name another file, or set KUBECONFIG")
    try:
        return _loaded(name, context)
    except ConfigException as error:
        chosen = f" (context {context!r})" if context else ""
        raise UsageError(
            f"kubeconfig {name}{chosen}: {_line(error)}; `kubectl config view` shows its content"
        ) from error
    except OSError as error:
        raise UsageError(
            f"kubeconfig {name} cannot be read: {error.strerror or error}; check its permissions"
        ) from error
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, LookupError) as error:
        raise UsageError(
            f"kubeconfig {name} is not a kubeconfig: {_line(error)}; write it again or name another"
        ) from error


def find(path: str | os.PathLike[str] | None = None, context: str | None = None) -> Configuration:
    """Return `in_cluster()` if nothing is named and this is a pod, else `from_kubeconfig`; with the same errors."""
    return in_cluster() if path is None and context is None and is_in_cluster() else from_kubeconfig(path, context)


def in_cluster() -> Configuration:
    """Return the configuration of a pod: the service account that Kubernetes mounts into it, whose token is re-read.

    Raises:
        UsageError: This process is not in a pod, or its pod mounts no service account.
    """
    configuration = Configuration()
    loader = InClusterConfigLoader(SERVICE_TOKEN_FILENAME, SERVICE_CERT_FILENAME)  # type: ignore[no-untyped-call]
    try:
        loader.load_and_set(configuration)  # type: ignore[no-untyped-call]
    except (ConfigException, OSError) as error:
        raise UsageError(f"no in-cluster configuration: {_line(error)}; outside a pod, name a kubeconfig") from error
    configuration.refresh_api_key_hook = TokenFile(Path(SERVICE_TOKEN_FILENAME))  # type: ignore[assignment]
    return configuration


def is_in_cluster() -> bool:
    """Return whether this process runs in a pod that has a service account mounted."""
    return bool(os.environ.get(SERVICE_HOST_ENV_NAME)) and Path(SERVICE_TOKEN_FILENAME).is_file()


def _loaded(name: str, context: str | None) -> Configuration:
    files = KubeConfigMerger(name)  # type: ignore[no-untyped-call]
    if files.config is None:
        raise ConfigException("no configuration found")
    loader = _Loader(  # type: ignore[no-untyped-call]
        files.config, active_context=context, config_base_path=None, config_persister=files.save_changes
    )
    authority = loader.embedded_authority()
    configuration = Configuration()
    loader.load_and_set(configuration)  # type: ignore[no-untyped-call]
    configuration.refresh_api_key_hook = loader.credentials(configuration)  # type: ignore[assignment]
    if authority:
        configuration.ca_cert_data, configuration.ssl_ca_cert = authority, None
    if "proxy" in vars(loader):  # its proxy is meant for this cluster, so NO_PROXY does not apply
        configuration.no_proxy = None
    return configuration


class _Loader(KubeConfigLoader):
    """The official loader, but with our sources of credentials.

    Attributes:
        source: The source of the user's credentials, if it is one of ours.
    """

    source: Source | None = None

    def set_active_context(self, context_name: str | None = None) -> None:
        """Choose the context as the base class does, but refuse one whose user the kubeconfig does not define.

        The error lists the contexts to choose from if none is given.
        """
        config: Any = self._config
        name = context_name or config.safe_get("current-context")
        if not name:
            names = ", ".join(context["name"] for context in config["contexts"].value)
            raise ConfigException(f"it has no current context; choose one of: {names}")
        super().set_active_context(name)  # type: ignore[no-untyped-call]
        chosen: Any = self._current_context
        user = chosen["context"].safe_get("user")
        if user and self._user is None:
            raise ConfigException(f"it has no user {user!r}, which the context {name!r} names")

    def _load_user_token(self) -> Any:
        user: Any = self._user
        file = user.safe_get("tokenFile")
        if not file:
            return super()._load_user_token()  # type: ignore[no-untyped-call]
        self.source = TokenFile(Path(_folder_of(user), file))
        return True

    def _load_from_exec_plugin(self) -> Any:
        user: Any = self._user
        if "exec" not in user:
            return None
        plugin = user["exec"].value
        for key in ("command", "apiVersion"):
            if not plugin.get(key):
                raise ConfigException(f"the exec of its user has no {key}")
        command = plugin["command"]
        if plugin.get("interactiveMode") == "Always":
            raise ConfigException(f"the credential plugin {command!r} needs a terminal (interactiveMode: Always)")
        if os.sep in command:  # a path, relative to the kubeconfig; other names are looked up in PATH
            command = str(Path(_folder_of(user), command))
        self.source = ExecPlugin(
            [command, *(plugin.get("args") or ())],
            environment={pair["name"]: pair["value"] for pair in plugin.get("env") or ()},
            api_version=plugin["apiVersion"],
            cluster=_cluster_info(self._cluster) if plugin.get("provideClusterInfo") else None,
            hint=" ".join(str(plugin.get("installHint") or "").split()),
        )
        return True

    def credentials(self, configuration: Configuration) -> object:
        """Return one of our sources, or a hook for credentials that only the official loader can renew (OIDC)."""
        user: Any = self._user
        if self.source is not None:
            return self.source
        if user is not None and "auth-provider" in user:
            return self._renew
        return Constant(Credential(configuration.api_key.get("BearerToken"), self.embedded_certificate()))

    def _renew(self, configuration: Configuration) -> None:
        self._load_authentication()  # type: ignore[no-untyped-call]
        configuration.api_key["BearerToken"] = self.token

    def embedded_authority(self) -> str | None:
        """Return the authority that is part of the kubeconfig, if any.

        The official loader writes it to a temporary file, which the system may remove while we run.
        """
        return _decoded(self._cluster, "certificate-authority-data")

    def embedded_certificate(self) -> tuple[str, str] | None:
        """Return the client certificate and key that are part of the kubeconfig, if both are."""
        pair = (_decoded(self._user, "client-certificate-data"), _decoded(self._user, "client-key-data"))
        return (pair[0], pair[1]) if pair[0] and pair[1] else None


def _decoded(node: Any, name: str) -> str | None:
    data = node.safe_get(name) if node is not None else None
    if not data:
        return None
    try:
        return base64.b64decode("".join(data.split()), validate=True).decode()
    except ValueError:
        raise ValueError(f"{name} is not the base64 of a text") from None


def _cluster_info(node: Any) -> Mapping[str, Any]:
    """Return the description of the cluster that a plugin gets."""
    cluster = node.value
    info = {name: cluster[name] for name in _CLUSTER_INFO if name in cluster}
    if file := cluster.get("certificate-authority"):
        authority = Path(_folder_of(node), file).read_bytes()
        info.setdefault("certificate-authority-data", base64.b64encode(authority).decode())
    for extension in cluster.get("extensions") or ():
        if extension["name"] == _EXTENSION:
            info["config"] = extension["extension"]
    return info


def _folder_of(node: Any) -> str:
    """Return the directory of the file that has this node; the paths in it are relative to that."""
    return os.path.dirname(os.path.abspath(node.path or "."))


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
