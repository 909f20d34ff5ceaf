# SPDX-License-Identifier: Apache-2.0
"""Makes a configuration of the cluster and the user that a kubeconfig names: trust, certificates and credentials."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import attrs

from apimachinery.errors import UsageError
from controller_runtime.client.http import kubeconfig
from controller_runtime.client.http.credentials import Constant, Credential, CredentialSource, TokenFile
from controller_runtime.client.http.proxies import no_proxy_of, proxy_of
from controller_runtime.client.http.rest_config import RESTConfig

_PROVIDERS = ("gcp", "oidc")  # those that the official client still has


def rest_config(chosen: kubeconfig.ChosenContext, name: str, context: str | None) -> RESTConfig:
    """Return the configuration for the cluster and user of a context.

    Args:
        chosen: The cluster and user of the context.
        name: The kubeconfig, or several, as given; an auth provider reads them again.
        context: The context as given, for an auth provider.

    Raises:
        UsageError: A file that it names is missing, or a credential is incomplete.
        OSError: A file that it names cannot be read.
        ValueError: Data in the kubeconfig is malformed.
    """
    cluster, user = chosen.cluster, chosen.user or kubeconfig.KubeconfigUser()
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


def _with_tls(plain: RESTConfig, chosen: kubeconfig.ChosenContext, user: kubeconfig.KubeconfigUser) -> RESTConfig:
    cluster = chosen.cluster
    if cluster.insecure_skip_tls_verify and (cluster.certificate_authority or cluster.certificate_authority_data):
        text = "specifying a root certificates file with the insecure flag is not allowed"  # as client-go says
        raise UsageError(f"{text}: remove insecure-skip-tls-verify or the certificate authority")
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


def _source(
    chosen: kubeconfig.ChosenContext, user: kubeconfig.KubeconfigUser, name: str, context: str | None
) -> CredentialSource:
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


def _plugin(chosen: kubeconfig.ChosenContext, plugin: kubeconfig.Exec) -> CredentialSource:
    command, api_version = plugin.command, plugin.api_version
    if not command or not api_version:
        raise UsageError(f"the exec of its user has no {'apiVersion' if command else 'command'}")
    if plugin.interactive_mode == "Always":
        raise UsageError(f"the credential plugin {command!r} needs a terminal (interactiveMode: Always)")
    if os.sep in command:  # a path, relative to the kubeconfig; other names are looked up in PATH
        command = str(chosen.user_place.folder / command)
    from controller_runtime.client.http.exec_plugin import ExecPlugin  # only those with a plugin need subprocesses

    return ExecPlugin(
        [command, *(plugin.args or ())],
        environment={variable.name: variable.value for variable in plugin.env or ()},
        api_version=api_version,
        cluster=chosen.cluster_info() if plugin.provide_cluster_info else None,
        hint=" ".join((plugin.install_hint or "").split()),
    )
