# SPDX-License-Identifier: Apache-2.0
"""The contents of the status page as server-sent events."""

from __future__ import annotations

import json
import re
from typing import Any

from controller_runtime.manager.page.links import story_link
from controller_runtime.manager.page.tables import Picture, StatusRow

RETRY = 2000
"""Milliseconds after which a browser that has lost the stream requests it again."""


def event_of(picture: Picture, run: str, number: int) -> bytes:
    """Return the content of the page as a server-sent event.

    Its data is one line of ASCII JSON, which cannot end the event.

    Args:
        picture: The content of the page.
        run: The identifier of this run of the program.
        number: The number of the event, for this reader and run.
    """
    data = json.dumps({"run": run, **_values(picture)}, separators=(",", ":"))
    return f"id: {run}-{number}\nretry: {RETRY}\ndata: {data}\n\n".encode("ascii")


def number_after(last_id: str, run: str) -> int:
    """Return the number of the event whose id a reader sends as the last one; zero if it is of another run."""
    known, _, number = last_id.rpartition("-")
    return int(number) if known == run and re.fullmatch("[0-9]{1,15}", number) else 0


def _values(picture: Picture) -> dict[str, Any]:
    return {
        "title": picture.title,
        "summary": picture.summary,
        "tables": [
            {
                "id": table.id,
                "title": table.title,
                "note": table.note,
                "columns": [*table.columns],
                "rows": [_row(row) for row in table.rows],
            }
            for table in picture.tables
        ],
    }


def _row(row: StatusRow) -> dict[str, Any]:
    return {"cells": [*row.cells], "bad": row.is_bad, "link": story_link(row)}
