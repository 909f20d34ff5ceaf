# SPDX-License-Identifier: Apache-2.0
"""Logs the warnings of the server, such as those of deprecated API versions, and of the client, each text once."""

from __future__ import annotations

import re

from apimachinery.host import Host
from apimachinery.http import HTTPResponse
from apimachinery.log import get_logger
from controller_runtime.api.resources import LEASE_CANDIDATES

log = get_logger(__name__)

# A warning of the API server: code 299, an agent (`-`), and a quoted text. Other codes come from proxies.
_WARNING = re.compile(r'299 [^\s"]+ "((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")
# The beginning of a warning about a version that this package has chosen: a user can do nothing about it.
_OF_OUR_CHOICE = f"{LEASE_CANDIDATES.api_version} {LEASE_CANDIDATES.kind} is deprecated"
# Texts that are remembered. Warnings may name objects, so there can be any number of different texts.
_REMEMBERED = 256


def warnings_of(header: str) -> list[str]:
    """Return the texts in a `Warning` header of an API server."""
    return [_ESCAPED.sub(r"\1", text) for text in _WARNING.findall(header)]


class Warnings:
    """Logs the warnings in answers, each text once.

    The warning about the API version of lease candidates, which this package chooses, is logged at debug level. Only
    the 256 most recent texts are remembered; an older one would be logged again.

    Args:
        host: Creates the lock.

    Threads: any.
    """

    def __init__(self, host: Host) -> None:
        # Guards the logged texts, the most recent last.
        self._lock = host.lock("server warnings")
        self._seen: dict[str, None] = {}

    def log_new(self, response: HTTPResponse, path: str) -> None:
        """Log the warnings of an answer that were not logged before.

        Args:
            response: The answer.
            path: The path of its request, for the log.
        """
        header = response.headers.get("warning")
        if header is None:
            return
        for text in warnings_of(header):
            if self._is_new(text):
                tell = log.debug if text.startswith(_OF_OUR_CHOICE) else log.warning
                tell("the API server warns", text=text, asked=path)

    def log_text(self, text: str) -> None:
        """Log a warning of this client about a request, unless it was logged before. An empty text is ignored."""
        if text and self._is_new(text):
            log.warning(text)

    def _is_new(self, text: str) -> bool:
        with self._lock:
            is_new = text not in self._seen
            self._seen.pop(text, None)
            self._seen[text] = None
            if len(self._seen) > _REMEMBERED:
                del self._seen[next(iter(self._seen))]
        return is_new
