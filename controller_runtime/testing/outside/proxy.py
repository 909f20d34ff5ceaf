# SPDX-License-Identifier: Apache-2.0
"""The object that a program under test gets in place of an outside service's client."""

from __future__ import annotations

import inspect
from typing import Any, TypeVar, cast

from controller_runtime.testing.outside.line import Line

T = TypeVar("T")

_LINE = "_line_to_the_outside"


class Proxy:
    """Stands for a fake: calls of its public methods may have faults; all other attributes are those of the fake.

    Args:
        line: The connection to the fake.
    """

    def __init__(self, line: Line) -> None:
        object.__setattr__(self, _LINE, line)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """The class of the fake, so that `isinstance` holds."""
        return type(line_of(self).fake)

    def __getattr__(self, name: str) -> Any:
        line = line_of(self)
        found = getattr(line.fake, name)
        is_call = not name.startswith("_") and inspect.isroutine(getattr(type(line.fake), name, None))
        return line.calling(name, found) if is_call else found

    def __setattr__(self, name: str, value: object) -> None:
        setattr(line_of(self).fake, name, value)

    def __repr__(self) -> str:
        return repr(line_of(self).fake)


def line_of(proxy: object) -> Line:
    """Return the connection to the fake for which `proxy` stands."""
    return cast("Line", object.__getattribute__(proxy, _LINE))


def fake_of(given: T) -> T:
    """Return the fake for which `given` stands; `given` itself if it is no `Proxy`."""
    return cast("T", line_of(given).fake) if type(given) is Proxy else given
