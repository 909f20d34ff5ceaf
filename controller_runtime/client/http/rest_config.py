# SPDX-License-Identifier: Apache-2.0
"""The address of an API server and the credentials for it, from a kubeconfig or a pod, as a value."""

from __future__ import annotations

import atexit
import functools
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

import attrs

from controller_runtime.client.http.credentials import (
    Configured,
    Constant,
    Credential,
    CredentialSource,
    set_authorization,
)

if TYPE_CHECKING:  # it is large, and only programs that name it need it
    from kubernetes.client import Configuration


@attrs.frozen(kw_only=True)
class RESTConfig:
    """The address of an API server, and how to connect and authenticate to it.

    A transport takes one of these or a `Configuration` of the official client, which has the same fields under the same
    names, except for `source` and `client_certificate`.

    Attributes:
        host: The URL, such as `https://10.0.0.1:6443`; it may have a path, which is a prefix of all paths.
        source: The source of the credentials.
        ssl_ca_cert: A file with the certificate authorities to trust; None for `ca_cert_data`, or else those of the
            system.
        ca_cert_data: The certificate authorities to trust, in PEM.
        cert_file: A file with the client certificate in PEM; None for `client_certificate`.
        key_file: A file with the private key of `cert_file`.
        client_certificate: The client certificate and its private key, in PEM.
        verify_ssl: Whether the server's certificate is checked.
        assert_hostname: False accepts a server certificate with any name.
        tls_server_name: The name that the server certificate must have; None for the name in `host`.
        proxy: The URL of the proxy; None for a direct connection.
        proxy_headers: Headers that are sent to the proxy.
        no_proxy: Hosts and networks that are reached without the proxy, separated by commas.
    """

    host: str
    source: CredentialSource = attrs.field(default=Constant(Credential()), repr=False)
    ssl_ca_cert: str | None = None
    ca_cert_data: str | None = attrs.field(default=None, repr=False)
    cert_file: str | None = None
    key_file: str | None = None
    client_certificate: tuple[str, str] | None = attrs.field(default=None, repr=False)
    verify_ssl: bool = True
    assert_hostname: bool | None = None
    tls_server_name: str | None = None
    proxy: str | None = attrs.field(default=None, repr=False)
    proxy_headers: Mapping[str, str] | None = attrs.field(default=None, repr=False)
    no_proxy: str | None = None

    def official(self) -> Configuration:
        """Return an equivalent `Configuration` of the official client, whose hook gets each token from `source`.

        A client certificate that is part of a kubeconfig, rather than a file, is not taken over.
        """
        from kubernetes.client import Configuration

        def refresh(configuration: Configuration) -> None:
            set_authorization(configuration, self.source.ask().header)

        names = [field.name for field in attrs.fields(RESTConfig) if field.name not in ("source", "client_certificate")]
        configuration = Configuration()
        for name in names:
            setattr(configuration, name, getattr(self, name))
        if self.ca_cert_data and self.ssl_ca_cert is None and "ca_cert_data" not in vars(Configuration()):
            configuration.ssl_ca_cert = _file_with(self.ca_cert_data)
        if self.source != Constant(Credential()):
            set_authorization(configuration, None)  # without a token the client would not call the hook
        configuration.refresh_api_key_hook = refresh  # type: ignore[assignment]
        return configuration


def source_of(configuration: RESTConfig | Configuration) -> CredentialSource:
    """Return the source of the credentials of a configuration.

    For a `Configuration` of the official client this is its hook, if the hook is a `CredentialSource`; otherwise a
    source that reads the configuration.
    """
    source: object = getattr(configuration, "source", None) or getattr(configuration, "refresh_api_key_hook", None)
    return source if isinstance(source, CredentialSource) else Configured(cast("Configuration", configuration))


@functools.cache
def _file_with(text: str) -> str:
    """Return the name of a file with a text, one for each text, which is removed when the process ends."""
    number, name = tempfile.mkstemp(prefix="authority-", suffix=".pem")
    with open(number, "w", encoding="utf-8") as file:
        file.write(text)
    atexit.register(Path(name).unlink, missing_ok=True)
    return name
