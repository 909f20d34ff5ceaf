# SPDX-License-Identifier: Apache-2.0
"""Requests that change nothing at the server: reads, and writes of which it does a dry run."""

from __future__ import annotations

import json
from typing import Any

from apimachinery.errors import UsageError
from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.client.transport import Stream, TransportWrapper, is_upgrade
from controller_runtime.isolation.guard import permitted

_READING = ("GET", "HEAD")
_PARAMETER = ("dryRun", "All")


def as_dry_run(request: HTTPRequest) -> HTTPRequest:
    """Return a read request unchanged, and a write request as a dry run.

    A deletion with a body has its options there, because the server then ignores the query.
    """
    if request.method in _READING:
        return request
    query = (*(pair for pair in request.query if pair[0] != _PARAMETER[0]), _PARAMETER)
    if request.method != "DELETE" or not request.body:
        return request._replace(query=query)
    options: dict[str, Any] = json.loads(request.body)
    return request._replace(query=query, body=json.dumps({**options, "dryRun": ["All"]}).encode())


def changes_nothing(request: HTTPRequest) -> bool:
    """Return whether a request changes nothing at the server: a read or a dry run, but not a command in a pod."""
    return request == as_dry_run(request) and not is_upgrade(request)


class DryRunOnly(TransportWrapper):
    """A `transport.Transport` that sends only reads and dry runs, and refuses every other request.

    Its connections are allowed even while a `Guard` refuses connections of other code.

    Threads: any.
    """

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        """Send a request that changes nothing, and return its answer.

        Raises:
            UsageError: The request would change something.
        """
        _check(request)
        with permitted():
            return self.inner.request(request, deadline)

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        """Send a request that changes nothing, and return its answer as a stream; see `request`."""
        _check(request)
        with permitted():
            return self.inner.stream(request, deadline)


def _check(request: HTTPRequest) -> None:
    if not changes_nothing(request):
        raise UsageError(f"{request.method} {request.path} would be carried out: a plan sends reads and dry runs alone")
