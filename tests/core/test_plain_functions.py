# SPDX-License-Identifier: Apache-2.0
"""A function that would have to be awaited is refused in each form in which it can be given."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Generator
from typing import Any
from unittest.mock import AsyncMock

import pytest

from apimachinery.errors import UsageError
from apimachinery.plain_functions import called, plain, synchronous

pytestmark = pytest.mark.filterwarnings("error")  # a coroutine that is left open warns


async def coroutine(*args: object) -> bool:
    return False


async def generator(*args: object) -> AsyncIterator[bool]:
    yield False


def function(*args: object) -> bool:
    return False


class Sync:
    def __call__(self, *args: object) -> bool:
        return False

    def method(self, *args: object) -> bool:
        return False


class Async:
    async def __call__(self, *args: object) -> bool:
        return False

    async def method(self, *args: object) -> bool:
        return False


class Inherited(Async):
    pass


class Waits:
    """An awaitable of a class of its own."""

    def __await__(self) -> Generator[None]:
        yield None


def decorated(inner: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that hides its inner one, as a decorator for timing or logging does."""

    def outer(*args: object) -> Any:
        return inner(*args)

    return outer


@pytest.mark.parametrize(
    ("given", "name"),
    [
        pytest.param(coroutine, "coroutine", id="async def"),
        pytest.param(generator, "generator", id="asynchronous generator"),
        pytest.param(functools.partial(coroutine, 1), "coroutine", id="partial"),
        pytest.param(functools.partial(functools.partial(coroutine, 1), 2), "coroutine", id="partial of a partial"),
        pytest.param(Async(), "Async", id="object with an async call"),
        pytest.param(Inherited(), "Inherited", id="inherited"),
        pytest.param(functools.partial(Async()), "Async", id="partial of an object"),
        pytest.param(Async().method, "Async.method", id="bound method"),
        pytest.param(AsyncMock(), "AsyncMock", id="mock"),
    ],
)
def test_a_coroutine_function_is_refused_where_it_is_given_with_place_and_remedy(given: Any, name: str) -> None:
    with pytest.raises(UsageError, match=rf"^the place: \S*{name} is an `async def`, .*: write a plain `def`$"):
        plain("the place", given)
    with pytest.raises(UsageError, match=r"write a plain `def`, or use the other one$"):
        synchronous("the place", given, "use the other one")


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(function, id="def"),
        pytest.param(lambda: False, id="lambda"),
        pytest.param(functools.partial(function, 1), id="partial"),
        pytest.param(Sync(), id="object"),
        pytest.param(Sync().method, id="method"),
        pytest.param(Async, id="class"),
        pytest.param(len, id="builtin"),
        pytest.param(None, id="absent"),
    ],
)
def test_a_plain_function_is_returned_as_it_is(given: Any) -> None:
    assert plain("the place", given) is given


@pytest.mark.parametrize(
    ("given", "what"),
    [
        pytest.param(lambda: coroutine(), "coroutine", id="lambda"),
        pytest.param(decorated(coroutine), "coroutine", id="decorated"),
        pytest.param(decorated(generator), "async_generator", id="asynchronous generator"),
        pytest.param(lambda: Waits(), "Waits", id="awaitable"),
    ],
)
def test_a_result_that_would_have_to_be_awaited_is_an_error(given: Any, what: str) -> None:
    with pytest.raises(UsageError, match=f"^the place: .* returned a {what}, which nothing awaits: return the value"):
        called("the place", given)
    with pytest.raises(UsageError, match=f"returned a {what}"):
        synchronous("the place", given)()


@pytest.mark.parametrize("result", [None, False, 0, "", [], {}, (), {1}, object(), iter([])])
def test_any_other_result_is_passed_on(result: object) -> None:
    assert called("the place", lambda *args: result, 1, 2) is result
