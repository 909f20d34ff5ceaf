# SPDX-License-Identifier: Apache-2.0
"""Warnings for writes: about owners that are named twice, and those that a refused write also gets."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from embedded_apiserver.groups.core.kinds import SERVICE
from embedded_apiserver.groups.parts import SCALE
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object
from embedded_apiserver.routes import Route
from embedded_apiserver.scale import scaled
from embedded_apiserver.status import StatusError


class warned_of:  # noqa: N801 (used like a function, and a generator would cost more at each write)
    """A context manager that adds warnings to a `StatusError` that is raised inside it.

    Args:
        warnings: The warnings. The code inside may append to the list.
    """

    __slots__ = ("_warnings",)

    def __init__(self, warnings: Sequence[str]) -> None:
        self._warnings = warnings

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if self._warnings and isinstance(error, StatusError):
            error.warnings = [*self._warnings, *error.warnings]


def of_write(route: Route, obj: Object, old: Object | None, raw: bytes) -> Sequence[str]:
    """Return the warnings for a write that was stored as `raw`; see `of_rules`."""
    if route.sent is SCALE and old is not None:
        obj = scaled(route.kind, old, obj)
    stored = msgspec.json.decode(raw) if route.kind == SERVICE and route.subresource != "status" else obj
    return of_rules(route.kind, route.subresource, obj, old, stored)


def of_rules(kind: Kind, subresource: str, obj: Object, old: Object | None, stored: Object) -> Sequence[str]:
    """Return the warnings from the rules of a kind; empty for a write of the status.

    For a service, `stored` is checked instead of `obj`.
    """
    return () if subresource == "status" else [*kind.policy.warnings(stored if kind == SERVICE else obj, old)]
