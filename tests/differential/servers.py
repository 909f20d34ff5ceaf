# SPDX-License-Identifier: Apache-2.0
"""The two servers, each behind one call: the embedded one in this process, a real one over TLS."""

from __future__ import annotations

import http.client
import json
import re
import ssl
from collections.abc import Collection
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import attrs
import yaml

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.stop import Stop
from apimachinery.system import SystemHost
from embedded_apiserver.protobuf.reader import decode_object
from embedded_apiserver.server import APIServer
from embedded_apiserver.status import StatusError

HEADERS = ("content-type", "warning", "retry-after", "location", "allow")
AGENT = "differential/1"
_QUIET = 0.25
"""Seconds without an event after which a watch of the real server is taken for read to its end."""


@attrs.frozen
class Answer:
    """A status, the headers that are compared, and the body's bytes."""

    status: int
    headers: dict[str, list[str]]
    body: bytes


class Server(Protocol):
    """Answers one request at a time."""

    name: str

    def ask(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Answer:
        """Return the answer. A watch is read until it is quiet."""


class Embedded:
    """The embedded server of the tree that is imported, in this process.

    Args:
        disabled: The steps of admission to switch off.
        release: The release as which it answers; None for the newest.
    """

    name = "embedded"

    def __init__(self, disabled: Collection[str] = (), release: str | None = None) -> None:
        self._host = SystemHost("differential")
        self._server = APIServer(self._host, disable_admission_plugins=disabled, release=release)

    def ask(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Answer:
        path, _, query = target.partition("?")
        pairs = tuple(parse_qsl(query, keep_blank_values=True))
        sent = {"user-agent": AGENT, **headers}
        answer = self._server.handle(HTTPRequest(method, unquote(path), pairs, sent, body), on_ready=lambda: None)
        if isinstance(answer, HTTPResponse) and method == "HEAD":  # the HTTP server sends no body
            answer = answer._replace(body=b"")
        if isinstance(answer, HTTPResponse):
            found = {name: _split(name, value) for name, value in answer.headers.items() if name in HEADERS}
            return Answer(answer.status, found, answer.body)
        lines: list[bytes] = []
        is_ended = False
        while not is_ended and (taken := answer.take())[0]:
            lines += taken[0]
            is_ended = taken[1]
        answer.close()
        found = {name: _split(name, value) for name, value in answer.headers.items() if name in HEADERS}
        return Answer(200, found, b"".join(lines))

    def close(self) -> None:
        """End the server."""
        self._server.close()


def _split(name: str, value: str) -> list[str]:
    """Return the values of a repeated header; texts of warnings are quoted, and begin with 299."""
    if name != "warning":
        return [value]
    return [part if part.startswith("299") else f"299{part}" for part in value.split(", 299")]


class Real:
    """The server of a kubeconfig whose user has a bearer token."""

    name = "real"

    def __init__(self, kubeconfig: Path) -> None:
        config = yaml.safe_load(kubeconfig.read_text(encoding="utf-8"))
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        where = urlsplit(cluster["server"])
        self._place = where.hostname or "localhost", where.port or 443
        self._context = ssl.create_default_context()
        if cluster.get("insecure-skip-tls-verify"):
            self._context.check_hostname, self._context.verify_mode = False, ssl.CERT_NONE
        elif "certificate-authority" in cluster:
            self._context.load_verify_locations(cluster["certificate-authority"])
        if "client-certificate" in user:
            self._context.load_cert_chain(user["client-certificate"], user["client-key"])
        self._always = {"user-agent": AGENT}
        if "token" in user:
            self._always["authorization"] = f"Bearer {user['token']}"
        self._connection: http.client.HTTPSConnection | None = None
        self._never = Stop(SystemHost("differential"), "never")

    def ask(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Answer:
        try:
            return self._ask(method, target, headers, body)
        except (http.client.HTTPException, ConnectionError, ssl.SSLError) as error:
            self._connection = None
            return Answer(0, {}, f"{type(error).__name__}".encode())

    def _ask(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Answer:
        connection = self._connection or http.client.HTTPSConnection(*self._place, context=self._context, timeout=60)
        self._connection = connection
        connection.request(method, quote(target, safe="/%?&=+:,;!~*()'@$[]"), body or None, {**self._always, **headers})
        response = connection.getresponse()
        found = {name: response.headers.get_all(name) for name in HEADERS}
        answered = {name: values for name, values in found.items() if values}
        is_watch = "watch=" in target and response.status == 200 and response.headers.get("content-length") is None
        content = self._until_quiet(connection, response) if is_watch else response.read()
        return Answer(response.status, answered, content)

    def _until_quiet(self, connection: http.client.HTTPSConnection, response: http.client.HTTPResponse) -> bytes:
        content = b""
        connection.sock.settimeout(_QUIET)
        try:
            while part := response.read1(65536):
                content += part
        except (TimeoutError, http.client.HTTPException):
            pass
        finally:
            response.close()
            connection.close()
            self._connection = None
        return content

    def wait_for(self, target: str) -> None:
        """Wait until the kind of a path is served, which takes a real server a moment after its definition."""
        for _ in range(200):
            if self.ask("GET", target, {}, b"").status == 200:
                return
            self._never.wait(0.05)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()


def decoded(body: bytes) -> Any:
    """Return the value of a body in JSON, YAML or protobuf, or its text where it is none of them."""
    if body.startswith(b"k8s\0"):
        try:
            return decode_object(body)
        except StatusError as error:
            return f"protobuf: {error.message}"
    try:
        return json.loads(body)
    except ValueError:
        text = body.decode(errors="replace")
    if not re.match(r"[A-Za-z]+:", text) or "\nkind: " not in f"\n{text}":
        return text
    return yaml.load(text, Loader=yaml.BaseLoader)
