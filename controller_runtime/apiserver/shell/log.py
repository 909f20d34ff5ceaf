# SPDX-License-Identifier: Apache-2.0
"""What aiohttp logs of a server, without the faults of clients: who sends no HTTP is refused, and that is all."""

from __future__ import annotations

import logging
from typing import Any

from aiohttp.http_exceptions import HttpProcessingError


class ServerLog(logging.LoggerAdapter[logging.Logger]):
    """A logger for `web.Server`. Threads: any."""

    def __init__(self) -> None:
        super().__init__(logging.getLogger(__name__), {})

    def exception(self, msg: object, *args: object, exc_info: Any = True, **kwargs: Any) -> None:
        """An error; what a client did wrong is for debugging alone."""
        level = logging.DEBUG if isinstance(exc_info, HttpProcessingError) else logging.ERROR
        self.log(level, msg, *args, exc_info=exc_info, **kwargs)
