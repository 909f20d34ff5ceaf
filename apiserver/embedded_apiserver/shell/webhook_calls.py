# SPDX-License-Identifier: Apache-2.0
"""Calls webhooks over TLS, on connections that are kept.

Services are not routed: a map says at which address each is served.
"""

from __future__ import annotations

import contextlib
import functools
import http.client
import io
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, Self
from urllib.parse import urlencode, urlsplit

from apimachinery.errors import UsageError
from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from embedded_apiserver.webhooks.caller import TIMED_OUT, Target, UnknownService, Unreached, refused

_HTTPS = 443
_CONTEXTS = 64  # the most sets of certificates to keep
_KEPT = 32  # the most idle connections to one webhook
_LIMIT = 128 * 1024 * 1024  # bytes of an answer
_PART = 64 * 1024
# The codes of OpenSSL for a chain of certificates that does not end in a trusted one, and for one out of its time.
_UNTRUSTED, _EXPIRED = (2, 18, 19, 20, 21), (9, 10)
_BROKEN = (http.client.HTTPException, ConnectionError, ssl.SSLEOFError, ssl.SSLZeroReturnError)


class _Place(NamedTuple):
    """Where a connection leads, and what its certificate must say."""

    host: str
    port: int
    name: str
    ca_bundle: str
    is_trusted: bool = False


class TLSCaller:
    """A `Caller` that sends requests over HTTP/1.1 and TLS 1.2 or later, and reuses connections.

    Args:
        host: The source of time and locks.
        services: The addresses of services, such as `127.0.0.1:9443`, by `namespace/name`, or by `namespace/name:port`
            for a single port.

    Raises:
        UsageError: An address is not valid.

    Threads: any.
    """

    def __init__(self, host: Host, services: Mapping[str, str] | None = None) -> None:
        self._host = host
        self._services = {name: _address(name, text) for name, text in (services or {}).items()}
        # Guards the idle connections, by where they lead.
        self._lock = host.lock("apiserver/webhook calls")
        self._idle: dict[_Place, list[_Connection]] = {}

    @classmethod
    def of(cls, host: Host, services: Sequence[str]) -> Self:
        """Return a caller for services given as texts such as `default/webhooks=127.0.0.1:9443`.

        Raises:
            UsageError: A text does not have this form.
        """
        return cls(host, dict([one.partition("=")[::2] for one in services]))

    def call(self, target: Target, request: HTTPRequest, timeout: float) -> HTTPResponse:
        """Send a request to a webhook and return the response; see `Caller.call`."""
        place, deadline = self._place(target), self._host.monotonic() + timeout
        try:
            return self._sent(place, request, deadline)
        except ssl.SSLCertVerificationError as error:
            raise Unreached(f"tls: failed to verify certificate: x509: {_distrust(error, place.name)}") from error
        except TimeoutError as error:
            raise Unreached(TIMED_OUT) from error
        except socket.gaierror as error:
            raise Unreached(f"dial tcp: lookup {place.host}: no such host") from error
        except ConnectionRefusedError as error:
            raise refused(place.host, place.port) from error
        except _BROKEN as error:
            raise Unreached("EOF") from error
        except (OSError, ValueError) as error:
            raise Unreached(str(error)) from error

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            idle, self._idle = self._idle, {}
        for connections in idle.values():
            for connection in connections:
                connection.close()

    def _place(self, target: Target) -> _Place:
        service = target.service
        if service is None:
            where = urlsplit(target.url)
            host = where.hostname or ""
            return _Place(host, where.port or _HTTPS, host, target.ca_bundle, target.is_trusted)
        name = f"{service.namespace}/{service.name}"
        address = self._services.get(f"{name}:{service.port}") or self._services.get(name)
        if address is None:
            raise UnknownService(f'service "{service.name}" not found')
        return _Place(*address, service.host, target.ca_bundle)

    def _sent(self, place: _Place, request: HTTPRequest, deadline: float) -> HTTPResponse:
        while (kept := self._take(place)) is not None:
            with contextlib.suppress(*_BROKEN):  # it was closed while it was idle
                return self._exchanged(place, kept, request, deadline)
        return self._exchanged(place, _Connection(place), request, deadline)

    def _exchanged(self, place: _Place, connection: _Connection, request: HTTPRequest, deadline: float) -> HTTPResponse:
        try:
            connection.left = partial(self._left, deadline)
            path = f"{request.path}?{urlencode(request.query)}" if request.query else request.path
            connection.request(request.method, path, request.body, dict(request.headers))
            answer = connection.getresponse()
            parts, size = [], 0
            while part := answer.read1(_PART):
                size += len(part)
                if size > _LIMIT:
                    raise ValueError("the response body is too large")
                parts.append(part)
        except BaseException:
            connection.close()
            raise
        answer.close()  # lets the connection be used again; the socket stays open
        if answer.will_close:
            connection.close()
        else:
            self._keep(place, connection)
        headers = {name.lower(): value for name, value in answer.getheaders()}
        return HTTPResponse(answer.status, headers, b"".join(parts))

    def _left(self, deadline: float) -> float:
        left = deadline - self._host.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def _take(self, place: _Place) -> _Connection | None:
        with self._lock:
            idle = self._idle.get(place)
            return idle.pop() if idle else None

    def _keep(self, place: _Place, connection: _Connection) -> None:
        with self._lock:
            idle = self._idle.setdefault(place, [])
            if is_kept := len(idle) < _KEPT:
                idle.append(connection)
        if not is_kept:
            connection.close()


class _Connection(http.client.HTTPConnection):
    """A connection to an address whose certificate must be valid for another name than that of the address.

    Attributes:
        left: Returns the seconds that are left of the exchange; raises `TimeoutError` if absent.
    """

    def __init__(self, place: _Place) -> None:
        super().__init__(place.name, place.port)
        self._place = place
        self.left: Callable[[], float] = lambda: 0.0

    def connect(self) -> None:
        """Connect, and check the certificate."""
        plain = socket.create_connection((self._place.host, self._place.port), self.left())
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            plain.settimeout(self.left())  # of the whole handshake
            made = _context(self._place.ca_bundle, self._place.is_trusted).wrap_socket(
                plain, server_hostname=self._place.name
            )
        except BaseException:
            plain.close()
            raise
        self.sock = _TimedSocket(made, lambda: self.left())


class _TimedSocket:
    """The part of a socket that `http.client` uses; each system call waits for as long as the exchange may still take.

    The timeout of a socket alone begins again with each byte: a webhook that sends some now and then would never end.

    Args:
        made: The socket.
        left: Returns the seconds that are left, or raises `TimeoutError`.
    """

    def __init__(self, made: socket.socket, left: Callable[[], float]) -> None:
        self._made = made
        self._left = left

    def sendall(self, data: bytes) -> None:
        """Send all of `data`."""
        rest = memoryview(data)
        while rest:
            self._made.settimeout(self._left())
            rest = rest[self._made.send(rest) :]

    def makefile(self, mode: str) -> io.BufferedReader:
        """Return a file that reads from the socket."""
        return io.BufferedReader(_TimedFile(self._made, self._left))

    def close(self) -> None:
        """Close the socket, once its files are closed."""
        self._made.close()


class _TimedFile(io.RawIOBase):
    """Reads from a socket as `_TimedSocket` sends."""

    def __init__(self, made: socket.socket, left: Callable[[], float]) -> None:
        self._made, self._left = made, left
        self._file = made.makefile("rb", buffering=0)  # the socket stays open until this is closed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._made.settimeout(self._left())
        return self._file.readinto(buffer)

    def close(self) -> None:
        self._file.close()
        super().close()


@functools.lru_cache(_CONTEXTS)
def _context(ca_bundle: str, is_trusted: bool = False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if is_trusted:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    elif ca_bundle:
        context.load_verify_locations(cadata=ca_bundle)
    else:
        context.load_default_certs()
    return context


def _distrust(error: ssl.SSLCertVerificationError, name: str) -> str:
    if error.verify_code in _UNTRUSTED:
        return "certificate signed by unknown authority"
    if error.verify_code in _EXPIRED:
        return "certificate has expired or is not yet valid"
    return f"certificate is not valid for {name}"


def _address(name: str, text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or "/" not in name:
        raise UsageError(
            f"{name}={text} does not say where a service is: write NAMESPACE/NAME=HOST:PORT, as in "
            "default/webhooks=127.0.0.1:9443"
        )
    return host.strip("[]"), int(port)
