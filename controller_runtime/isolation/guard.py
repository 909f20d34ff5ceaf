# SPDX-License-Identifier: Apache-2.0
"""A guard that refuses a process the world outside, while it is on.

An audit hook cannot be removed, so there is one for the life of the process, installed by the first guard; it asks the
guard that is on, if one is. Every thread is refused, and not only those that run user code: a pool of threads has no
context of the reconcile that uses it. The library's own connections are made inside `permitted`, which is a context
variable that only threads of our own inherit.
"""

from __future__ import annotations

import contextlib
import contextvars
import socket
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from apimachinery.errors import UsageError
from controller_runtime.isolation.calls import FORK_EXEC, OutwardCall, call_of, is_allowed

_permitted: contextvars.ContextVar[bool] = contextvars.ContextVar("own connections", default=False)


class OutsideRefused(BaseException):
    """Raised if a connection or the start of a program was refused by a `Guard`.

    It is not an `Exception`, so that code which catches errors of a service neither retries nor continues as if the
    service were down.

    Attributes:
        call: The refused call.
    """

    def __init__(self, call: OutwardCall) -> None:
        super().__init__(f"refused: the program {call}")
        self.call = call


class Guard:
    """Decides which connections and starts of programs by the process are refused, and reports them.

    Args:
        allowed: Hosts, socket paths and programs that are allowed.
        on_refused: Called with each refused call, on the thread that made it, before the error is raised.

    Threads: any.
    """

    def __init__(
        self, allowed: Iterable[str] = (), on_refused: Callable[[OutwardCall], None] = lambda call: None
    ) -> None:
        self._allowed = frozenset(name.lower() for name in allowed) | frozenset(allowed)
        self._on_refused = on_refused
        # The addresses that allowed names were resolved to. A set is changed by single operations only.
        self._addresses: set[str] = set()

    def check(self, event: str, args: tuple[Any, ...]) -> None:
        """Raise an error if an audit event of Python is a connection or the start of a program that is not allowed.

        The arguments are those of a hook; see `sys.addaudithook`.

        Raises:
            OutsideRefused: It is such an event.
        """
        if _permitted.get() or (call := call_of(event, args)) is None:
            return
        if is_allowed(call, self._allowed) or (not call.runs and call.target in self._addresses):
            return
        self._on_refused(call)
        if event == "socket.connect":
            args[0].close()  # code that closes its socket after an `OSError` alone would leave it to the collector
        raise OutsideRefused(call)

    def resolved(self, host: object, found: Iterable[tuple[Any, ...]]) -> None:
        """Allow the addresses to which an allowed host name was resolved, since connections use only addresses."""
        name = host.decode() if isinstance(host, bytes) else host
        if isinstance(name, str) and name.lower() in self._allowed:
            self._addresses.update(str(each[4][0]) for each in found)


class _Hook:
    """The audit hook of this process. Threads: any, but `guarded` one at a time."""

    def __init__(self) -> None:
        self.guard: Guard | None = None
        self.is_installed = False

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        guard = self.guard  # one reference, so whole without a lock
        if guard is not None:
            guard.check(event, args)


_HOOK = _Hook()


@contextlib.contextmanager
def guarded(guard: Guard) -> Iterator[None]:
    """Return a context manager: during its block, `guard` decides which connections and programs the process can start.

    Existing connections stay open, and connections of C code without audit events are not seen; see `calls`.

    Raises:
        UsageError: Another guard is active.
    """
    if _HOOK.guard is not None:
        raise UsageError("the world outside is refused to this process already, by another guard")
    if not _HOOK.is_installed:
        _HOOK.is_installed = True
        sys.addaudithook(_HOOK)
    _HOOK.guard = guard
    try:
        with _names_followed(guard), _spawns_told():
            yield
    finally:
        _HOOK.guard = None


@contextlib.contextmanager
def permitted() -> Iterator[None]:
    """Return a context manager: inside its block, this context may connect, resolve names and start programs.

    It is for the library's own calls; user code must not run inside it.
    """
    token = _permitted.set(True)
    try:
        yield
    finally:
        _permitted.reset(token)


@contextlib.contextmanager
def _names_followed(guard: Guard) -> Iterator[None]:
    """Tell `guard` what names are resolved to: an event tells of the question, and never of the answer."""
    before = socket.getaddrinfo

    def getaddrinfo(host: Any, *args: Any, **more: Any) -> Any:
        found = before(host, *args, **more)
        guard.resolved(host, found)
        return found

    socket.getaddrinfo = getaddrinfo
    try:
        yield
    finally:
        socket.getaddrinfo = before


@contextlib.contextmanager
def _spawns_told() -> Iterator[None]:
    """Raise an event for the processes that `multiprocessing` starts past `subprocess`; on POSIX, where it does so."""
    try:
        import _posixsubprocess
    except ImportError:
        yield
        return
    module: Any = _posixsubprocess
    before = module.fork_exec

    def fork_exec(args: Any, executables: Any, *more: Any) -> Any:
        sys.audit(FORK_EXEC, executables[0] if executables else None, args)
        return before(args, executables, *more)

    module.fork_exec = fork_exec
    try:
        yield
    finally:
        module.fork_exec = before
