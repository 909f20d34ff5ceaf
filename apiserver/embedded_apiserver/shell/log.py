# SPDX-License-Identifier: Apache-2.0
"""The logger of aiohttp's server. Malformed requests are clients' errors and not worth a line in the server's log."""

from __future__ import annotations

import logging
from typing import Any

from aiohttp.http_exceptions import HttpProcessingError


class ServerLog(logging.LoggerAdapter[logging.Logger]):
    """The logger for aiohttp's `web.Server`. Threads: any."""

    def __init__(self) -> None:
        super().__init__(logging.getLogger(__name__), {})

    def exception(self, msg: object, *args: object, exc_info: Any = True, **kwargs: Any) -> None:
        """Log an error at level ERROR; a malformed request, which is an error of a client, at level DEBUG."""
        level = logging.DEBUG if isinstance(exc_info, HttpProcessingError) else logging.ERROR
        self.log(level, msg, *args, exc_info=exc_info, **kwargs)
