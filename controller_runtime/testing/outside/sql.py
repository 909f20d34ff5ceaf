# SPDX-License-Identifier: Apache-2.0
"""A fake of a SQL database: SQLite in memory behind DB-API, with connections that die and commits without an answer."""

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
    """The result of a statement.

    Attributes:
        rows: Its rows.
        columns: The names of their columns; empty for a statement without rows.
        changed: How many rows it changed; -1 for a statement that changes none.
    """

    rows: Rows
    columns: Sequence[str]
    changed: int


@outside(refused=_died, timed_out=_died)
class Database:
    """Holds tables, which transactions change one after another. Programs use it by `connect`.

    Its calls are to open a connection, to run a statement, and to commit. A connection to which one of them gives no
    answer is dead: what it has not committed is rolled back, and each further use raises `sqlite3.OperationalError`.
    When the program ends, all its transactions are rolled back. A second transaction that writes while one is open is
    refused with `database is locked`.

    Args:
        schema: Statements that are carried out at first, such as `create table users (name text primary key)`.

    Attributes:
        state: The committed rows: for each a dict, by table and primary key.

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
        """The committed rows."""
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
        """Open a connection, and return its number."""
        self._opened += 1
        return self._opened

    def run(self, connection: int, statement: str, values: Sequence[Any] = ()) -> Result:
        """Run a statement that may change something, in the transaction of a connection.

        Raises:
            sqlite3.Error: The statement is refused, or another connection has changed something and not committed it.
        """
        if self._writing not in (None, connection):
            raise sqlite3.OperationalError("database is locked")
        if not self._db.in_transaction:
            self._db.execute("begin")
        self._writing = connection
        return _result(self._db.execute(statement, values))

    @reads
    def query(self, connection: int, statement: str, values: Sequence[Any] = ()) -> Result:
        """Run a statement that changes nothing. It sees the open transaction of any connection."""
        return _result(self._db.execute(statement, values))

    def commit(self, connection: int) -> None:
        """Commit the transaction of a connection, if it has one."""
        if self._writing == connection:
            self._db.execute("commit")
            self._writing, self._committed = None, self._present()

    def give_up(self, connection: int) -> None:
        """Roll the transaction of a connection back, if it has one."""
        if self._writing == connection:
            self._db.execute("rollback")
            self._writing = None

    def hang_up(self) -> None:
        """Roll all transactions back, because the program has ended."""
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
    """A connection of DB-API to an outside service that is a database; made by `connect`.

    Args:
        database: The result of `cluster.outside(Database(…))`.

    Threads: one.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._number = database.open()
        self._is_dead = False

    def cursor(self) -> Cursor:
        """Return a cursor."""
        return Cursor(self)

    def execute(self, statement: str, values: Sequence[Any] = ()) -> Cursor:
        """Run a statement in a new cursor, and return it."""
        return self.cursor().execute(statement, values)

    def commit(self) -> None:
        """Commit what was changed.

        Raises:
            sqlite3.OperationalError: There is no answer, so that it may be committed or not; the connection is dead.
        """
        self.call("commit")

    def rollback(self) -> None:
        """Roll the changes back."""
        fake_of(self._database).give_up(self._number)  # no call: the service sees the end of a connection

    def close(self) -> None:
        """Roll the changes back, and close the connection."""
        self.rollback()
        self._is_dead = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Commit, or give up what was changed if the block raises, as connections of `sqlite3` do."""
        if kind is None:
            self.commit()
        else:
            self.rollback()

    def call(self, name: str, *values: Any) -> Any:
        """Call the database; the connection is dead once there is no answer."""
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
    """A cursor of DB-API.

    Args:
        connection: Its connection.

    Attributes:
        rowcount: How many rows the last statement changed; -1 if none.
        description: The names of the columns of the last statement as DB-API has them; None if it had none.

    Threads: one.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._rows: Rows = []
        self.rowcount = -1
        self.description: list[tuple[Any, ...]] | None = None

    def execute(self, statement: str, values: Sequence[Any] = ()) -> Self:
        """Run a statement, and return this cursor."""
        is_query = statement.lstrip().lower().startswith(("select", "with", "pragma"))
        result: Result = self._connection.call("query" if is_query else "run", statement, tuple(values))
        self._rows, self.rowcount = list(result.rows), result.changed
        self.description = [(name, *[None] * 6) for name in result.columns] or None
        return self

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row; None after the last."""
        return self._rows.pop(0) if self._rows else None

    def fetchall(self) -> Rows:
        """Return all rows that are left."""
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
        """Forget the rows."""
        self._rows = []


def connect(database: Database) -> Connection:
    """Return a new connection to a database, by DB-API.

    Raises:
        sqlite3.OperationalError: There is no answer.
    """
    return Connection(database)


def _result(cursor: sqlite3.Cursor) -> Result:
    columns = [name for name, *_ in cursor.description or ()]
    return Result(cursor.fetchall() if columns else [], columns, cursor.rowcount)
