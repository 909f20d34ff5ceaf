# SPDX-License-Identifier: Apache-2.0
"""How to reach a cluster: the official client's loaders, with errors that say what to do."""

from __future__ import annotations

import os
from pathlib import Path

import yaml
from kubernetes.client import Configuration
from kubernetes.config import ConfigException, load_incluster_config, load_kube_config
from kubernetes.config.incluster_config import SERVICE_HOST_ENV_NAME, SERVICE_TOKEN_FILENAME

from controller_runtime.core.errors import UsageError


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
    configuration = Configuration()
    try:
        load_kube_config(name, context, client_configuration=configuration)  # type: ignore[no-untyped-call]
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
    return configuration


def in_cluster() -> Configuration:
    """The configuration of a pod: the service account that Kubernetes mounts into it.

    Raises:
        UsageError: This process is not in a pod, or its pod mounts no service account.
    """
    configuration = Configuration()
    try:
        load_incluster_config(configuration)  # type: ignore[no-untyped-call]
    except (ConfigException, OSError) as error:
        raise UsageError(f"no in-cluster configuration: {_line(error)}; outside a pod, name a kubeconfig") from error
    return configuration


def is_in_cluster() -> bool:
    """Whether this process runs in a pod that may talk to its cluster."""
    return bool(os.environ.get(SERVICE_HOST_ENV_NAME)) and Path(SERVICE_TOKEN_FILENAME).is_file()


def _line(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
