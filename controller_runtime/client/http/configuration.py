# SPDX-License-Identifier: Apache-2.0
"""Finds the configuration of a cluster: a kubeconfig, or that of the pod, with errors that name the remedy.

The official client's loaders do the same, but their import costs 25 MiB and 0.3 s, they read token files once, and they
run credential plugins once and without a bound.
"""

from __future__ import annotations

import os
from pathlib import Path

from apimachinery.errors import UsageError
from controller_runtime.client.http.credentials import TokenFile
from controller_runtime.client.http.proxies import no_proxy_of, proxy_of
from controller_runtime.client.http.rest_config import RESTConfig

SERVICE_TOKEN_FILENAME = "/var/run/secrets/kubernetes.io/serviceaccount/token"
"""The token of a pod's service account."""
SERVICE_CERT_FILENAME = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"
"""The authority that a pod trusts."""


def from_kubeconfig(path: str | os.PathLike[str] | None = None, context: str | None = None) -> RESTConfig:
    """Return the configuration that a kubeconfig describes: address, TLS, proxy and credentials.

    Args:
        path: The file; None for `$KUBECONFIG` (several files are merged), or else `~/.kube/config`.
        context: The context; None for the current one.

    Raises:
        UsageError: The file is missing or is not a kubeconfig, or the context or a file that it names is missing.
    """
    name = os.fspath(path) if path is not None else os.environ.get("KUBECONFIG") or "~/.kube/config"
    if not any(Path(part).expanduser().exists() for part in name.split(os.pathsep) if part):
        raise UsageError(f"kubeconfig {name} does not exist: name another file, or set KUBECONFIG")
    from controller_runtime.client.http.kubeconfig import read  # a program in a pod needs no YAML
    from controller_runtime.client.http.kubeconfig_users import rest_config

    try:
        return rest_config(read(name, context), name, context)
    except UsageError as error:
        chosen = f" (context {context!r})" if context else ""
        raise UsageError(
            f"kubeconfig {name}{chosen}: {_line(error)}; `kubectl config view` shows its content"
        ) from error
    except OSError as error:
        raise UsageError(
            f"kubeconfig {name} cannot be read: {error.strerror or error}; check its permissions"
        ) from error
    except (ValueError, TypeError, LookupError) as error:
        raise UsageError(
            f"kubeconfig {name} is not a kubeconfig: {_line(error)}; write it again or name another"
        ) from error


def find(path: str | os.PathLike[str] | None = None, context: str | None = None) -> RESTConfig:
    """Return `in_cluster()` in a pod, if `path` and `context` are None; otherwise `from_kubeconfig(path, context)`.

    Raises:
        UsageError: There is no usable configuration; the errors are those of the two functions.
    """
    return in_cluster() if path is None and context is None and is_in_cluster() else from_kubeconfig(path, context)


def in_cluster() -> RESTConfig:
    """Return the configuration of the pod of this process: the mounted service account, whose token file is read again.

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


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
