# SPDX-License-Identifier: Apache-2.0
"""The parameters of streams and logs, and the choice of the subprotocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from apimachinery.http import HTTPRequest
from embedded_apiserver.options import Query, is_true, number_of
from embedded_apiserver.programs.logs import LogQuery
from embedded_apiserver.status import bad_request


def agreed(
    request: HTTPRequest, protocols: Sequence[str], on_ready: Callable[[], None] | None
) -> tuple[str, Callable[[], None]]:
    """Return the subprotocol of a WebSocket connection, and the function that announces its messages.

    A client that offers no subprotocol gets the unnamed one, as from a kubelet.

    Raises:
        StatusError: The request is not one for a WebSocket, or offers none of the protocols.
    """
    if "upgrade" not in request.headers or on_ready is None:
        raise bad_request("Upgrade request required")
    if request.headers["upgrade"].lower() != "websocket":
        raise bad_request(f"unable to upgrade: this server speaks WebSockets, not {request.headers['upgrade']}")
    wanted = offered(request)
    for protocol in protocols:
        if protocol in wanted:
            return protocol, on_ready
    raise bad_request(f"requested protocol(s) are not supported: {wanted}; supports {list(filter(None, protocols))}")


def offered(request: HTTPRequest) -> list[str]:
    """Return the subprotocols that a client offers; a list with an empty text if it offers none."""
    return [one.strip() for one in request.headers.get("sec-websocket-protocol", "").split(",")]


def ports_of(text: str) -> list[int]:
    """Return the ports in a parameter, which are separated by commas.

    Raises:
        StatusError: 400, a text is not a port.
    """
    try:
        found = [int(one) for one in text.split(",")]
    except ValueError:
        raise bad_request(f'unable to parse "{text}" as a port') from None
    if any(not 0 < one < 1 << 16 for one in found):
        raise bad_request(f'unable to parse "{text}" as a port: port must be > 0 and < 65536')
    return found


def log_query(query: Query, now: datetime) -> LogQuery:
    """Return the parameters of a request for a log; `now` is the current time, for `sinceSeconds`."""
    since = None
    if (seconds := number_of(query, "sinceSeconds")) is not None:
        since = now - timedelta(seconds=seconds)
    elif text := query.get("sinceTime"):
        since = datetime.fromisoformat(text)
    return LogQuery(
        follow=is_true(query.get("follow")),
        previous=is_true(query.get("previous")),
        since=since,
        tail=number_of(query, "tailLines"),
        limit=number_of(query, "limitBytes"),
        timestamps=is_true(query.get("timestamps")),
    )
