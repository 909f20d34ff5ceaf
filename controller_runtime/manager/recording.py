# SPDX-License-Identifier: Apache-2.0
"""The recorder of a manager, which is imported only by a manager that records."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import msgspec

from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.client.transport import Transport

if TYPE_CHECKING:  # see above
    from controller_runtime.incidents.finished import Kept
    from controller_runtime.incidents.options import Incidents
    from controller_runtime.incidents.recorder import Recorder

RECONCILES = "/debug/reconciles"
"""The path of the list of recorded reconciles."""

_JSON = {"content-type": "application/json"}
_OFF = b"nothing is recorded: start the program with --incidents FOLDER, or its manager with incidents=\n"
_GONE = b"no reconcile of that number is kept: ask for /debug/reconciles\n"


def recorded(host: Host, transport: Transport, incidents: Incidents | None) -> tuple[Recorder | None, Host, Transport]:
    """Return the recorder of a manager, and the host and transport for user code that record; see `incidents`.

    Without `incidents` the recorder is None, and `host` and `transport` are returned as given.

    Raises:
        UsageError: The folder of the incidents cannot be used.
    """
    if incidents is None:
        return None, host, transport
    from controller_runtime.incidents.hooks import AttemptHost, AttemptTransport
    from controller_runtime.incidents.recorder import Recorder

    return Recorder(host, incidents), AttemptHost(host), AttemptTransport(transport)


def reconciles_answer(recorder: Recorder | None, request: HTTPRequest) -> HTTPResponse:
    """Return the answer to a request for recorded reconciles: a list, the newest first.

    With `number` in the query, the answer is the file of that reconcile.
    """
    if recorder is None:
        return HTTPResponse(404, {}, _OFF)
    number = dict(request.query).get("number")
    if number is None:
        return HTTPResponse(200, _JSON, msgspec.json.encode([_shown(kept) for kept in recorder.all()]))
    found = next((kept for kept in recorder.all() if str(kept.number) == number), None)
    if found is None or (raw := found.file()) is None:
        return HTTPResponse(404, {}, _GONE)
    return HTTPResponse(200, {**_JSON, "content-disposition": f'attachment; filename="{found.file_name}"'}, raw)


def _shown(kept: Kept) -> dict[str, Any]:
    return {
        "number": kept.number,
        "controller": kept.controller,
        "request": kept.request,
        "started": kept.started.isoformat(),
        "took": round(kept.took, 6),
        "outcome": kept.outcome,
        "error": kept.error,
        "reasons": [*kept.reasons],
        "bytes": kept.size,
    }


def listening(recorder: Recorder | None) -> AbstractContextManager[None]:
    """Return a context manager inside which log lines are recorded; without a recorder it has no effect."""
    return nullcontext() if recorder is None else recorder.listening()
