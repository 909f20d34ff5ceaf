# SPDX-License-Identifier: Apache-2.0
"""What the server warns of, such as versions of kinds that will go away: logged, each once."""

from __future__ import annotations

import re

from controller_runtime.api.http import HTTPResponse
from controller_runtime.core.host import Host
from controller_runtime.core.log import get_logger

log = get_logger(__name__)

# A warning of the API server: code 299, no agent, a quoted text; others are of proxies and caches.
_WARNING = re.compile(r'299 [^\s"]+ "((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")
# Servers may put names of objects into their warnings, so there can be any number of them.
_REMEMBERED = 256


def warnings_of(header: str) -> list[str]:
    """The texts of a `Warning` header, as API servers write it."""
    return [_ESCAPED.sub(r"\1", text) for text in _WARNING.findall(header)]


class Warnings:
    """Logs the warnings of answers, each text once; of very many the oldest are forgotten. Threads: any."""

    def __init__(self, host: Host) -> None:
        # Guards the texts that have been logged, the latest last.
        self._lock = host.lock("server warnings")
        self._seen: dict[str, None] = {}

    def heed(self, response: HTTPResponse, asked: str) -> None:
        """Log what is new.

        Args:
            response: What was answered.
            asked: To what, for the log.
        """
        header = response.headers.get("warning")
        if header is None:
            return
        for text in warnings_of(header):
            if self._is_new(text):
                log.warning("the API server warns", text=text, asked=asked)

    def _is_new(self, text: str) -> bool:
        with self._lock:
            is_new = text not in self._seen
            self._seen.pop(text, None)
            self._seen[text] = None
            if len(self._seen) > _REMEMBERED:
                del self._seen[next(iter(self._seen))]
        return is_new
