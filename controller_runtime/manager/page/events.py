# SPDX-License-Identifier: Apache-2.0
"""Pictures as server-sent events."""

from __future__ import annotations

import json
import re
from typing import Any

from controller_runtime.manager.page.links import story_link
from controller_runtime.manager.page.tables import Picture, StatusRow

RETRY = 2000
"""Milliseconds after which a browser that has lost the stream asks again."""


def event_of(picture: Picture, run: str, number: int) -> bytes:
    """Return one event. Its data is one line of JSON in ASCII, so that nothing in it can end the event.

    Args:
        picture: The picture.
        run: Names the run of the program.
        number: Counts the pictures that the reader has been sent by this run.
    """
    data = json.dumps({"run": run, **_values(picture)}, separators=(",", ":"))
    return f"id: {run}-{number}\nretry: {RETRY}\ndata: {data}\n\n".encode("ascii")


def number_after(last_id: str, run: str) -> int:
    """Return how many pictures a reader has been sent that says its last id; zero if another run sent that."""
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
