# SPDX-License-Identifier: Apache-2.0
"""An asyncio event loop in virtual time: it waits on a condition of its simulated host, and has no sockets.

It derives from asyncio's own `BaseEventLoop`, so timers, tasks, futures and their order are asyncio's. A subclass has
to supply three names that asyncio does not document, but whose meaning its source states for subclasses, and which are
the same from Python 3.11 to 3.14: `_selector`, whose `select` waits; `_process_events`, for its result; and
`_write_to_self`, by which `call_soon_threadsafe` ends the wait. A fourth, `_log_destroy_pending`, is explained where it
is used.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import Callable, Coroutine, Generator
from typing import Any, NoReturn, Protocol, TypeVar

from apimachinery.errors import UsageError
from apimachinery.host import Condition
from controller_runtime.testing.simulation.tasks import Crashed

T = TypeVar("T")


class LoopHost(Protocol):
    """The part of a `SimulatedHost` that an event loop needs."""

    def condition(self, label: str) -> Condition:
        """Return a condition for waits, as `Host.condition` does."""

    def monotonic(self) -> float:
        """Return the monotonic seconds, as `Host.monotonic` does."""

    def leaving(self, label: str) -> None:
        """Let another thread run, as `SimulatedHost.leaving` does."""


class VirtualSelector:
    """Waits in place of asyncio's selector, without file descriptors: until the next timer, or a call to `wake`.

    Args:
        host: The host whose condition it waits on.

    Threads: `wake` from any thread of the simulation, the rest from the loop's thread.
    """

    def __init__(self, host: LoopHost) -> None:
        self._host = host
        # Guards the field below.
        self._condition = host.condition("event loop")
        self._is_woken = False

    def select(self, timeout: float | None) -> list[object]:
        """Wait for `timeout` seconds (None: no limit) or until woken; it may return early. The result is always empty.

        Another thread may run even if the timeout is zero, so that a coroutine that never waits is detected as a
        livelock.
        """
        if timeout is not None and timeout <= 0:
            self._host.leaving("event loop")
            with self._condition:
                self._is_woken = False
            return []
        deadline = None if timeout is None else self._host.monotonic() + timeout
        with self._condition:
            if not self._is_woken:
                self._condition.wait_until(deadline)
            self._is_woken = False
        return []

    def wake(self) -> None:
        """End the present wait of the loop's thread, or else its next one."""
        with self._condition:
            self._is_woken = True
            self._condition.notify_all()


class SimulatedEventLoop(asyncio.BaseEventLoop):
    """The event loop of a simulated host; `SimulatedHost.new_event_loop` returns it.

    Sleeps, timeouts, locks, queues and task groups of asyncio work, in virtual time. Everything that needs a real
    machine raises `UsageError`: sockets, pipes, subprocesses, executors (and so `asyncio.to_thread`), signals.

    Args:
        host: The host, for its clock and its condition.

    Threads: as for asyncio's event loops.
    """

    def __init__(self, host: LoopHost) -> None:
        super().__init__()
        self._simulated_host = host
        self._selector = VirtualSelector(host)
        # The context of each task that has not ended, in the order of their creation: for `_unwind`.
        self._contexts: dict[asyncio.Task[Any], contextvars.Context] = {}

    def time(self) -> float:
        """Return the monotonic seconds of the host."""
        return self._simulated_host.monotonic()

    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: object = None,
        context: contextvars.Context | None = None,
        **options: Any,
    ) -> asyncio.Task[T]:
        """Return a new task, as asyncio does; `options` are the arguments that later versions of Python have."""
        context = contextvars.copy_context() if context is None else context
        task: asyncio.Task[T] = super().create_task(coro, name=name, context=context, **options)
        if not task.done():  # an eager task may have ended already
            self._contexts[task] = context
            task.add_done_callback(self._contexts.pop)
        return task

    def run_forever(self) -> None:
        """Run until `stop` is called. If the host crashes, raise `Crashed` in every coroutine, and then in the
        caller.
        """
        try:
            super().run_forever()
        except Crashed:
            self._unwind()
            raise

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Report an error as asyncio does, but not the end of a task by `Crashed`, which no program retrieves."""
        if not isinstance(context.get("exception"), Crashed):
            super().call_exception_handler(context)

    def __del__(self) -> None:
        """Do nothing; asyncio would warn of a loop that is not closed, but after a crash there is nothing to close."""

    def _unwind(self) -> None:
        """Raise `Crashed` in every suspended coroutine, in its own context.

        Otherwise the garbage collector would end them at any later time, in another context and another test.
        """
        while self._contexts:
            task, context = self._contexts.popitem()
            # asyncio logs a pending task that is destroyed; this is its own switch for tasks whose end is known.
            setattr(task, "_log_destroy_pending", False)  # noqa: B010  mypy knows no private names of asyncio
            coroutine = task.get_coro()
            assert coroutine is not None, "only an eager task that has ended has none"
            for end in (lambda c=coroutine: c.throw(Crashed("the event loop's host is gone")), coroutine.close):
                with contextlib.suppress(BaseException):  # it ends here, whatever its own `finally` raises
                    context.run(end)

    def _process_events(self, events: list[object]) -> None:
        """Do nothing: there are no file descriptors that could be ready."""

    def _write_to_self(self) -> None:
        self._selector.wake()


def _refusal(name: str, means: str, instead: str) -> Callable[..., NoReturn]:
    """Return a method that refuses its call, named by the function of asyncio that a user would have called."""

    def refuse(self: SimulatedEventLoop, *args: object, **kwargs: object) -> NoReturn:
        raise UsageError(f"{means} needs a real machine: {instead}")

    refuse.__name__ = name
    return refuse


_SOCKETS = "a simulation has no sockets; pass the reconciler a fake, or run this on `SystemHost` (`real_cluster`)"
_PROCESSES = "a simulation has no subprocesses; pass the reconciler a fake, or run this on `SystemHost`"
_THREADS = "a simulation has no threads but its hosts'; `AsyncClient.call` runs a function on one, in a simulation too"
_SIGNALS = "a simulation has no signals; set a `Stop` instead"

REFUSED = {
    "create_connection": ("open_connection (create_connection)", _SOCKETS),
    "create_unix_connection": ("open_unix_connection (create_unix_connection)", _SOCKETS),
    "create_server": ("start_server (create_server)", _SOCKETS),
    "create_unix_server": ("start_unix_server (create_unix_server)", _SOCKETS),
    **{
        name: (name, _SOCKETS)
        for name in (
            "create_datagram_endpoint",
            "connect_accepted_socket",
            "connect_read_pipe",
            "connect_write_pipe",
            "start_tls",
            "sendfile",
            "sock_recv",
            "sock_recv_into",
            "sock_recvfrom",
            "sock_recvfrom_into",
            "sock_sendall",
            "sock_sendto",
            "sock_connect",
            "sock_accept",
            "sock_sendfile",
            "getaddrinfo",
            "getnameinfo",
            "add_reader",
            "remove_reader",
            "add_writer",
            "remove_writer",
        )
    },
    "subprocess_exec": ("create_subprocess_exec (subprocess_exec)", _PROCESSES),
    "subprocess_shell": ("create_subprocess_shell (subprocess_shell)", _PROCESSES),
    "run_in_executor": ("to_thread (run_in_executor)", _THREADS),
    "set_default_executor": ("set_default_executor", _THREADS),
    "add_signal_handler": ("add_signal_handler", _SIGNALS),
    "remove_signal_handler": ("remove_signal_handler", _SIGNALS),
}
"""The methods of an event loop that a simulation refuses, each with the function that a user calls, and the reason."""

for _name, (_means, _instead) in REFUSED.items():
    setattr(SimulatedEventLoop, _name, _refusal(_name, _means, _instead))
