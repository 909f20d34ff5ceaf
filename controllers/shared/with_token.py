# SPDX-License-Identifier: Apache-2.0
"""A server for callers in its own process, which have its bearer token."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from apimachinery.http import Handler, HTTPRequest, HTTPResponse, Watch


@attrs.frozen
class WithToken:
    """A `http.Handler` that adds the server's bearer token to each request, for callers in the server's process.

    Attributes:
        server: Answers the requests.
        token: The bearer token that `server` accepts.

    Threads: any.
    """

    server: Handler
    token: str

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> HTTPResponse | Watch:
        """See `http.Handler.handle`."""
        headers = {**request.headers, "authorization": f"Bearer {self.token}"}
        return self.server.handle(request._replace(headers=headers), on_ready)
