# SPDX-License-Identifier: Apache-2.0
"""Faults between a client and its server, as values: a client's transport makes them happen, or a server does."""

from __future__ import annotations

import attrs

from apimachinery.http import HTTPResponse


@attrs.frozen
class Refused:
    """Fault: the connection is refused immediately; the server does not see the request."""


@attrs.frozen
class LostRequest:
    """Fault: the request is lost; the caller waits for the response until its deadline."""


@attrs.frozen
class LostReply:
    """Fault: the server carries out the request, but the response is lost; the caller waits for it until its
    deadline.
    """


@attrs.frozen
class CutReply:
    """Fault: the server carries out the request, but the connection is cut before the response."""


@attrs.frozen
class Delayed:
    """Fault: the request arrives after `seconds`; a request that would arrive after its deadline is lost."""

    seconds: float


@attrs.frozen
class Answered:
    """Fault: a proxy in front of the server sends `response`, such as a 429 or 500; the server does not see the
    request.
    """

    response: HTTPResponse


@attrs.frozen
class CutStream:
    """Fault: the stream is cut after `after` lines. Requests without a stream are not affected."""

    after: int = 0


@attrs.frozen
class SilentStream:
    """Fault: the stream stays open, but delivers nothing after `after` lines. Requests without a stream are not
    affected.
    """

    after: int = 0


Fault = Refused | LostRequest | LostReply | CutReply | Delayed | Answered | CutStream | SilentStream
