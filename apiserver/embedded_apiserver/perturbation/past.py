# SPDX-License-Identifier: Apache-2.0
"""Makes lists of a resource show an earlier state of it."""

from __future__ import annotations

from collections.abc import Callable

import attrs

from apimachinery.http import HTTPRequest, HTTPResponse

ANY_VERSION = "0"
"""The resourceVersion of a list that accepts any state, however old."""

# A server that cannot stream lists is a lawful one; its clients ask for pages, which have a version.
NO_STREAMS = HTTPResponse(
    400,
    {"content-type": "application/json"},
    b'{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"BadRequest","code":400,'
    b'"message":"sendInitialEvents is not supported by this server"}',
)


def _ignore() -> None:
    pass


@attrs.frozen
class Past:
    """Makes lists of a resource show an earlier state.

    Attributes:
        resource: The resource.
        version: The resourceVersion of the state to show.
        on_shown: A function that is called for each request for a list, or a page of it, that shows the state.
    """

    resource: str
    version: int
    on_shown: Callable[[], None] = _ignore

    def shown_to(self, request: HTTPRequest) -> HTTPRequest:
        """Return a list request with the resourceVersion of the state to show; unchanged for later pages, whose token
        has it.
        """
        self.on_shown()
        query = dict(request.query)
        if "continue" in query:
            return request
        query |= {"resourceVersion": str(self.version), "resourceVersionMatch": "Exact"}
        return request._replace(query=tuple(query.items()))
