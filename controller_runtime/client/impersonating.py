# SPDX-License-Identifier: Apache-2.0
"""Requests that are made as another user, so that the server allows what that user's roles allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apimachinery.http import VALUE_SEPARATOR, HTTPRequest, HTTPResponse
from controller_runtime.client.transport import Stream, Transport, TransportWrapper


def impersonation_headers(user: str | None, groups: Sequence[str] = ()) -> dict[str, str]:
    """Return the headers of requests that are made as `user`; none if it is None.

    Raises:
        ValueError: Groups without a user.
    """
    if user is None:
        if groups:
            raise ValueError("groups are those of a user: name the user, too")
        return {}
    headers = {"impersonate-user": user}
    return {**headers, "impersonate-group": VALUE_SEPARATOR.join(groups)} if groups else headers


def with_headers(request: HTTPRequest, headers: Mapping[str, str]) -> HTTPRequest:
    """Return the request with these headers as well."""
    return request._replace(headers={**request.headers, **headers}) if headers else request


class ImpersonatingTransport(TransportWrapper):
    """A transport whose requests are made as another user.

    Args:
        inner: Carries the requests; its own user must be allowed to impersonate.
        user: The name of the user, such as `system:serviceaccount:default:x`.
        groups: The groups of the user besides `system:authenticated`. Those of a service account follow from its name.
    """

    def __init__(self, inner: Transport, user: str, groups: Sequence[str] = ()) -> None:
        super().__init__(inner)
        self._headers = impersonation_headers(user, groups)

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        return self.inner.request(with_headers(request, self._headers), deadline)

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        return self.inner.stream(with_headers(request, self._headers), deadline)
