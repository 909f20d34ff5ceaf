# SPDX-License-Identifier: Apache-2.0
"""Faults between a client and its server, as values: a client's transport makes them happen, or a server does."""

from __future__ import annotations

import attrs

from apimachinery.http import HTTPResponse


@attrs.frozen
class Refused:
    """The connection is refused at once; the server sees nothing."""


@attrs.frozen
class LostRequest:
    """The request is lost; the caller waits for an answer until its deadline."""


@attrs.frozen
class LostReply:
    """The server acts; its answer is lost, and the caller waits for it until its deadline."""


@attrs.frozen
class CutReply:
    """The server acts; the connection is cut before its answer."""


@attrs.frozen
class Delayed:
    """The request arrives `seconds` later; a request that would arrive after its deadline is lost."""

    seconds: float


@attrs.frozen
class Answered:
    """A proxy in front of the server answers, such as with 429 or 500; the server sees nothing."""

    response: HTTPResponse


@attrs.frozen
class CutStream:
    """The stream is cut after `after` lines. A call that is not a stream is not affected."""

    after: int = 0


@attrs.frozen
class SilentStream:
    """The stream stays open, but is silent after `after` lines. A call that is not a stream is not affected."""

    after: int = 0


Fault = Refused | LostRequest | LostReply | CutReply | Delayed | Answered | CutStream | SilentStream
