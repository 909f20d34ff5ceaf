# SPDX-License-Identifier: Apache-2.0
"""The answers of the status page: its content as HTML, and a stream of later contents as server-sent events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from apimachinery.http import HTTPRequest, HTTPResponse
from apimachinery.log import get_logger
from controller_runtime.controller.failing import error_text
from controller_runtime.manager.manager import Manager
from controller_runtime.manager.page.events import event_of, number_after
from controller_runtime.manager.page.html import headers, page_of
from controller_runtime.manager.page.overview import overview
from controller_runtime.manager.page.process import process_table
from controller_runtime.manager.page.shown import TakeTables
from controller_runtime.manager.page.story import story_tables
from controller_runtime.manager.page.tables import Picture, StatusRow, StatusTable, Wish, filtered

log = get_logger(__name__)

_FOREIGN = b"the stream is for the page of this address alone\n"


class StatusPage:
    """Answers the requests of the status page with the current state of a manager.

    Args:
        manager: The manager. From now on it keeps records of its reconciles.

    Threads: any.
    """

    def __init__(self, manager: Manager) -> None:
        self._manager = manager
        self._name = f"{manager.host.name} on {manager.transport}"
        # Tells a reader that comes back whether this is the program that it has seen before.
        self._run = manager.host.uuid()[:8]
        manager.stories.is_recording = True

    def picture(self, wish: Wish) -> Picture:
        """Return the current content of the page, with the parts that a reader asks for."""
        manager = self._manager
        stories = manager.stories.all()
        if wish.request:
            title, tables = f"Story of {wish.request}", [*story_tables(manager, stories, wish)]
        else:
            title, tables = f"Controllers of {self._name}", [*overview(manager, stories)]
            tables += [table for take in manager.shown_tables.all() for table in _taken(take)]
            tables.append(process_table())
        return filtered(Picture(title, _summary(manager), tuple(tables)), wish)

    def html(self, request: HTTPRequest) -> HTTPResponse:
        """Return the page as HTML, which is readable by itself. With scripts, a browser then follows the stream."""
        wish = Wish.of(request.query)
        return HTTPResponse(200, headers(), page_of(self.picture(wish), wish, self._run).encode("utf-8", "replace"))

    def stream(self, request: HTTPRequest) -> HTTPResponse | PictureStream:
        """Return the stream of updates of a page. A request from a page of another site is refused.

        Otherwise that site could use up the streams.
        """
        if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return HTTPResponse(403, {}, _FOREIGN)
        return PictureStream(self, Wish.of(request.query), self._run, request.headers.get("last-event-id", ""))


@attrs.define
class PictureStream:
    """The updates of the page for one reader, as server-sent events; see `serving.Stream`."""

    page: StatusPage
    wish: Wish
    run: str
    last_id: str
    _number: int = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._number = number_after(self.last_id, self.run)

    def next(self) -> bytes:
        """Return the current content of the page, as the next event."""
        picture = self.page.picture(self.wish)
        self._number += 1
        return event_of(picture, self.run, self._number)


def _summary(manager: Manager) -> str:
    names = manager.controllers
    state = "stopping" if manager.stopping.is_set() else "running"
    running = sum(one.has_begun for one in names)
    done, errors = sum(one.reconciles for one in names), sum(one.errors for one in names)
    return f"{state}: {running} of {len(names)} controllers, {done} reconciles, {errors} errors"


def _taken(take: TakeTables) -> Iterable[StatusTable]:
    """Return the tables of a program's own; an error is shown in their place, since the page must not fail with it."""
    try:
        return [*_checked(take())]
    except Exception as error:  # noqa: BLE001  a program's own tables end here, the page does not
        log.debug("tables of the status page failed", error=error)
        name = getattr(take, "__qualname__", type(take).__name__)
        return [StatusTable(f"Tables of {name}", ("error",), [StatusRow((error_text(error),), is_bad=True)])]


def _checked(tables: Iterable[StatusTable]) -> Iterator[StatusTable]:
    for table in tables:
        for row in table.rows:
            if len(row.cells) != len(table.columns):
                raise ValueError(
                    f"a row of {table.title!r} has {len(row.cells)} cells for {len(table.columns)} columns"
                )
        yield table
