# SPDX-License-Identifier: Apache-2.0
"""A fake of an HTTP service, whose routes are functions, with adapters for httpx and requests in virtual time."""

from __future__ import annotations

import asyncio
import importlib
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self
from urllib.parse import parse_qsl, unquote, urlsplit

import attrs

from controller_runtime.testing.outside.declaring import outside, reads

SAFE = ("GET", "HEAD", "OPTIONS")
"""The HTTP methods that change nothing."""


class Unconnected(Exception):
    """No connection could be made; an adapter replaces it with the error of its HTTP library."""


class Unanswered(Exception):
    """There was no answer; an adapter replaces it with the error of its HTTP library."""


@attrs.frozen
class Asked:
    """A request to a route.

    Attributes:
        method: The HTTP method.
        path: The path, decoded and without the query.
        query: The query parameters, also those with an empty value; of a repeated one the last value.
        headers: The headers, by name in lower case.
        body: The body; empty if there is none.
    """

    method: str
    path: str
    query: Mapping[str, str] = attrs.field(factory=dict)
    headers: Mapping[str, str] = attrs.field(factory=dict)
    body: bytes = b""

    @property
    def as_call(self) -> str:
        """The method and the path, by which reports name the call."""
        return f"{self.method} {self.path}"

    @property
    def json(self) -> Any:
        """The body, decoded from JSON at each access. Reading it raises `ValueError` if the body is not JSON."""
        return json.loads(self.body)


@attrs.frozen
class Answer:
    """The answer of a route.

    Attributes:
        status: The HTTP status.
        body: The body: bytes, or a value to be encoded as JSON; None for no body.
        headers: The headers.
    """

    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = attrs.field(factory=dict)

    @property
    def content(self) -> bytes:
        """The body as bytes."""
        if self.body is None:
            return b""
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()

    @property
    def all_headers(self) -> dict[str, str]:
        """The headers, with the `content-type` of a JSON body."""
        is_json = self.body is not None and not isinstance(self.body, bytes)
        return {**({"content-type": "application/json"} if is_json else {}), **self.headers}


Route = Callable[..., Answer]
"""Returns the `Answer` to a request. It is called with the state of the service, which it may change, the `Asked`, and
the parts of the path that stand in braces, as keyword arguments.
"""


@outside(refused=Unconnected, timed_out=Unanswered)
class HTTPService:
    """A fake of an HTTP service: each route is a function of its state. A path without a route is answered with 404.

    Give the program an HTTP client with an `HTTPXTransport` or a `RequestsAdapter`, made from the result of
    `cluster.outside`.

    Args:
        routes: The functions, by method and path, such as `PUT /topics/{name}`. The first that matches answers.
        state: The initial state of the service; an empty dict by default.

    Attributes:
        state: The present state of the service.

    Threads: those of a simulation, which run one at a time.
    """

    def __init__(self, routes: Mapping[str, Route], state: Any = None) -> None:
        self.state = {} if state is None else state
        self._routes = [(_pattern(shown), route) for shown, route in routes.items()]

    @reads
    def read(self, asked: Asked) -> Answer:
        """Answer a request that changes nothing; 404 if there is no route."""
        return self._answer(asked)

    def write(self, asked: Asked) -> Answer:
        """Answer a request that may change something; 404 if there is no route."""
        return self._answer(asked)

    @reads
    async def read_async(self, asked: Asked) -> Answer:
        """Answer a request that changes nothing, for a coroutine."""
        return self._answer(asked)

    async def write_async(self, asked: Asked) -> Answer:
        """Answer a request that may change something, for a coroutine."""
        return self._answer(asked)

    def _answer(self, asked: Asked) -> Answer:
        for pattern, route in self._routes:
            if found := pattern.fullmatch(f"{asked.method} {asked.path}"):
                return route(self.state, asked, **found.groupdict())
        return Answer(404)


class HTTPXTransport:
    """The `transport` of an `httpx.Client` or an `httpx.AsyncClient` whose requests go to a fake of an HTTP service.

    A request that cannot connect raises `httpx.ConnectError`, and one without an answer `httpx.ReadTimeout`. An
    `AsyncClient` stops waiting after its read time-out; a `Client` waits for a late answer.

    Args:
        service: The result of `cluster.outside(HTTPService(…))`.

    Threads: as those of the httpx client.
    """

    def __init__(self, service: HTTPService) -> None:
        self._service = service
        self._httpx: Any = importlib.import_module("httpx")

    def handle_request(self, request: Any) -> Any:
        """Return the `httpx.Response` to a request; called by `httpx.Client`.

        Raises:
            httpx.ConnectError: The request cannot connect.
            httpx.ReadTimeout: There is no answer.
        """
        with self._errors(request):
            asked = self._asked(request, request.read())
            send = self._service.read if asked.method in SAFE else self._service.write
            return self._response(send(asked), request)

    async def handle_async_request(self, request: Any) -> Any:
        """Return the `httpx.Response` to a request; called by `httpx.AsyncClient`.

        Raises:
            httpx.ConnectError: The request cannot connect.
            httpx.ReadTimeout: There is no answer, or none within the read time-out of the client.
        """
        with self._errors(request):
            asked = self._asked(request, await request.aread())
            send = self._service.read_async if asked.method in SAFE else self._service.write_async
            async with asyncio.timeout(request.extensions.get("timeout", {}).get("read")):
                answer = await send(asked)
            return self._response(answer, request)

    def close(self) -> None:
        """Do nothing: there are no connections."""

    async def aclose(self) -> None:
        """Do nothing: there are no connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *ended: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *ended: object) -> None:
        await self.aclose()

    def _asked(self, request: Any, body: bytes) -> Asked:
        return Asked(request.method, request.url.path, _query(request.url.query.decode()), dict(request.headers), body)

    def _response(self, answer: Answer, request: Any) -> Any:
        return self._httpx.Response(answer.status, headers=answer.all_headers, content=answer.content, request=request)

    @contextmanager
    def _errors(self, request: Any) -> Iterator[None]:
        try:
            yield
        except Unconnected as error:
            raise self._httpx.ConnectError(str(error), request=request) from error
        except (Unanswered, TimeoutError) as error:
            raise self._httpx.ReadTimeout(str(error) or "no answer in time", request=request) from error


class RequestsAdapter:
    """An adapter of a `requests.Session` that sends to a fake: `session.mount("http://topics", adapter)`.

    A request that cannot connect raises `requests.ConnectionError`, and one without an answer `requests.ReadTimeout`.

    Args:
        service: The result of `cluster.outside(HTTPService(…))`.

    Threads: any.
    """

    def __init__(self, service: HTTPService) -> None:
        self._service = service
        self._requests: Any = importlib.import_module("requests")

    def send(self, request: Any, **options: object) -> Any:
        """Return the `requests.Response` to a prepared request; the options, such as a time-out, are ignored.

        Raises:
            requests.ConnectionError: The request cannot connect.
            requests.ReadTimeout: There is no answer.
        """
        parts = urlsplit(request.url)
        body = request.body or b""
        content = body.encode() if isinstance(body, str) else body
        headers = {name.lower(): value for name, value in request.headers.items()}
        asked = Asked(request.method, unquote(parts.path), _query(parts.query), headers, content)
        try:
            answer = (self._service.read if asked.method in SAFE else self._service.write)(asked)
        except Unconnected as error:
            raise self._requests.ConnectionError(str(error), request=request) from error
        except Unanswered as error:
            raise self._requests.ReadTimeout(str(error), request=request) from error
        response = self._requests.Response()
        response.status_code, response.url, response.request = answer.status, request.url, request
        response.headers.update(answer.all_headers)
        response.raw = io.BytesIO(answer.content)
        response.encoding = "utf-8"
        return response

    def close(self) -> None:
        """Do nothing: there are no connections."""


def _query(text: str) -> dict[str, str]:
    return dict(parse_qsl(text, keep_blank_values=True))


def _pattern(shown: str) -> re.Pattern[str]:
    return re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", re.escape(shown)))
