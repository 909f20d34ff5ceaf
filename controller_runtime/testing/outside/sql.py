# SPDX-License-Identifier: Apache-2.0
"""A fake of a SQL database: SQLite in memory with the DB-API, whose connections may break and commits go unanswered."""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import attrs

from controller_runtime.testing.outside.declaring import outside, reads
from controller_runtime.testing.outside.proxy import fake_of
from controller_runtime.testing.outside.sql_rows import RowsByKey, replace_rows, rows_of

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
        last_row: The number that SQLite gave to the row that was last inserted; None if there is none.
    """

    rows: Rows
    columns: Sequence[str]
    changed: int
    last_row: int | None = None


@outside(refused=_died, timed_out=_died)
class Database:
    """A fake of a SQL database with one writing transaction at a time. Programs use it through `connect`.

    The calls that may fail are opening a connection, running a statement, and committing. A connection without an
    answer is dead: its uncommitted changes are rolled back, and further statements and commits raise
    `sqlite3.ProgrammingError`, as on a closed connection of `sqlite3`.
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
        self._functions: dict[str, tuple[int, Callable[..., Any], bool]] = {}
        self._writing: int | None = None
        self._opened = 0
        self._db = self._new()
        self._committed = rows_of(self._db)

    @property
    def state(self) -> RowsByKey:
        """The committed rows, each a dict by column, by table and values of the primary key."""
        return self._committed

    @state.setter
    def state(self, rows: RowsByKey) -> None:
        self._db, self._writing = self._new(), None
        replace_rows(self._db, rows)
        self._committed = rows_of(self._db)

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
            self._writing, self._committed = None, rows_of(self._db)

    def give_up(self, connection: int) -> None:
        """Roll back the transaction of a connection, if it has one."""
        if self._writing == connection:
            self._db.execute("rollback")
            self._writing = None

    def hang_up(self) -> None:
        """Roll back all transactions; called when the program has ended."""
        if self._writing is not None:
            self.give_up(self._writing)

    def define(self, name: str, arguments: int, function: Callable[..., Any], deterministic: bool) -> None:
        """Make a Python function callable in SQL for all connections."""
        self._functions[name] = arguments, function, deterministic
        self._db.create_function(name, arguments, function, deterministic=deterministic)

    def _new(self) -> sqlite3.Connection:
        db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        weakref.finalize(self, db.close)  # Python warns of a database that is collected while it is open
        for name, (arguments, function, deterministic) in self._functions.items():
            db.create_function(name, arguments, function, deterministic=deterministic)
        db.executescript(self._schema)
        return db


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

    def create_function(
        self, name: str, arguments: int, function: Callable[..., Any], *, deterministic: bool = False
    ) -> None:
        """Make a Python function callable in SQL, as a connection of `sqlite3` does, but for all connections."""
        fake_of(self._database).define(name, arguments, function, deterministic)

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
                dead from now on.
            sqlite3.ProgrammingError: The connection is dead or closed.
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
            raise sqlite3.ProgrammingError("Cannot operate on a closed database.")  # by this text a pool knows it
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
        lastrowid: The number of the row that was inserted last; None if there is none.
        description: The columns of the last statement, in the form of the DB-API; None if it had none.

    Threads: one.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._rows: Rows = []
        self.rowcount = -1
        self.lastrowid: int | None = None
        self.description: list[tuple[Any, ...]] | None = None

    def execute(self, statement: str, values: Sequence[Any] = ()) -> Self:
        """Run a statement with `values` for its placeholders, and return this cursor.

        Raises:
            sqlite3.Error: The statement is refused, the connection is dead, or there is no answer.
        """
        is_query = statement.lstrip().lower().startswith(("select", "with", "pragma"))
        result: Result = self._connection.call("query" if is_query else "run", statement, tuple(values))
        self._rows, self.rowcount, self.lastrowid = list(result.rows), result.changed, result.last_row
        self.description = [(name, *[None] * 6) for name in result.columns] or None
        return self

    def executemany(self, statement: str, rows: Iterable[Sequence[Any]]) -> Self:
        """Run a statement that changes something once for each of `rows`, each a call, and return this cursor.

        Raises:
            sqlite3.Error: The statement is refused, the connection is dead, or there is no answer.
        """
        self.rowcount = sum(self.execute(statement, values).rowcount for values in rows)
        return self

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row; None if there is no more."""
        return self._rows.pop(0) if self._rows else None

    def fetchmany(self, size: int = 1) -> Rows:
        """Return up to `size` of the remaining rows."""
        rows, self._rows = self._rows[:size], self._rows[size:]
        return rows

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
    return Result(cursor.fetchall() if columns else [], columns, cursor.rowcount, cursor.lastrowid)
