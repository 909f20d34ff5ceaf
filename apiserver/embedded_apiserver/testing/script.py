# SPDX-License-Identifier: Apache-2.0
"""The script of a server: the requests that get a fault, and how often."""

from __future__ import annotations

import attrs

from apimachinery.faults import Answered, CutReply, Delayed, Refused
from apimachinery.host import Host
from embedded_apiserver.testing.matching import MatchedRequests
from embedded_apiserver.testing.requests import RecordedRequest

ServerFault = Answered | CutReply | Delayed | Refused
"""The faults that a server can cause: an answer that is not its own, a delay, and a connection that is closed before
(`Refused`) or after (`CutReply`) the request is carried out.
"""


@attrs.define
class _ScriptLine:
    target: MatchedRequests
    fault: ServerFault
    left: int | None  # how often it still happens; None without end

    def means(self, request: RecordedRequest) -> bool:
        parts = (request.verb, request.plural, request.group, request.subresource, request.name)
        return self.left != 0 and self.target.means(*parts)


class Script:
    """The scripted faults of a server. A request gets the fault of the first matching line that is not used up.

    Threads: any.
    """

    def __init__(self, host: Host) -> None:
        # Guards the lines and their counts.
        self._lock = host.lock("script")
        self._lines: list[_ScriptLine] = []

    def add(self, target: MatchedRequests, fault: ServerFault, times: int | None) -> None:
        """Add a line: requests that match `target` get `fault`, at most `times` times; None for no limit."""
        with self._lock:
            self._lines.append(_ScriptLine(target, fault, times))

    def take(self, request: RecordedRequest) -> ServerFault | None:
        """Return the fault for a request, and count its use; None if no line matches."""
        if not self._lines:  # without the lock: as of most servers
            return None
        with self._lock:
            for line in self._lines:
                if line.means(request):
                    line.left = None if line.left is None else line.left - 1
                    return line.fault
        return None

    def waits(self) -> bool:
        """Return whether a line that is not used up may delay requests."""
        if not self._lines:  # without the lock: as of most servers
            return False
        with self._lock:
            return any(isinstance(line.fault, Delayed) and line.left != 0 for line in self._lines)
