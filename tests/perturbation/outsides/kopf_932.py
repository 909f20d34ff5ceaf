# SPDX-License-Identifier: Apache-2.0
"""A row of a database is not deleted because of an error, and the object goes all the same."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from functools import partial

from kit.perturbation.miniatures import Body, name_of
from kit.perturbation.outsides import Manages, OutsideBug, declare_and_delete, retried

from controller_runtime.testing.outside.sql import Database, connect


class Rows(Manages):
    def bring_about(self, database: Body) -> None:
        with retried(sqlite3.OperationalError), connect(self.things) as connection:
            connection.execute("insert or replace into policies values (?)", (name_of(database),))

    def take_away(self, database: Body) -> None:
        with retried(sqlite3.OperationalError):
            self.delete_row(name_of(database))

    def delete_row(self, name: str) -> None:
        with connect(self.things) as connection:
            connection.execute("delete from policies where name = ?", (name,))


class PassesErrorsOver(Rows):
    def take_away(self, database: Body) -> None:
        with suppress(sqlite3.OperationalError):
            self.delete_row(name_of(database))


BUG = OutsideBug(
    "nolar/kopf#932",
    "request lost",
    partial(Database, "create table policies (name text primary key)"),
    PassesErrorsOver,
    Rows,
    declare_and_delete,
)
