# SPDX-License-Identifier: Apache-2.0
"""Columns of tables, whose definitions are recorded data, and functions that make cells for many kinds."""

from __future__ import annotations

import functools
import gzip
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from typing import Any

import attrs
import msgspec

from embedded_apiserver.kinds.cells import Cell
from embedded_apiserver.objects import Object

_DATA = "data/columns-1.36.json.gz"


@attrs.frozen
class Column:
    """A column of a table.

    Attributes:
        definition: The definition in a table: its name, type, format and description, and whether it is shown only on
            request (`priority`).
        cell: The function that makes the cells.
    """

    definition: Mapping[str, Any]
    cell: Cell

    @property
    def name(self) -> str:
        """The heading."""
        name: str = self.definition["name"]
        return name


@attrs.frozen
class Layout:
    """How tables of a kind look.

    Attributes:
        columns: The columns.
        conditions: From an object to the conditions of its row; None if rows have none.
        has_empty_rows: Whether a table without rows has an empty list of them; otherwise it has null, as on a real
            server where no code makes tables of the kind.
        order: From an object to its place among the rows; None for the order of the list.
    """

    columns: Sequence[Column]
    conditions: Callable[[Object], Sequence[Object]] | None = None
    has_empty_rows: bool = True
    order: Callable[[Object], tuple[int, str]] | None = None


@functools.cache
def _recorded() -> Mapping[str, Sequence[Mapping[str, Any]]]:
    packed = resources.files(__package__).joinpath(_DATA).read_bytes()
    found: dict[str, list[dict[str, Any]]] = msgspec.json.decode(gzip.decompress(packed))
    return found


def definitions_of(api_version: str, kind: str) -> Sequence[Mapping[str, Any]]:
    """Return the recorded definitions of the columns of a built-in kind; empty if the kind is unknown."""
    return _recorded().get(f"{api_version}/{kind}", ())


def recorded(api_version: str, kind: str, name: str) -> Mapping[str, Any]:
    """Return the recorded definition of one column, for kinds that share it."""
    return next(one for one in definitions_of(api_version, kind) if one["name"] == name)
