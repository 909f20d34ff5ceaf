# SPDX-License-Identifier: Apache-2.0
"""How to reach a cluster: the official client's loaders, with errors that say what to do.

What they read once and keep, or wait for without end, is replaced: token files are
followed, credential plugins are bounded and run again when it is time.
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
_TOLD = ("server", "tls-server-name", "insecure-skip-tls-verify", "certificate-authority-data", "proxy-url")


def from_kubeconfig(path: str | os.PathLike[str] | None = None, context: str | None = None) -> Configuration:
    """The configuration that a kubeconfig describes: address, TLS, proxy, and credentials of every kind.

    Args:
        path: The file; None is what `$KUBECONFIG` names (several files are merged), or `~/.kube/config`.
        context: Which of its contexts; None is its current one.

    Raises:
        UsageError: The file is missing or is no kubeconfig, or it lacks the context or a file it names.
    """
    name = os.fspath(path) if path is not None else os.environ.get("KUBECONFIG") or "~/.kube/config"
    if not any(Path(part).expanduser().exists() for part in name.split(os.pathsep) if part):
        raise UsageError(f"kubeconfig {name} does not exist: name another file, or set KUBECONFIG")
    try:
        return _loaded(name, context)
    except ConfigException as error:
        asked = f" (context {context!r})" if context else ""
        raise UsageError(
            f"kubeconfig {name}{asked}: {_line(error)}; `kubectl config view` shows what it holds"
        ) from error
    except OSError as error:
        raise UsageError(
            f"kubeconfig {name} cannot be read: {error.strerror or error}; check its permissions"
        ) from error
    except (yaml.YAMLError, ValueError, TypeError, AttributeError, LookupError) as error:
        raise UsageError(
            f"kubeconfig {name} is not a kubeconfig: {_line(error)}; write it anew or name another"
        ) from error


def find(path: str | os.PathLike[str] | None = None, context: str | None = None) -> Configuration:
    """The pod's own cluster if nothing else is named and there is one, else `from_kubeconfig`, whose errors it has."""
    return in_cluster() if path is None and context is None and is_in_cluster() else from_kubeconfig(path, context)


def in_cluster() -> Configuration:
    """The configuration of a pod: the service account that Kubernetes mounts into it, its token followed.

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
    """Whether this process runs in a pod that may talk to its cluster."""
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
    if "proxy" in vars(loader):  # what is said of this cluster counts, whatever the environment says of others
        configuration.no_proxy = None
    return configuration


class _Loader(KubeConfigLoader):
    """The official loader, but for what it would read once, or run without a bound and log the failure of."""

    source: Source | None = None

    def set_active_context(self, context_name: str | None = None) -> None:
        """As its base, which would not say what there is to choose from, and go on as nobody without the user."""
        config: Any = self._config
        name = context_name or config.safe_get("current-context")
        if not name:
            names = ", ".join(context["name"] for context in config["contexts"].value)
            raise ConfigException(f"it says no current context; choose one of: {names}")
        super().set_active_context(name)  # type: ignore[no-untyped-call]
        chosen: Any = self._current_context
        user = chosen["context"].safe_get("user")
        if user and self._user is None:
            raise ConfigException(f"it has no user {user!r}, whom the context {name!r} names")

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
        said = user["exec"].value
        for key in ("command", "apiVersion"):
            if not said.get(key):
                raise ConfigException(f"the exec of its user has no {key}")
        command = said["command"]
        if said.get("interactiveMode") == "Always":
            raise ConfigException(f"the credential plugin {command!r} insists on a terminal, and there is none")
        if os.sep in command:  # else it is looked for in PATH
            command = str(Path(_folder_of(user), command))
        self.source = ExecPlugin(
            [command, *(said.get("args") or ())],
            environment={pair["name"]: pair["value"] for pair in said.get("env") or ()},
            api_version=said["apiVersion"],
            cluster=_told_of(self._cluster) if said.get("provideClusterInfo") else None,
            hint=" ".join(str(said.get("installHint") or "").split()),
        )
        return True

    def credentials(self, configuration: Configuration) -> object:
        """A source of ours, or a hook for what only the official loader knows how to renew."""
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
        """What the kubeconfig holds itself; the official loader writes it to a file, which tidy systems remove."""
        return _decoded(self._cluster, "certificate-authority-data")

    def embedded_certificate(self) -> tuple[str, str] | None:
        """Client certificate and key, if the kubeconfig holds both itself."""
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


def _told_of(node: Any) -> Mapping[str, Any]:
    """What a plugin may know of the cluster."""
    cluster = node.value
    told = {name: cluster[name] for name in _TOLD if name in cluster}
    if file := cluster.get("certificate-authority"):
        authority = Path(_folder_of(node), file).read_bytes()
        told.setdefault("certificate-authority-data", base64.b64encode(authority).decode())
    for extension in cluster.get("extensions") or ():
        if extension["name"] == _EXTENSION:
            told["config"] = extension["extension"]
    return told


def _folder_of(node: Any) -> str:
    """Where the file is that said this; its paths are relative to that."""
    return os.path.dirname(os.path.abspath(node.path or "."))


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
