# SPDX-License-Identifier: Apache-2.0
"""The addresses of the status page."""

from __future__ import annotations

from urllib.parse import urlencode

from controller_runtime.manager.page.tables import StatusRow

PAGE = "/debug"
"""The path of the page."""

STREAM = "/debug/stream"
"""The path of the stream of updates of the page."""


def story_link(row: StatusRow) -> str:
    """Return the query string of the story page that a row links to; empty if it links to none."""
    if row.story is None:
        return ""
    controller, request = row.story
    return "?" + urlencode({"controller": controller, "request": request})
