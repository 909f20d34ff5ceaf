# SPDX-License-Identifier: Apache-2.0
"""The embedded server for the trial of `ring_trial.py`: its audit log has what the judge reads of leases and nodes.

The server's own log is at the level Metadata. This one has the objects of writes, too, as a policy of kube-apiserver
would say it. `python -m kit.ring.ring_trial_server --audit-log-path FILE`, with the options of `embedded-apiserver`.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable
from typing import Any
from unittest import mock

from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.objects import microtime
from embedded_apiserver import __main__ as command
from embedded_apiserver.audit import AuditedHandler

VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
RECORDED = ("leases", "nodes")


class RecordingHandler(AuditedHandler):
    """Appends a line with both objects for each write of a lease or a node, and none for any other request."""

    def __init__(self, host: Host, inner: Any, path: Any) -> None:
        super().__init__(host, inner, path)
        self._host, self._server = host, inner

    def handle(self, request: HTTPRequest, on_ready: Callable[[], None] | None = None) -> Any:
        received = microtime(self._host.now())
        answer = self._server.handle(request, on_ready)
        parts = request.path.split("/")
        resource = next((each for each in RECORDED if each in parts), None)
        if resource is not None and request.method in VERBS and isinstance(answer, HTTPResponse):
            event = {
                "stage": "ResponseComplete",
                "verb": VERBS[request.method],
                "objectRef": {"resource": resource, "name": "".join(parts[parts.index(resource) + 1 :][:1])},
                "responseStatus": {"code": answer.status},
                "requestReceivedTimestamp": received,
                "requestObject": _object(request.body),
                "responseObject": _object(answer.body),
            }
            self._write(json.dumps(event).encode() + b"\n", request.path)
        return answer


def _object(body: bytes) -> Any:
    with contextlib.suppress(ValueError):
        return json.loads(body)
    return None


if __name__ == "__main__":
    with mock.patch.object(command, "AuditedHandler", RecordingHandler):
        sys.exit(command.main())
