# SPDX-License-Identifier: Apache-2.0
"""The fakes of ours: named things, an HTTP service with httpx and requests, and a SQL database."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
from contextlib import suppress
from typing import Any

import httpx
import pytest
import requests

from controller_runtime.testing.outside.calls import text_of
from controller_runtime.testing.outside.courses import COURSES, Fault
from controller_runtime.testing.outside.http import (
    Answer,
    Asked,
    HTTPService,
    HTTPXTransport,
    RequestsAdapter,
    Unanswered,
    Unconnected,
)
from controller_runtime.testing.outside.sql import Database, connect
from controller_runtime.testing.outside.things import Exists, Missing, NamedThings


def test_things_are_created_put_altered_read_and_deleted() -> None:
    things = NamedThings(a={"size": 1})
    things.create("b", size=2)
    things.put("c", size=3)
    things.alter("a", color="red")
    things.delete("b")

    assert things.names() == ["a", "c"]
    assert things.get("a") == {"size": 1, "color": "red"}
    things.get("c")["size"] = 9
    assert things.state["c"] == {"size": 3}


@pytest.mark.parametrize("name", ["alter", "delete", "get"])
def test_a_thing_that_is_missing_is_said_to_be(name: str) -> None:
    with pytest.raises(Missing, match="a"):
        getattr(NamedThings(), name)("a")


def test_a_thing_exists_once() -> None:
    with pytest.raises(Exists, match="a"):
        NamedThings(a={}).create("a")


def put(state: dict[str, Any], asked: Asked, name: str) -> Answer:
    state[name] = asked.json
    return Answer(201, {"name": name}, {"x-size": asked.query.get("size", "")})


def get(state: dict[str, Any], asked: Asked, name: str) -> Answer:
    return Answer(200, state[name]) if name in state else Answer(404)


def delete(state: dict[str, Any], asked: Asked, name: str) -> Answer:
    return Answer(204 if state.pop(name, None) is not None else 404)


ROUTES = {"PUT /topics/{name}": put, "GET /topics/{name}": get, "DELETE /topics/{name}": delete}


def test_httpx_reaches_the_routes() -> None:
    service = HTTPService(ROUTES)
    with httpx.Client(transport=HTTPXTransport(service), base_url="http://topics") as client:  # type: ignore[arg-type]
        made = client.put("/topics/a", json={"partitions": 3}, params={"size": "s"})
        assert (made.status_code, made.json(), made.headers["x-size"]) == (201, {"name": "a"}, "s")
        assert client.get("/topics/a").json() == {"partitions": 3}
        assert client.get("/topics/a.b/c").status_code == 404
        assert client.delete("/topics/a").status_code == 204

    assert service.state == {}


def shown(state: dict[str, Any], asked: Asked) -> Answer:
    return Answer(200, {"path": asked.path, "query": dict(asked.query)})


QUERY = "http://topics/all of/a%C3%A9b?size=1&empty=&size=2&a=b%20c+d"
SHOWN = {"path": "/all of/aéb", "query": {"size": "2", "empty": "", "a": "b c d"}}


def test_a_route_is_given_the_same_path_and_query_by_httpx_and_requests() -> None:
    service = HTTPService({"GET /all of/aéb": shown})
    with httpx.Client(transport=HTTPXTransport(service)) as client:  # type: ignore[arg-type]
        assert client.get(QUERY).json() == SHOWN
    with requests.Session() as session:
        session.mount("http://topics", RequestsAdapter(service))  # type: ignore[arg-type]
        assert session.get(QUERY).json() == SHOWN


def test_a_report_names_a_request_by_its_method_and_path() -> None:
    asked = Asked("PUT", "/topics/a", {"size": "s"}, {"accept": "*/*"}, b"{}")
    assert text_of("Broker", "write", [asked], {}) == "Broker PUT /topics/a"


def test_coroutines_reach_them_over_httpx() -> None:
    async def act() -> tuple[int, Any]:
        async with httpx.AsyncClient(transport=HTTPXTransport(HTTPService(ROUTES))) as client:  # type: ignore[arg-type]
            made = await client.put("http://topics/topics/a", json={"partitions": 3})
            return made.status_code, (await client.get("http://topics/topics/a")).json()

    assert asyncio.run(act()) == (201, {"partitions": 3})


def test_requests_reaches_the_routes() -> None:
    session = requests.Session()
    session.mount("http://topics", RequestsAdapter(HTTPService(ROUTES)))  # type: ignore[arg-type]

    made = session.put("http://topics/topics/a", json={"partitions": 3}, params={"size": "s"})
    assert (made.status_code, made.json(), made.headers["X-Size"]) == (201, {"name": "a"}, "s")
    assert session.get("http://topics/topics/a").json() == {"partitions": 3}
    assert not session.get("http://topics/topics/b").ok


class Broken(HTTPService):
    """Raises an error in place of each answer."""

    def __init__(self, error: Exception) -> None:
        super().__init__({})
        self.error = error

    def read(self, asked: Asked) -> Answer:
        raise self.error


@pytest.mark.parametrize(
    ("error", "of_httpx", "of_requests"),
    [
        (Unconnected("no"), httpx.ConnectError, requests.ConnectionError),
        (Unanswered("no"), httpx.ReadTimeout, requests.ReadTimeout),
    ],
)
def test_an_error_is_that_of_the_library(error: Exception, of_httpx: Any, of_requests: Any) -> None:
    session = requests.Session()
    session.mount("http://topics", RequestsAdapter(Broken(error)))  # type: ignore[arg-type]

    with pytest.raises(of_httpx):
        httpx.Client(transport=HTTPXTransport(Broken(error))).get("http://topics/")  # type: ignore[arg-type]
    with pytest.raises(of_requests):
        session.get("http://topics/")


SCHEMA = "create table users (name text primary key, role text); create table notes (text text);"


def test_a_database_shows_what_is_committed() -> None:
    database = Database(SCHEMA)
    with connect(database) as connection:
        connection.execute("insert into users values (?, ?)", ("a", "admin"))
        connection.execute("insert into notes values ('x')")
        assert database.state == {}

    assert database.state == {("users", "a"): {"name": "a", "role": "admin"}, ("notes", "0"): {"text": "x"}}
    found = connect(database).execute("select name, role from users")
    assert [each[0] for each in found.description or ()] == ["name", "role"]
    assert [*found] == [("a", "admin")]
    assert found.fetchone() is None


def test_what_is_not_committed_is_rolled_back() -> None:
    database = Database(SCHEMA)
    with suppress(ValueError), connect(database) as connection:
        connection.execute("insert into users values ('a', 'admin')")
        raise ValueError("no")
    other = connect(database)
    other.execute("insert into users values ('b', 'admin')")
    database.hang_up()
    connect(database).commit()

    assert database.state == {}


def test_one_transaction_writes_at_a_time() -> None:
    database = Database(SCHEMA)
    one, other = connect(database), connect(database)
    assert one.execute("insert into users values ('a', 'admin')").rowcount == 1

    with pytest.raises(sqlite3.OperationalError, match="database is locked"):
        other.execute("insert into users values ('b', 'admin')")
    one.commit()
    other.execute("insert into users values ('b', 'admin')")
    other.close()
    assert {name for _, name in database.state} == {"a"}
    with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
        other.commit()


def test_a_database_gets_its_state_back() -> None:
    database = Database(SCHEMA)
    with connect(database) as connection:
        connection.execute("insert into users values ('a', 'admin')")
    kept = database.state
    with connect(database) as connection:
        connection.execute("delete from users")
    assert database.state == {}

    database.state = kept
    assert connect(database).execute("select role from users").fetchall() == [("admin",)]
    with pytest.raises(sqlite3.IntegrityError):
        connect(database).execute("insert into users values ('a', 'x')")


class Dies(Database):
    """Gives no answer to a commit that it has carried out."""

    def commit(self, connection: int) -> None:
        super().commit(connection)
        raise sqlite3.OperationalError("server closed the connection unexpectedly: no answer")


class DiesOnce(Dies):
    """Gives no answer to its first commit."""

    def __init__(self, schema: str) -> None:
        super().__init__(schema)
        self.has_died = False

    def commit(self, connection: int) -> None:
        if self.has_died:
            Database.commit(self, connection)
        else:
            self.has_died = True
            super().commit(connection)


def test_a_connection_without_an_answer_is_dead() -> None:
    database = Dies(SCHEMA)
    connection = connect(database)
    connection.execute("insert into users values ('a', 'admin')")

    with pytest.raises(sqlite3.OperationalError, match="server closed"):
        connection.commit()
    with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
        connection.execute("select 1")
    assert {name for _, name in database.state} == {"a"}


def test_sqlalchemy_goes_on_with_another_connection_after_one_without_an_answer() -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy")
    database = DiesOnce(SCHEMA)
    engine = sqlalchemy.create_engine("sqlite://", creator=lambda: connect(database), pool_pre_ping=True)
    users = sqlalchemy.Table("users", sqlalchemy.MetaData(), autoload_with=engine)

    def insert(name: str) -> None:
        with engine.begin() as connection:
            connection.execute(users.insert(), [{"name": name, "role": "admin"}, {"name": f"{name}2", "role": "x"}])

    with pytest.raises(sqlalchemy.exc.OperationalError, match="server closed"):
        insert("a")
    insert("b")
    with engine.connect() as connection:
        found = connection.execute(sqlalchemy.select(users.c.name).where(users.c.role.regexp_match("^a")))
        assert found.scalars().all() == ["a", "b"]
    assert {name for _, name in database.state} == {"a", "a2", "b", "b2"}


def test_a_cursor_gives_the_number_of_the_last_row_and_some_of_the_rows() -> None:
    database = Database("create table notes (id integer primary key, text text)")
    with connect(database) as connection:
        cursor = connection.cursor().executemany("insert into notes (text) values (?)", [("a",), ("b",), ("c",)])
        assert (cursor.rowcount, cursor.lastrowid) == (3, 3)

    found = connect(database).execute("select text from notes")
    assert (found.fetchmany(2), found.fetchmany(2), found.fetchmany(2)) == ([("a",), ("b",)], [("c",)], [])


def test_a_function_in_sql_is_there_after_the_state_was_put_back() -> None:
    database = Database(SCHEMA)
    connect(database).create_function("twice", 1, lambda value: value * 2)
    database.state = {}
    assert connect(database).execute("select twice(2)").fetchall() == [(4,)]


def test_each_fault_has_a_course() -> None:
    assert set(COURSES) == set(Fault)


def test_a_database_that_nothing_uses_any_more_is_closed() -> None:
    database = Database("create table t (name text primary key)")
    opened = database._db

    del database
    gc.collect()

    with pytest.raises(sqlite3.ProgrammingError, match="closed database"):
        opened.execute("select 1")
