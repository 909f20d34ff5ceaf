# SPDX-License-Identifier: Apache-2.0
"""How the requests of one client are sent: by which transport, as whom, and for how long."""

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


class Calls(NamedTuple):
    """Sends the requests of one client; a copy of a client with another limit has another of these.

    Attributes:
        host: The clock.
        transport: Carries the requests.
        timeout: Seconds that one request may take.
        agent: The user agent.
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
        """Send one request, and return its answer.

        Raises:
            APIError: The server refused it.
            ConnectionLost: There was no answer in time.
        """
        headers = {"user-agent": self.agent, "accept": accept}
        if body is not None:
            headers["content-type"] = content_type
        request = HTTPRequest(method, path, query, headers, b"" if body is None else encoded(body))
        answer = self.transport.request(request, self.host.monotonic() + self.timeout)
        self.warnings.log_new(answer, path)
        return check(answer)

    def objects(self, collection: Collection) -> ListWatch:
        """Return the lists and watches of a collection."""
        return ListWatch(self.host, self.transport, collection, request_timeout=self.timeout, warnings=self.warnings)

    def bounded(self, limit: Limit) -> Calls:
        """Return calls of which none outlasts a limit."""
        return self._replace(transport=DeadlineTransport(self.transport, limit))
