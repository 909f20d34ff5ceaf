# SPDX-License-Identifier: Apache-2.0
"""Finds the configuration of a cluster: a kubeconfig, or that of the pod, with errors that name the remedy.

The official client's loaders do the same, but their import costs 25 MiB and 0.3 s, they read token files once, and they
run credential plugins once and without a bound.
"""

from __future__ import annotations

import base64
import os
from pathlib import Path

import attrs
import yaml

from controller_runtime.client.http import kubeconfig
from controller_runtime.client.http.credentials import Constant, Credential, Source, TokenFile
from controller_runtime.client.http.exec_plugin import ExecPlugin
from controller_runtime.client.http.proxies import no_proxy_of, proxy_of
from controller_runtime.client.http.rest_config import RESTConfig
from controller_runtime.core.errors import UsageError

SERVICE_TOKEN_FILENAME = "/var/run/secrets/kubernetes.io/serviceaccount/token"
"""The token of a pod's service account."""
SERVICE_CERT_FILENAME = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"
"""The authority that a pod trusts."""

_PROVIDERS = ("gcp", "oidc")  # those that the official client still has


def from_kubeconfig(path: str | os.PathLike[str] | None = None, context: str | None = None) -> RESTConfig:
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
        return _configuration(kubeconfig.read(name, context), name, context)
    except UsageError as error:
        chosen = f" (context {context!r})" if context else ""
        raise UsageError(
            f"kubeconfig {name}{chosen}: {_line(error)}; `kubectl config view` shows its content"
        ) from error
    except OSError as error:
        raise UsageError(
            f"kubeconfig {name} cannot be read: {error.strerror or error}; check its permissions"
        ) from error
    except (yaml.YAMLError, ValueError, TypeError, LookupError) as error:
        raise UsageError(
            f"kubeconfig {name} is not a kubeconfig: {_line(error)}; write it again or name another"
        ) from error


def find(path: str | os.PathLike[str] | None = None, context: str | None = None) -> RESTConfig:
    """Return `in_cluster()` if nothing is named and this is a pod, else `from_kubeconfig`; with the same errors."""
    return in_cluster() if path is None and context is None and is_in_cluster() else from_kubeconfig(path, context)


def in_cluster() -> RESTConfig:
    """Return the configuration of a pod: the service account that Kubernetes mounts into it, whose token is re-read.

    Raises:
        UsageError: This process is not in a pod, or its pod mounts no service account.
    """
    name, port = (os.environ.get(f"KUBERNETES_SERVICE_{part}") for part in ("HOST", "PORT"))
    try:
        if not (name and port):
            raise ValueError("KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set")
        for file in (SERVICE_TOKEN_FILENAME, SERVICE_CERT_FILENAME):
            if not Path(file).read_bytes():
                raise ValueError(f"{file} is empty")
    except (OSError, ValueError) as error:
        raise UsageError(f"no in-cluster configuration: {_line(error)}; outside a pod, name a kubeconfig") from error
    host = f"https://[{name}]:{port}" if ":" in name else f"https://{name}:{port}"
    return RESTConfig(
        host=host,
        source=TokenFile(Path(SERVICE_TOKEN_FILENAME)),
        ssl_ca_cert=SERVICE_CERT_FILENAME,
        proxy=proxy_of(host, os.environ),
        no_proxy=no_proxy_of(os.environ),
    )


def is_in_cluster() -> bool:
    """Return whether this process runs in a pod that has a service account mounted."""
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST")) and Path(SERVICE_TOKEN_FILENAME).is_file()


def _configuration(chosen: kubeconfig.Chosen, name: str, context: str | None) -> RESTConfig:
    cluster, user = chosen.cluster, chosen.user or kubeconfig.User()
    if not cluster.server:
        raise UsageError("its cluster has no server")
    host = cluster.server.rstrip("/")
    source = _source(chosen, user, name, context)
    proxy, no_proxy = cluster.proxy_url, None  # the proxy is meant for this cluster, so NO_PROXY does not apply
    if not proxy:
        proxy, no_proxy = proxy_of(host, os.environ), no_proxy_of(os.environ)
    plain = RESTConfig(
        host=host,
        source=source,
        verify_ssl=not cluster.insecure_skip_tls_verify,
        tls_server_name=cluster.tls_server_name or None,
        proxy=proxy,
        no_proxy=no_proxy,
    )
    return plain if not host.startswith("https") else _with_tls(plain, chosen, user)


def _with_tls(plain: RESTConfig, chosen: kubeconfig.Chosen, user: kubeconfig.User) -> RESTConfig:
    cluster = chosen.cluster
    authority = kubeconfig.decoded(cluster.certificate_authority_data, "certificate-authority-data")
    certificate = kubeconfig.decoded(user.client_certificate_data, "client-certificate-data")
    key = kubeconfig.decoded(user.client_key_data, "client-key-data")
    files = [chosen.user_place.path(file) for file in (user.client_certificate, user.client_key)]
    return attrs.evolve(
        plain,
        ca_cert_data=authority,
        ssl_ca_cert=None if authority else chosen.cluster_place.path(cluster.certificate_authority),
        client_certificate=_pair(certificate, key, *files),
        cert_file=None if certificate or key else files[0],
        key_file=None if certificate or key else files[1],
    )


def _pair(
    certificate: str | None, key: str | None, certificate_file: str | None, key_file: str | None
) -> tuple[str, str] | None:
    """Return certificate and key if one of them is data; the other one may be in a file."""
    if not (certificate or key):
        return None
    certificate = certificate or (certificate_file and Path(certificate_file).read_text())
    key = key or (key_file and Path(key_file).read_text())
    if not (certificate and key):
        raise UsageError("its user has a client certificate without a key, or a key without a certificate")
    return certificate, key


def _source(chosen: kubeconfig.Chosen, user: kubeconfig.User, name: str, context: str | None) -> Source:
    """Return the source of the user's credentials; the first one that it has, in the official client's order."""
    if user.auth_provider is not None and user.auth_provider.name in _PROVIDERS:
        from controller_runtime.client.http.legacy import AuthProvider

        return AuthProvider(name, context)
    if user.token_file:
        return TokenFile(chosen.user_place.folder / user.token_file)
    if user.token:
        return Constant(Credential(f"Bearer {user.token}"))
    if user.exec is not None:
        return _plugin(chosen, user.exec)
    if user.username and user.password:
        login = base64.b64encode(f"{user.username}:{user.password}".encode()).decode()
        return Constant(Credential(f"Basic {login}"))
    if user.auth_provider is not None:
        raise UsageError(f"the auth provider {user.auth_provider.name!r} of its user is gone: use a credential plugin")
    return Constant(Credential())


def _plugin(chosen: kubeconfig.Chosen, plugin: kubeconfig.Exec) -> ExecPlugin:
    command, api_version = plugin.command, plugin.api_version
    if not command or not api_version:
        raise UsageError(f"the exec of its user has no {'apiVersion' if command else 'command'}")
    if plugin.interactive_mode == "Always":
        raise UsageError(f"the credential plugin {command!r} needs a terminal (interactiveMode: Always)")
    if os.sep in command:  # a path, relative to the kubeconfig; other names are looked up in PATH
        command = str(chosen.user_place.folder / command)
    return ExecPlugin(
        [command, *(plugin.args or ())],
        environment={variable.name: variable.value for variable in plugin.env or ()},
        api_version=api_version,
        cluster=chosen.cluster_info() if plugin.provide_cluster_info else None,
        hint=" ".join((plugin.install_hint or "").split()),
    )


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
