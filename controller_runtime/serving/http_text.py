# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 as text: the heads of requests read, and responses written. For the small servers of a program."""

from __future__ import annotations

import http
from urllib.parse import parse_qsl, unquote, urlsplit

from apimachinery.http import HTTPRequest, HTTPResponse


def parsed_head(head: bytes) -> HTTPRequest:
    """Return the request in a head (request line and headers), without a body.

    Raises:
        ValueError: The head is malformed.
    """
    first, *lines = head.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    if not first.isascii():
        raise ValueError("a request line is ASCII")
    method, target, _ = first.split(" ")
    split = urlsplit(target)
    headers: dict[str, str] = {}
    for line in lines:
        name, _, value = line.partition(":")
        key = name.strip().lower()
        headers[key] = f"{headers[key]}, {value.strip()}" if key in headers else value.strip()
    query = tuple(parse_qsl(split.query, keep_blank_values=True))
    return HTTPRequest(method, unquote(split.path), query, headers)


def encoded_response(response: HTTPResponse, *, with_body: bool = True) -> bytes:
    """Return a response as bytes. By default it is plain text, and the connection is closed after it."""
    phrase = http.HTTPStatus(response.status).phrase
    body = response.body or f"{phrase.lower()}\n".encode()
    headers = {"content-type": "text/plain; charset=utf-8", "connection": "close", **response.headers}
    headers |= {"content-length": str(len(body)), "x-content-type-options": "nosniff"}
    lines = [f"HTTP/1.1 {response.status} {phrase}", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1") + (body if with_body else b"")


def stream_head() -> bytes:
    """Return the status line and headers of a response with server-sent events; it ends with the connection."""
    lines = (
        "HTTP/1.1 200 OK",
        "content-type: text/event-stream; charset=utf-8",
        "cache-control: no-store",
        "connection: close",
        "x-content-type-options: nosniff",
    )
    return "\r\n".join((*lines, "", "")).encode("ascii")
