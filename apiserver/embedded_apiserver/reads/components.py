# SPDX-License-Identifier: Apache-2.0
"""The statuses of components: the health of the scheduler and the controllers that run next to the server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from apimachinery.http import HTTPRequest
from embedded_apiserver.groups.core.kinds import COMPONENT_STATUS
from embedded_apiserver.list_options import ListOptions
from embedded_apiserver.reads.listing import Page
from embedded_apiserver.reads.selection import Selection
from embedded_apiserver.status import not_found
from embedded_apiserver.storage.stored import Stored
from embedded_apiserver.webhooks.caller import Caller, Target, Unreached

_ASKED: Mapping[str, str] = {
    "scheduler": "https://127.0.0.1:10259/healthz",
    "controller-manager": "https://127.0.0.1:10257/healthz",
}
"""The components that listen at a port of their own, as on a real API server."""
_STORAGE = "etcd-0"
"""The storage, which is part of this server: as long as it answers, it works."""
_TIMEOUT = 20.0
_LONGEST = 10 * 1024  # bytes of an answer that are shown


class Components:
    """Provides the statuses of cluster components. Each request asks the components for their health; nothing is
    stored.

    Args:
        caller: Sends the requests to the components.

    Threads: any.
    """

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def get(self, name: str) -> bytes:
        """Return the JSON of the `ComponentStatus` named `name`, without kind and apiVersion.

        Raises:
            StatusError: 404, there is no component of that name.
        """
        if name not in _ASKED and name != _STORAGE:
            raise not_found(COMPONENT_STATUS, name, "componentstatus")
        return self._status(name).raw

    def list(self, options: ListOptions) -> Page:
        """Return a page with the statuses of all components that `options` select."""
        selection = Selection.of(COMPONENT_STATUS, "", options)
        return Page([one for one in self._all() if selection.matches(one)], 0)

    def _all(self) -> Iterator[Stored]:
        for name in (*_ASKED, _STORAGE):
            yield self._status(name)

    def _status(self, name: str) -> Stored:
        is_healthy, message = (True, "ok") if name == _STORAGE else self._asked(_ASKED[name])
        condition = {"type": "Healthy", "status": str(is_healthy), "message": message}
        return Stored(name, 0, msgspec.json.encode({"metadata": {"name": name}, "conditions": [condition]}))

    def _asked(self, url: str) -> tuple[bool, str]:
        target = Target(url, is_trusted=True)
        try:
            answer = self._caller.call(target, HTTPRequest("GET", target.path), _TIMEOUT)
        except Unreached as error:
            return False, f'Get "{url}": {error}'
        return 200 <= answer.status < 400, answer.body[:_LONGEST].decode(errors="replace")
