# SPDX-License-Identifier: Apache-2.0
"""Sends the requests of one client, with its transport, user agent and timeout."""

from __future__ import annotations

from typing import NamedTuple

from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.api.collection import Collection
from controller_runtime.client.answers import check
from controller_runtime.client.bodies import encoded
from controller_runtime.client.deadlines import DeadlineTransport, Limit
from controller_runtime.client.listwatch import ListWatch
from controller_runtime.client.transport import Transport
from controller_runtime.client.warnings import Warnings
from controller_runtime.client.write_options import Query

JSON = "application/json"


class ClientCalls(NamedTuple):
    """Sends the requests of one client. Copies of the client with other limits have their own instances.

    Attributes:
        host: The source of the time.
        transport: Carries the requests.
        timeout: Seconds that one request may take.
        agent: The value of the `User-Agent` header.
        warnings: Logs the warnings of the server.

    Threads: any.
    """

    host: Host
    transport: Transport
    timeout: float
    agent: str
    warnings: Warnings

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str = JSON,
        accept: str = JSON,
        query: Query = (),
    ) -> HTTPResponse:
        """Send one request, and return its answer. `body` is encoded as JSON; None sends no body.

        Raises:
            APIError: The server answered with an error.
            ConnectionLost: No answer came within the timeout.
        """
        headers = {"user-agent": self.agent, "accept": accept}
        if body is not None:
            headers["content-type"] = content_type
        request = HTTPRequest(method, path, query, headers, b"" if body is None else encoded(body))
        answer = self.transport.request(request, self.host.monotonic() + self.timeout)
        self.warnings.log_new(answer, path)
        return check(answer)

    def objects(self, collection: Collection) -> ListWatch:
        """Return an object that lists and watches a collection with the transport and timeout of this client."""
        return ListWatch(self.host, self.transport, collection, request_timeout=self.timeout, warnings=self.warnings)

    def bounded(self, limit: Limit) -> ClientCalls:
        """Return a copy whose requests end at the deadline that `limit` returns, at the latest."""
        return self._replace(transport=DeadlineTransport(self.transport, limit))
