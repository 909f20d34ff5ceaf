# SPDX-License-Identifier: Apache-2.0
"""A fake of a SQL database: SQLite in memory with the DB-API, whose connections may break and commits go unanswered."""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Sequence
from typing import Any, Self

import attrs

from controller_runtime.testing.outside.declaring import outside, reads
from controller_runtime.testing.outside.proxy import fake_of

Rows = list[tuple[Any, ...]]


def _died(text: str) -> sqlite3.OperationalError:
    return sqlite3.OperationalError(f"server closed the connection unexpectedly: {text}")


@attrs.frozen
class Result:
    """The result of a SQL statement.

    Attributes:
        rows: The rows; empty for a statement without any.
        columns: The names of the columns; empty for a statement without rows.
        changed: The number of changed rows, which may be 0; -1 for a statement of another kind, such as a query.
    """

    rows: Rows
    columns: Sequence[str]
    changed: int


@outside(refused=_died, timed_out=_died)
class Database:
    """A fake of a SQL database with one writing transaction at a time. Programs use it through `connect`.

    The calls that may fail are opening a connection, running a statement, and committing. A connection without an
    answer is dead: its uncommitted changes are rolled back, and further statements and commits raise
    `sqlite3.OperationalError`.
    When the program ends, all transactions are rolled back. A second transaction that writes while one is open is
    refused with `database is locked`.

    Args:
        schema: SQL statements that create the tables, such as `create table users (name text primary key)`.

    Attributes:
        state: The committed rows, each a dict by column, by table and values of the primary key.

    Threads: those of a simulation, which run one at a time.
    """

    def __init__(self, schema: str = "") -> None:
        self._schema = schema
        self._writing: int | None = None
        self._opened = 0
        self._db = self._new()
        self._committed = self._present()

    @property
    def state(self) -> dict[tuple[str, ...], dict[str, Any]]:
        """The committed rows, each a dict by column, by table and values of the primary key."""
        return self._committed

    @state.setter
    def state(self, rows: dict[tuple[str, ...], dict[str, Any]]) -> None:
        self._db, self._writing = self._new(), None
        for table in self._tables():
            self._db.execute(f'delete from "{table}"')
        for (table, *_), row in rows.items():
            names = ", ".join(f'"{each}"' for each in row)
            marks = ", ".join("?" for _ in row)
            self._db.execute(f'insert into "{table}" ({names}) values ({marks})', [*row.values()])
        self._committed = self._present()

    def open(self) -> int:
        """Open a connection and return its number, by which the other methods know it."""
        self._opened += 1
        return self._opened

    def run(self, connection: int, statement: str, values: Sequence[Any] = ()) -> Result:
        """Run a statement that may change something, in the transaction of the connection with this number.

        Raises:
            sqlite3.Error: The statement is refused, or another connection has uncommitted changes.
        """
        if self._writing not in (None, connection):
            raise sqlite3.OperationalError("database is locked")
        if not self._db.in_transaction:
            self._db.execute("begin")
        self._writing = connection
        return _result(self._db.execute(statement, values))

    @reads
    def query(self, connection: int, statement: str, values: Sequence[Any] = ()) -> Result:
        """Run a statement that changes nothing. It also sees the uncommitted changes of other connections.

        Raises:
            sqlite3.Error: The statement is refused.
        """
        return _result(self._db.execute(statement, values))

    def commit(self, connection: int) -> None:
        """Commit the transaction of a connection, if it has one."""
        if self._writing == connection:
            self._db.execute("commit")
            self._writing, self._committed = None, self._present()

    def give_up(self, connection: int) -> None:
        """Roll back the transaction of a connection, if it has one."""
        if self._writing == connection:
            self._db.execute("rollback")
            self._writing = None

    def hang_up(self) -> None:
        """Roll back all transactions; called when the program has ended."""
        if self._writing is not None:
            self.give_up(self._writing)

    def _new(self) -> sqlite3.Connection:
        db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, db.close)  # Python warns of a database that is collected while it is open
        db.executescript(self._schema)
        return db

    def _tables(self) -> list[str]:
        found = self._db.execute("select name from sqlite_master where type = 'table' and name not like 'sqlite_%'")
        return sorted(name for (name,) in found)

    def _present(self) -> dict[tuple[str, ...], dict[str, Any]]:
        rows: dict[tuple[str, ...], dict[str, Any]] = {}
        for table in self._tables():
            info = self._db.execute(f'pragma table_info("{table}")').fetchall()
            keys = [name for _, name, _, _, _, in_key in info if in_key]
            for number, values in enumerate(self._db.execute(f'select * from "{table}"').fetchall()):
                row = dict(zip([name for _, name, *_ in info], values, strict=True))
                rows[table, *([str(row[each]) for each in keys] or [str(number)])] = row
        return rows


class Connection:
    """A DB-API connection to a fake database; made by `connect`.

    Args:
        database: The result of `cluster.outside(Database(…))`.

    Raises:
        sqlite3.OperationalError: It cannot connect, or there is no answer.

    Threads: one.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._number = database.open()
        self._is_dead = False

    def cursor(self) -> Cursor:
        """Return a new cursor of this connection."""
        return Cursor(self)

    def execute(self, statement: str, values: Sequence[Any] = ()) -> Cursor:
        """Run a statement with `values` for its placeholders, and return the new cursor.

        Raises:
            sqlite3.Error: The statement is refused, the connection is dead, or there is no answer.
        """
        return self.cursor().execute(statement, values)

    def commit(self) -> None:
        """Commit the changes of this connection.

        Raises:
            sqlite3.OperationalError: There is no answer, so that the changes may be committed or not; the connection is
                dead from now on, or was before.
        """
        self.call("commit")

    def rollback(self) -> None:
        """Roll back the uncommitted changes."""
        fake_of(self._database).give_up(self._number)  # no call: the service sees the end of a connection

    def close(self) -> None:
        """Roll back the uncommitted changes, and close the connection."""
        self.rollback()
        self._is_dead = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Commit, or roll back if the block has raised, as a connection of `sqlite3` does."""
        if kind is None:
            self.commit()
        else:
            self.rollback()

    def call(self, name: str, *values: Any) -> Any:
        """Call a method of the database with the number of this connection and `values`, and return its result.

        Raises:
            sqlite3.Error: The connection is dead, the statement is refused, or there is no answer; without an answer
                the connection is dead from now on.
        """
        if self._is_dead:
            raise sqlite3.OperationalError("the connection is closed")
        try:
            return getattr(self._database, name)(self._number, *values)
        except sqlite3.OperationalError as error:
            if str(error).startswith("server closed"):
                self._is_dead = True
                self.rollback()
            raise


class Cursor:
    """A DB-API cursor.

    Args:
        connection: The connection to which it belongs.

    Attributes:
        rowcount: The number of rows that the last statement changed; -1 for a statement of another kind.
        description: The columns of the last statement, in the form of the DB-API; None if it had none.

    Threads: one.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._rows: Rows = []
        self.rowcount = -1
        self.description: list[tuple[Any, ...]] | None = None

    def execute(self, statement: str, values: Sequence[Any] = ()) -> Self:
        """Run a statement with `values` for its placeholders, and return this cursor.

        Raises:
            sqlite3.Error: The statement is refused, the connection is dead, or there is no answer.
        """
        is_query = statement.lstrip().lower().startswith(("select", "with", "pragma"))
        result: Result = self._connection.call("query" if is_query else "run", statement, tuple(values))
        self._rows, self.rowcount = list(result.rows), result.changed
        self.description = [(name, *[None] * 6) for name in result.columns] or None
        return self

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row; None if there is no more."""
        return self._rows.pop(0) if self._rows else None

    def fetchall(self) -> Rows:
        """Return all remaining rows."""
        rows, self._rows = self._rows, []
        return rows

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> tuple[Any, ...]:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    def close(self) -> None:
        """Discard the remaining rows."""
        self._rows = []


def connect(database: Database) -> Connection:
    """Return a new DB-API connection to the result of `cluster.outside(Database(…))`.

    Raises:
        sqlite3.OperationalError: It cannot connect, or there is no answer.
    """
    return Connection(database)


def _result(cursor: sqlite3.Cursor) -> Result:
    columns = [name for name, *_ in cursor.description or ()]
    return Result(cursor.fetchall() if columns else [], columns, cursor.rowcount)
