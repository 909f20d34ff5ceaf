# SPDX-License-Identifier: Apache-2.0
"""The client of coroutines: each call is that of the synchronous client, on a thread of a bounded pool."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar, overload

from apimachinery.errors import Conflict
from apimachinery.objects import Cached, ObjectKey
from apimachinery.plain_functions import synchronous
from controller_runtime.api.conditions import ObjectCondition
from controller_runtime.api.readiness import Readiness
from controller_runtime.api.resources import Kind, Resource
from controller_runtime.client.async_calls import AsyncCalls, given
from controller_runtime.client.bodies import Body, Target, target
from controller_runtime.client.client import Client
from controller_runtime.client.create_or_patch import Made, Mutate, create_or_patch
from controller_runtime.client.entering import LONG
from controller_runtime.client.patches import PatchType
from controller_runtime.client.pods.asynchronous import AsyncLogs, AsyncPortForward, AsyncSession
from controller_runtime.client.pods.commands import MOST_BYTES, CommandResult
from controller_runtime.client.request_threads import RequestThreads
from controller_runtime.client.retry import ConflictRetry
from controller_runtime.client.write_options import FieldValidation
from controller_runtime.crd.types import CustomResource

T = TypeVar("T")
V = TypeVar("V")


class AsyncClient:
    """Reads and writes objects of one API server, for coroutines.

    Each method works as the method of `Client` with the same name, and raises the same errors; the methods that send
    requests are awaited. A request runs on one of a few threads, in the context of the coroutine that awaits it. So the
    deadline of a reconcile applies, and a slow answer does not block other coroutines. If more calls are awaited than
    there are threads, the others wait; that time does not count towards their timeouts.

    If a coroutine is cancelled while it awaits a read, the answer is ignored. If it awaits a write that was sent, the
    coroutine ends only after the answer: the write cannot be taken back, and it must not be carried out during the next
    reconcile of the same object. A call that still waits for a thread is withdrawn.

    Args:
        client: Sends the requests.
        threads: The threads on which the requests are sent; None for 16 threads of its own.

    Threads: any, also from several event loops at once.
    """

    def __init__(self, client: Client, threads: RequestThreads | None = None) -> None:
        self._client = client
        self._threads = threads or RequestThreads(client.host)
        self._calls = AsyncCalls(self._threads)

    def within(self, seconds: float) -> AsyncClient:
        """Return a copy of this client with a timeout of at most `seconds` for each request; see `Client.within`."""
        return AsyncClient(self._client.within(seconds), self._threads)

    def until(self, deadline: float) -> AsyncClient:
        """Return a copy of this client whose requests must end before `deadline`; see `Client.until`."""
        return AsyncClient(self._client.until(deadline), self._threads)

    def limited(self, qps: float, burst: int = 10) -> AsyncClient:
        """Return a copy that sends at most `burst` requests at once, then `qps` a second; see `Client.limited`.

        A request that waits for the limit occupies a thread.
        """
        return AsyncClient(self._client.limited(qps, burst), self._threads)

    def writing(
        self,
        *,
        field_manager: str | None = None,
        field_validation: FieldValidation | None = None,
        dry_run: bool = False,
    ) -> AsyncClient:
        """Return a copy of this client that sends these options with each write; see `Client.writing`."""
        client = self._client.writing(field_manager=field_manager, field_validation=field_validation, dry_run=dry_run)
        return AsyncClient(client, self._threads)

    # Reads.

    async def resource(self, name: str, api_version: str = "") -> Resource[Any]:
        """Return the resource with the kind, plural, singular or short name `name`; see `Client.resource`."""
        return await self._calls.read(lambda: self._client.resource(name, api_version))

    @overload
    async def get(self, resource: Kind[T], key: ObjectKey) -> T: ...

    @overload
    async def get(self, resource: Kind[T], key: ObjectKey, view: type[V]) -> V: ...

    async def get(self, resource: Kind[Any], key: ObjectKey, view: type[Any] | None = None) -> Any:
        """Return one object as the server has it now; see `Client.get`."""
        return await self._calls.read(lambda: self._client.get(resource, key, *given(view)))

    @overload
    async def get_subresource(self, resource: Kind[Any], key: ObjectKey, subresource: str) -> dict[str, Any]: ...

    @overload
    async def get_subresource(self, resource: Kind[Any], key: ObjectKey, subresource: str, view: type[V]) -> V: ...

    async def get_subresource(
        self, resource: Kind[Any], key: ObjectKey, subresource: str, view: type[Any] | None = None
    ) -> Any:
        """Return a subresource as the server has it now; see `Client.get_subresource`."""
        return await self._calls.read(lambda: self._client.get_subresource(resource, key, subresource, *given(view)))

    @overload
    async def list(
        self, resource: Kind[T], namespace: str = "", *, label_selector: str = "", field_selector: str = ""
    ) -> list[T]: ...

    @overload
    async def list(
        self,
        resource: Kind[T],
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        view: type[V],
    ) -> builtins.list[V]: ...

    async def list(
        self,
        resource: Kind[Any],
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        view: type[Any] | None = None,
    ) -> builtins.list[Any]:
        """Return the objects of a collection as the server has them now; see `Client.list`."""
        selectors = {"label_selector": label_selector, "field_selector": field_selector}
        if view is None:
            return await self._calls.read(lambda: self._client.list(resource, namespace, **selectors))
        return await self._calls.read(lambda: self._client.list(resource, namespace, **selectors, view=view))

    @overload
    async def wait(
        self, resource: Kind[T], key: ObjectKey, *, until: ObjectCondition | Readiness, within: float = ...
    ) -> T: ...

    @overload
    async def wait(
        self,
        resource: Kind[Any],
        key: ObjectKey,
        view: type[V],
        *,
        until: ObjectCondition | Readiness,
        within: float = ...,
    ) -> V: ...

    @overload
    async def wait(
        self, resource: Kind[T], key: ObjectKey, *, until: Callable[[T | None], bool], within: float = ...
    ) -> T | None: ...

    @overload
    async def wait(
        self,
        resource: Kind[Any],
        key: ObjectKey,
        view: type[V],
        *,
        until: Callable[[V | None], bool],
        within: float = ...,
    ) -> V | None: ...

    async def wait(
        self,
        resource: Kind[Any],
        key: ObjectKey,
        view: type[Any] | None = None,
        *,
        until: Callable[[Any], bool],
        within: float = 30.0,
    ) -> Any:
        """Wait until `until` is true for an object, and return the object; see `Client.wait`.

        The wait occupies a thread, on which `until` is called. If the coroutine is cancelled, the wait goes on there,
        at most for the rest of its time, and its result is ignored.
        """
        return await self._calls.read(
            lambda: self._client.wait(resource, key, *given(view), until=until, within=within)
        )

    # Pods.

    async def logs(
        self,
        key: ObjectKey,
        *,
        container: str = "",
        follow: bool = False,
        previous: bool = False,
        since: float | datetime | None = None,
        tail: int | None = None,
        most_bytes: int | None = None,
        timestamps: bool = False,
        within: float | None = None,
    ) -> AsyncLogs:
        """Return the lines of a container's log, for `async for`; see `Client.logs`."""
        opened = await self._calls.read(
            lambda: self._client.logs(
                key,
                container=container,
                follow=follow,
                previous=previous,
                since=since,
                tail=tail,
                most_bytes=most_bytes,
                timestamps=timestamps,
                within=within,
            )
        )
        return AsyncLogs(self._calls.read, opened)

    async def exec(
        self,
        key: ObjectKey,
        command: Sequence[str],
        *,
        container: str = "",
        stdin: bytes | str | None = None,
        within: float | None = None,
        most_bytes: int = MOST_BYTES,
    ) -> CommandResult:
        """Run a command in a container, and return its result; see `Client.exec`.

        If the coroutine is cancelled, it waits for the end of the command, as for the answer to a write.
        """
        return await self._calls.run(
            lambda: self._client.exec(
                key, command, container=container, stdin=stdin, within=within, most_bytes=most_bytes
            ),
            is_read=False,
        )

    async def open_exec(
        self,
        key: ObjectKey,
        command: Sequence[str],
        *,
        container: str = "",
        stdin: bool = True,
        tty: bool = False,
        within: float = LONG,
    ) -> AsyncSession:
        """Start a command in a container, and return its streams; see `Client.open_exec`."""
        opened = await self._calls.run(
            lambda: self._client.open_exec(key, command, container=container, stdin=stdin, tty=tty, within=within),
            is_read=False,
        )
        return AsyncSession(self._calls.read, opened)

    async def attach(
        self, key: ObjectKey, *, container: str = "", stdin: bool = False, tty: bool = False, within: float = LONG
    ) -> AsyncSession:
        """Attach to the process of a container, and return its streams; see `Client.attach`."""
        opened = await self._calls.run(
            lambda: self._client.attach(key, container=container, stdin=stdin, tty=tty, within=within), is_read=False
        )
        return AsyncSession(self._calls.read, opened)

    def port_forward(self, key: ObjectKey, port: int, *, within: float = LONG) -> AsyncPortForward:
        """Return an object that opens connections to a port of a pod; see `Client.port_forward`."""
        return AsyncPortForward(self._calls.read, self._client.port_forward(key, port, within=within))

    # Writes.

    @overload
    async def create(self, resource: Kind[Any], obj: Body, namespace: str = "") -> Cached: ...

    @overload
    async def create(self, resource: CustomResource, *, namespace: str = "") -> Cached: ...

    async def create(self, resource: Target, obj: Body | None = None, namespace: str = "") -> Cached:
        """Create an object, and return it as stored; see `Client.create`."""
        known, body = target(resource, obj)
        return await self.call(lambda: self._client.create(known, body, namespace))

    async def update(self, resource: Kind[Any], obj: Body, *, subresource: str = "") -> Cached:
        """Replace a whole object, and return it as stored; see `Client.update`."""
        return await self.call(lambda: self._client.update(resource, obj, subresource=subresource))

    async def patch(
        self,
        resource: Kind[Any],
        key: ObjectKey,
        patch: Mapping[str, Any] | Sequence[Mapping[str, Any]],
        *,
        type: PatchType = PatchType.MERGE,  # noqa: A002  as in `Client.patch`
        subresource: str = "",
    ) -> Cached:
        """Change parts of an object, and return the whole object; see `Client.patch`."""
        return await self.call(lambda: self._client.patch(resource, key, patch, type=type, subresource=subresource))

    @overload
    async def apply(
        self,
        resource: Kind[Any],
        obj: Body,
        *,
        field_manager: str | None = None,
        force: bool = False,
        subresource: str = "",
    ) -> Cached: ...

    @overload
    async def apply(
        self,
        resource: CustomResource,
        *,
        field_manager: str | None = None,
        force: bool = False,
        subresource: str = "",
    ) -> Cached: ...

    async def apply(
        self,
        resource: Target,
        obj: Body | None = None,
        *,
        field_manager: str | None = None,
        force: bool = False,
        subresource: str = "",
    ) -> Cached:
        """Apply `obj` by server-side apply, and return the whole object; see `Client.apply`."""
        known, body = target(resource, obj)
        return await self.call(
            lambda: self._client.apply(known, body, field_manager=field_manager, force=force, subresource=subresource)
        )

    async def create_subresource(
        self, resource: Kind[Any], key: ObjectKey, subresource: str, obj: Body | None = None
    ) -> dict[str, Any]:
        """Create a subresource, such as an `eviction`, and return the answer; see `Client.create_subresource`."""
        return await self.call(lambda: self._client.create_subresource(resource, key, subresource, obj))

    async def delete(
        self,
        resource: Kind[Any],
        key: ObjectKey,
        *,
        uid: str | None = None,
        resource_version: str | None = None,
        grace_period_seconds: int | None = None,
        propagation_policy: str | None = None,
    ) -> None:
        """Delete an object; see `Client.delete`."""
        await self.call(
            lambda: self._client.delete(
                resource,
                key,
                uid=uid,
                resource_version=resource_version,
                grace_period_seconds=grace_period_seconds,
                propagation_policy=propagation_policy,
            )
        )

    async def delete_collection(
        self,
        resource: Kind[Any],
        namespace: str = "",
        *,
        label_selector: str = "",
        field_selector: str = "",
        grace_period_seconds: int | None = None,
        propagation_policy: str | None = None,
    ) -> None:
        """Delete all objects of a collection that match the selectors; see `Client.delete_collection`."""
        await self.call(
            lambda: self._client.delete_collection(
                resource,
                namespace,
                label_selector=label_selector,
                field_selector=field_selector,
                grace_period_seconds=grace_period_seconds,
                propagation_policy=propagation_policy,
            )
        )

    # The counterparts of functions that take a client.

    async def create_or_patch(self, resource: Kind[Any], key: ObjectKey, mutate: Mutate) -> Made:
        """Read an object, let `mutate` edit it, and write the difference; see the function `create_or_patch`.

        `mutate` runs on the thread that sends the requests, so it should use only its argument.
        """
        return await self.call(lambda: create_or_patch(self._client, resource, key, mutate))

    async def retry_on_conflict(
        self, attempt: Callable[[], Awaitable[T]], *, retry: ConflictRetry = ConflictRetry.QUICK
    ) -> T:
        """Call and await `attempt` until it raises no `Conflict`, and return its result.

        Delays are those of `retry_on_conflict`.

        Args:
            attempt: Reads, decides and writes. It must read again each time; otherwise it gets the same conflict.
            retry: The number of tries and their delays.

        Raises:
            Conflict: The last try raised it.
            Exception: `attempt` raised another error, which is not retried.
        """
        tries, backoff = retry.value
        for failures in range(1, tries):
            try:
                return await attempt()
            except Conflict:
                delay = backoff.delay(failures, self._client.host.random)
            await asyncio.sleep(delay)
        return await attempt()

    async def call(self, function: Callable[[], T]) -> T:
        """Call a function that sends requests with the synchronous client, on a thread of the pool; return its result.

        Use it for code that has no coroutine version, such as `Finalizers.handle`. It also works in simulations, which
        have no `asyncio.to_thread`. If the coroutine is cancelled, it waits for the function to end, as for a write.

        Raises:
            UsageError: The function is an `async def`, or returned a coroutine.
            Exception: The function raised it.
        """
        return await self._calls.run(
            synchronous("AsyncClient.call", function, "await it without `call`"), is_read=False
        )
