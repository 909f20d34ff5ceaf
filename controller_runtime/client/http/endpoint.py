# SPDX-License-Identifier: Apache-2.0
"""The API server and the way to it: address, proxy and TLS, from a configuration."""

from __future__ import annotations

import base64
import contextlib
import ssl
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, quote, unquote, urlencode, urlsplit

import attrs

from apimachinery.errors import UsageError
from apimachinery.http import HTTPRequest
from controller_runtime.client.http.answer import begin_answer
from controller_runtime.client.http.connection import Connection
from controller_runtime.client.http.lookup import Address, Lookup
from controller_runtime.client.http.proxies import bypasses_proxy

if TYPE_CHECKING:
    from kubernetes.client import Configuration

    from controller_runtime.client.http.rest_config import RESTConfig


@attrs.frozen
class HTTPProxy:
    """An HTTP proxy that opens a tunnel by CONNECT.

    Attributes:
        address: Host and port.
        headers: Headers of the CONNECT request, such as `proxy-authorization`.
    """

    address: tuple[str, int]
    headers: Mapping[str, str]


@attrs.frozen
class Endpoint:
    """One API server and the way to it.

    Attributes:
        address: Host and port.
        base_path: The prefix of every path; empty, or starting with a slash.
        server_name: The name that the certificate must have.
        configuration: Names the TLS files. They are read again for each connection, so that replaced files are used.
        encrypted: Whether to use TLS.
        proxy: The proxy on the way; None for a direct connection.
        user_agent: The `User-Agent` of requests that do not have one.
    """

    address: tuple[str, int]
    base_path: str
    server_name: str
    configuration: RESTConfig | Configuration
    encrypted: bool
    proxy: HTTPProxy | None
    user_agent: str

    def __str__(self) -> str:
        return _joined(self.address)

    def connect(self, connection: Connection, certificate: tuple[str, str] | None, lookup: Lookup) -> None:
        """Connect to the server, with proxy and TLS if configured, before the deadline of the connection.

        Args:
            connection: A connection without a socket; afterwards it is ready for requests.
            certificate: Client certificate and key in PEM, which replace those of the configuration; None for those.
            lookup: Looks up host names.

        Raises:
            OSError: The server or proxy refused, is unreachable or not trusted, the deadline passed, or the connection
                was shut down.
        """
        if self.proxy is None:
            _dial(lookup.addresses(self.address, connection), connection)
        else:
            self._reach(connection, self.proxy, lookup)
            self._tunnel(connection, self.proxy)
        if self.encrypted:
            connection.start_tls(self._context(certificate), self.server_name)

    def _context(self, certificate: tuple[str, str] | None) -> ssl.SSLContext:
        try:
            return tls_context(self.configuration, certificate)
        except UsageError as error:  # they were usable at the start, so probably they are being replaced: a retry helps
            raise ConnectionError(str(error)) from None

    def _reach(self, connection: Connection, proxy: HTTPProxy, lookup: Lookup) -> None:
        try:
            _dial(lookup.addresses(proxy.address, connection), connection)
        except OSError as error:  # or the failure would be reported as the server's
            raise ConnectionError(f"proxy {_joined(proxy.address)}: {connection.why(error)}") from error

    def _tunnel(self, connection: Connection, proxy: HTTPProxy) -> None:
        lines = [f"CONNECT {self} HTTP/1.1", f"host: {self}", *(f"{k}: {v}" for k, v in proxy.headers.items())]
        connection.send("\r\n".join((*lines, "", "")).encode("latin-1"))
        answer = begin_answer(connection, "CONNECT")
        if answer.status != 200:
            raise ConnectionError(f"proxy {_joined(proxy.address)} answered {answer.status} {answer.reason}")

    def head(self, request: HTTPRequest, authorization: str | None) -> bytes:
        """Return the head of an HTTP request, as bytes to send.

        `authorization` is the value of that header, unless the request has one; None for none.

        Raises:
            ValueError: A header has a line break, or characters that are not Latin-1.
        """
        target = self.base_path + quote(request.path)
        if request.query:
            target += "?" + urlencode(request.query)
        lines = [f"{request.method} {target} HTTP/1.1", f"host: {self}"]
        lines += [f"{name}: {value}" for name, value in request.headers.items()]
        if "user-agent" not in request.headers:
            lines.append(f"user-agent: {self.user_agent}")
        if authorization and "authorization" not in request.headers:
            lines.append(f"authorization: {authorization}")
        if request.body or request.method in ("POST", "PUT", "PATCH"):
            lines.append(f"content-length: {len(request.body)}")
        text = "\r\n".join(lines)
        if text.count("\n") != len(lines) - 1 or text.count("\r") != len(lines) - 1:
            raise ValueError(f"{request.method} {request.path}: a header contains a line break")
        return f"{text}\r\n\r\n".encode("latin-1")


def endpoint_of(configuration: RESTConfig | Configuration, user_agent: str) -> Endpoint:
    """Return the endpoint that a configuration describes.

    Raises:
        UsageError: The address of the server or proxy, or a TLS file, cannot be used.
    """
    server = _split(configuration.host, "API server", ("http", "https"))
    encrypted = server.scheme == "https"
    if encrypted:
        tls_context(configuration)  # so that unusable files raise here and not at the first request
    return Endpoint(
        address=(str(server.hostname), server.port or (443 if encrypted else 80)),
        base_path=unquote(server.path).rstrip("/"),
        server_name=configuration.tls_server_name or str(server.hostname),
        configuration=configuration,
        encrypted=encrypted,
        proxy=_proxy_of(configuration),
        user_agent=user_agent,
    )


def tls_context(
    configuration: RESTConfig | Configuration, certificate: tuple[str, str] | None = None
) -> ssl.SSLContext:
    """Return a new TLS context from the current content of the configured files.

    Args:
        configuration: Names the files.
        certificate: Client certificate and key in PEM, which replace the files; None for the files.

    Raises:
        UsageError: A file is missing or unreadable, or is not a certificate or key.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # an intermediate may be the anchor, as for client-go
    context.set_alpn_protocols(["http/1.1"])
    context.check_hostname = bool(configuration.verify_ssl) and configuration.assert_hostname is not False
    authority = getattr(configuration, "ca_cert_data", None)  # which releases of the official client before 37 lack
    if not configuration.verify_ssl:
        context.verify_mode = ssl.CERT_NONE
    elif configuration.ssl_ca_cert or authority:
        with _usage_errors("certificate authority", configuration.ssl_ca_cert or "in memory"):
            context.load_verify_locations(configuration.ssl_ca_cert, cadata=authority)
    else:
        context.load_default_certs()
    embedded = getattr(configuration, "client_certificate", None)
    certificate = certificate or embedded
    if certificate is not None:
        import tempfile

        where = "in the kubeconfig" if certificate is embedded else "of the credential plugin"
        with _usage_errors("client certificate", where), tempfile.NamedTemporaryFile() as file:
            file.write("\n".join(certificate).encode())
            file.flush()
            context.load_cert_chain(file.name, password="")
    elif configuration.cert_file:
        with _usage_errors("client certificate", f"{configuration.cert_file}, {configuration.key_file}"):
            # Without a password the library would ask for one on the terminal, and block.
            context.load_cert_chain(configuration.cert_file, configuration.key_file, password="")
    return context


@contextlib.contextmanager
def _usage_errors(what: str, files: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        raise UsageError(f"the {what} ({files}) cannot be used: {error}; check the kubeconfig") from error


def _proxy_of(configuration: RESTConfig | Configuration) -> HTTPProxy | None:
    if not configuration.proxy or bypasses_proxy(configuration.host, configuration.no_proxy or ""):
        return None
    url = _split(configuration.proxy, "proxy", ("http",))
    headers = dict(configuration.proxy_headers or {})
    if url.username:
        login = f"{unquote(url.username)}:{unquote(url.password or '')}"
        headers["proxy-authorization"] = f"Basic {base64.b64encode(login.encode()).decode()}"
    return HTTPProxy((str(url.hostname), url.port or 80), headers)


def _split(url: str, what: str, schemes: tuple[str, ...]) -> SplitResult:
    try:
        parts = urlsplit(url)
        usable = parts.scheme in schemes and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        raise UsageError(f"{what} {url!r} cannot be used: it must be {'://… or '.join(schemes)}://host[:port]")
    return parts


def _joined(address: tuple[str, int]) -> str:
    name, port = address
    return f"[{name}]:{port}" if ":" in name else f"{name}:{port}"


def _dial(addresses: Sequence[Address], connection: Connection) -> None:
    failure: OSError | None = None
    for tried, (family, kind, protocol, _, where) in enumerate(addresses):
        try:
            return connection.dial(family, kind, protocol, where, tries=len(addresses) - tried)
        except OSError as error:
            failure = error
    assert failure is not None, "a look-up returns an address or raises"
    raise failure
