# SPDX-License-Identifier: Apache-2.0
"""Requests that are made as another user, so that the server allows what that user's roles allow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apimachinery.http import VALUE_SEPARATOR, HTTPRequest, HTTPResponse
from controller_runtime.client.transport import Stream, Transport, TransportWrapper


def impersonation_headers(user: str | None, groups: Sequence[str] = ()) -> dict[str, str]:
    """Return the headers that make a request run as `user`; an empty dict if `user` is None.

    Raises:
        ValueError: `groups` are given without a user.
    """
    if user is None:
        if groups:
            raise ValueError("groups are those of a user: name the user, too")
        return {}
    headers = {"impersonate-user": user}
    return {**headers, "impersonate-group": VALUE_SEPARATOR.join(groups)} if groups else headers


def with_headers(request: HTTPRequest, headers: Mapping[str, str]) -> HTTPRequest:
    """Return a copy of the request to which `headers` are added."""
    return request._replace(headers={**request.headers, **headers}) if headers else request


class ImpersonatingTransport(TransportWrapper):
    """A transport whose requests are made as another user (impersonation).

    Args:
        inner: Carries the requests. Its own user must have the right to impersonate.
        user: The name of the user, such as `system:serviceaccount:default:x`.
        groups: The groups of the user in addition to `system:authenticated`. The server derives those of a service
            account from its name.
    """

    def __init__(self, inner: Transport, user: str, groups: Sequence[str] = ()) -> None:
        super().__init__(inner)
        self._headers = impersonation_headers(user, groups)

    def request(self, request: HTTPRequest, deadline: float) -> HTTPResponse:
        return self.inner.request(with_headers(request, self._headers), deadline)

    def stream(self, request: HTTPRequest, deadline: float) -> Stream:
        return self.inner.stream(with_headers(request, self._headers), deadline)
