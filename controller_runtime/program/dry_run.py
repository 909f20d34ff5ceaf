# SPDX-License-Identifier: Apache-2.0
"""A transport whose writes are checked and answered by the server, and not done."""

from __future__ import annotations

import json
from typing import Any

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.log import get_logger
from controller_runtime.client.transport import Stream, TransportWrapper, is_upgrade

log = get_logger(__name__)

_WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
_PARAMETER = ("dryRun", "All")


class DryRunTransport(TransportWrapper):
    """A `transport.Transport` that asks for a dry run of each write, and logs one line for it.

    The server answers as if it had written, but nothing changes: caches stay as they are, so a reconciler that waits
    for its own write waits in vain.

    Threads: any.
    """

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        dry = as_dry_run(request)
        if dry is request:
            return self.inner.request(request, deadline)
        response = self.inner.request(dry, deadline)
        log.info("dry run", method=request.method, path=request.path, status=response.status)
        return response

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        return self.inner.stream(as_dry_run(request), deadline)


def as_dry_run(request: HTTPRequest) -> HTTPRequest:
    """Return `request` if it reads; if it writes, return one of which the server does a dry run.

    A command in a pod and a forwarded port are no reads; the server refuses a dry run of them. A deletion with a body
    carries its options there, and the server ignores those of the query.
    """
    if request.method not in _WRITES and not is_upgrade(request):
        return request
    query = (*(pair for pair in request.query if pair[0] != _PARAMETER[0]), _PARAMETER)
    if request.method != "DELETE" or not request.body:
        return request._replace(query=query)
    options: dict[str, Any] = json.loads(request.body)
    return request._replace(query=query, body=json.dumps({**options, "dryRun": ["All"]}).encode())
