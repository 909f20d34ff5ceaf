# SPDX-License-Identifier: Apache-2.0
"""A fake of an HTTP service on loopback answers any client by its routes, or closes the connection."""

from __future__ import annotations

import asyncio
from typing import Any

import aiohttp
import pytest

from apimachinery.errors import UsageError
from controller_runtime.testing.outside.http import Answer, Asked, HTTPService, Unanswered
from controller_runtime.testing.outside.serving import HTTPServer


def put(state: dict[str, Any], asked: Asked, name: str) -> Answer:
    state[name] = asked.json
    return Answer(201, {"was": asked.query.get("was")}, {"Retry-After": "3"})


def lose(state: dict[str, Any], asked: Asked) -> Answer:
    raise Unanswered


def test_aiohttp_is_answered_by_the_routes_of_a_fake_and_sees_what_is_not_answered() -> None:
    service = HTTPService({"PUT /topics/{name}": put, "GET /lost": lose})

    async def ask(url: str) -> tuple[int, Any, str]:
        async with aiohttp.ClientSession(url) as session:
            async with session.put("/topics/orders", params={"was": "2"}, json={"partitions": 3}) as answer:
                told = (answer.status, await answer.json(), answer.headers["retry-after"])
            with pytest.raises(aiohttp.ServerDisconnectedError):
                await session.get("/lost")
            async with session.get("/other") as answer:
                assert answer.status == 404
        return told

    with HTTPServer(service) as server:
        assert asyncio.run(ask(server.url)) == (201, {"was": "2"}, "3")
    assert service.state == {"orders": {"partitions": 3}}


def test_anything_but_a_fake_is_refused() -> None:
    with pytest.raises(UsageError, match=r"HTTPServer\(…\) takes an HTTPService"):
        HTTPServer("http://broker")  # type: ignore[arg-type]
