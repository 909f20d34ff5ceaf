# SPDX-License-Identifier: Apache-2.0
"""The connection between a program and a fake of an outside service, where an observer chooses how each call goes."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import attrs

from controller_runtime.testing.outside.calls import Call, text_of
from controller_runtime.testing.outside.courses import AS_USUAL, Course
from controller_runtime.testing.outside.declaring import declared_by, is_read
from controller_runtime.testing.outside.place import Caller, Place
from controller_runtime.testing.outside.snapshots import Snapshot, changes, snapshot

Deed = Callable[[Any], Any]
"""Carries out one call: it is called with the fake, and returns the answer of its method."""


@attrs.frozen
class _Outcome:
    """The answer of a fake.

    Attributes:
        value: The value that it returned.
        error: The error that it raised; None if it returned.
    """

    value: object = None
    error: Exception | None = None


class Line:
    """Connects the callers of a fake with the fake, and applies the faults that the observer chooses.

    Args:
        fake: The fake of an outside service.
        name: The name of the service in reports.
        place: The surroundings of the fake: the present process, the observer, and how a call waits.

    Attributes:
        fake: As given.
        name: As given.
        place: As given; replaced for the time in which another cluster borrows the fake.

    Raises:
        UsageError: The fake has no attribute `state`, or a public method is a generator.

    Threads: those of a simulation, which run one at a time.
    """

    def __init__(self, fake: Any, name: str, place: Place) -> None:
        self.fake, self.name, self.place = fake, name, place
        self._declared = declared_by(fake)
        self._last = self.present()
        self._first = copy.deepcopy(fake.state)
        self._past: Any = None
        self._under_way = self._astray = 0
        self._late: set[asyncio.Task[Any]] = set()

    def present(self) -> Snapshot:
        """Return a snapshot of the present state of the fake, as JSON values by name."""
        return snapshot(self.fake.state)

    def notice(self) -> None:
        """Report to the observer changes of the state that were not made by a call."""
        if not self._under_way and (found := changes(self._last, now := self.present())):
            self._last = now
            self.place.observer.moved(self, found)

    @property
    def is_awaited(self) -> bool:
        """True while a call with a fault is under way, or a late one is still to be carried out, even if its caller has
        given up.
        """
        return bool(self._late) or self._astray > 0

    def begin_again(self) -> None:
        """Set the state of the fake back to its initial state."""
        self.fake.state = copy.deepcopy(self._first)
        self._last, self._past = self.present(), None

    def program_ended(self) -> None:
        """Call the fake's method `hang_up`, if it has one, because the program and all its connections have ended."""
        self._late.clear()
        if callable(hang_up := getattr(self.fake, "hang_up", None)):
            hang_up()
            self._last = self.present()

    def calling(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that calls a method of the fake, with the faults that the observer chooses.

        Args:
            name: The name of the method.
            method: The method itself; the result is a coroutine function if this one is.
        """
        if inspect.iscoroutinefunction(method):

            @functools.wraps(method)
            async def call_and_await(*args: Any, **kwargs: Any) -> Any:
                return await self._await(name, args, kwargs)

            return call_and_await

        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._call(name, args, kwargs)

        return call

    def _call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        def deed(fake: Any) -> Any:
            return getattr(fake, name)(*args, **kwargs)

        caller = self.place.caller()
        if caller is not Caller.PROGRAM:
            return self._by_others(caller, deed, name, args, kwargs)
        call = self._as_call(name, args, kwargs)
        self.place.leave(call.text)
        number, course = self._begin(call)
        with self._counted(course):
            self.place.wait(course.late)
            outcome = _Outcome()
            for again in range(course.times):
                found = self._do(call, number, deed, course)
                outcome = outcome if again else found
            self.place.wait(course.wait)
        return self._end(call, course, outcome)

    def _by_others(self, caller: Caller, deed: Deed, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call for the test or another part of the cluster, at once and without a fault."""
        self.notice()
        self._under_way += 1
        try:
            return deed(self.fake)
        finally:
            self._under_way -= 1
            if found := changes(self._last, now := self.present()):
                self._last = now
                if caller is Caller.TEST:
                    self.place.observer.acted(self, name, args, kwargs)
                self.place.observer.changed(self, 0, found)

    async def _await(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.place.caller() is not Caller.PROGRAM:
            return await getattr(self.fake, name)(*args, **kwargs)
        call = self._as_call(name, args, kwargs)
        await asyncio.sleep(0)
        number, course = self._begin(call)

        async def carry_out() -> _Outcome:
            outcome = _Outcome()
            for again in range(course.times):
                found = await self._do_async(call, number, name, args, kwargs, course)
                outcome = outcome if again else found
            return outcome

        with self._counted(course):
            outcome = await (self._later(course.late, carry_out) if course.late else carry_out())
            await asyncio.sleep(course.wait)
        return self._end(call, course, outcome)

    async def _later(self, seconds: float, carry_out: Callable[[], Any]) -> _Outcome:
        """Carry a call out later, also if its caller gives up before."""

        async def arrive() -> _Outcome:
            await asyncio.sleep(seconds)
            outcome: _Outcome = await carry_out()
            return outcome

        self._late.add(task := asyncio.get_running_loop().create_task(arrive()))
        task.add_done_callback(self._late.discard)
        return await asyncio.shield(task)

    def _as_call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        reads, declared = is_read(getattr(self.fake, name)), self._declared
        may_be_past = reads and declared.eventually_consistent and self._past is not None
        text = text_of(self.name, name, args, kwargs)
        return Call(self.name, text, reads, declared.at_least_once and not reads, may_be_past)

    def _begin(self, call: Call) -> tuple[int, Course]:
        self.notice()
        number, course = self.place.observer.begins(call)
        if course.ends and not course.times:
            self.place.end_program()
        return number, course

    @contextmanager
    def _counted(self, course: Course) -> Iterator[None]:
        """Count a call that does not go as usual while the block lasts."""
        self._astray += course != AS_USUAL
        try:
            yield
        finally:
            self._astray -= course != AS_USUAL

    def _end(self, call: Call, course: Course, outcome: _Outcome) -> Any:
        """Return the answer of a call, or raise the error that its caller gets."""
        if course.ends:
            self.place.end_program()
        if course.error == "refused":
            raise self._declared.refused(f"{call.outside}: connection refused")
        if course.error:
            raise self._declared.timed_out(f"{call.outside}: no answer within {course.wait:g} s")
        if outcome.error is not None:
            raise outcome.error
        return outcome.value

    def _do(self, call: Call, number: int, deed: Deed, course: Course) -> _Outcome:
        self._under_way += 1
        before = self._state_before(call)
        try:
            outcome = _Outcome(deed(self._answering(course)))
        except Exception as error:  # noqa: BLE001  the call ends here: its error is its answer, which may be lost
            outcome = _Outcome(error=error)
        finally:
            has_changed = self._done(number, before)
        if has_changed:
            self.place.written(f"after {call}")
        return outcome

    async def _do_async(
        self, call: Call, number: int, name: str, args: tuple[Any, ...], kwargs: dict[str, Any], course: Course
    ) -> _Outcome:
        self._under_way += 1
        before = self._state_before(call)
        try:
            outcome = _Outcome(await getattr(self._answering(course), name)(*args, **kwargs))
        except Exception as error:  # noqa: BLE001  the call ends here: its error is its answer, which may be lost
            outcome = _Outcome(error=error)
        finally:
            has_changed = self._done(number, before)
        if has_changed:
            self.place.written(f"after {call}")
        return outcome

    def _answering(self, course: Course) -> Any:
        """Return the fake that answers: itself, or a copy of it as it was before the last change."""
        if not course.from_past:
            return self.fake
        past = copy.copy(self.fake)
        past.state = copy.deepcopy(self._past)
        return past

    def _state_before(self, call: Call) -> Any:
        """Return a copy of the state before a call, if a later read may be answered from it."""
        return copy.deepcopy(self.fake.state) if self._declared.eventually_consistent and not call.reads else None

    def _done(self, number: int, before: Any) -> bool:
        """Tell the observer of the changes of a call, also of one that was ended, and return whether there are any."""
        self._under_way -= 1
        found = changes(self._last, now := self.present())
        if found:
            self._last, self._past = now, before
            self.place.observer.changed(self, number, found)
        return bool(found)
