# SPDX-License-Identifier: Apache-2.0
"""The input and the result of a write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from embedded_apiserver.options import Query, WriteOptions
from embedded_apiserver.routes import Route
from embedded_apiserver.users import ADMIN, User
from embedded_apiserver.writes.managed import Writer, manager_from


class Written(NamedTuple):
    """The result of a write: the HTTP status code, the object's JSON, and the warnings."""

    status: int
    raw: bytes
    warnings: Sequence[str] = ()


class Content(NamedTuple):
    """The input of a write: the body, its media type, the query parameters, the User-Agent, and the user."""

    body: bytes
    media_type: str
    query: Query
    agent: str = ""
    user: User = ADMIN

    def writer(self, options: WriteOptions, route: Route) -> Writer:
        """Return the writer for an update: the field manager in `options`, or the default from the User-Agent."""
        return Writer(options.field_manager or manager_from(self.agent), subresource=route.subresource)
