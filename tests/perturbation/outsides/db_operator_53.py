# SPDX-License-Identifier: Apache-2.0
"""A user of a database is created, its rights are not given, and each further try finds that the user exists."""

from __future__ import annotations

import sqlite3
from functools import partial

from kit.perturbation.miniatures import Body, name_of
from kit.perturbation.outsides import Manages, OutsideBug, declare, retried

from controller_runtime.testing.outside.sql import Database, connect


class CreatesIfAbsent(Manages):
    statement = "insert or ignore into users values (?)"

    def bring_about(self, database: Body) -> None:
        if (database.get("status") or {}).get("created"):
            return
        with retried(sqlite3.OperationalError, sqlite3.IntegrityError):
            self.write(self.statement, name_of(database))
            self.write("insert or ignore into rights values (?)", name_of(database))
        self.report(database, created=True)

    def write(self, statement: str, name: str) -> None:
        with connect(self.things) as connection:
            connection.execute(statement, (name,))


class Creates(CreatesIfAbsent):
    statement = "insert into users values (?)"


BUG = OutsideBug(
    "db-operator/db-operator#53",
    "crash after",
    partial(Database, "create table users (name text primary key); create table rights (name text primary key)"),
    Creates,
    CreatesIfAbsent,
    declare,
)
