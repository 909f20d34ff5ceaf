# SPDX-License-Identifier: Apache-2.0
"""Detects code under test that reads the real clock, or sleeps in real time, on a thread whose time is virtual.

The interpreter reports each call of a function written in C, such as those of `time` and `datetime`. So calls are
detected no matter how the function was imported, and nothing is replaced. A line that does not run is never reported.

Since Python 3.12 the interpreter reports only the calls of code under test (`sys.monitoring`), at almost no cost. On
earlier versions a profile function gets every call of a watched thread, which is then half as fast.
"""

from __future__ import annotations

import atexit
import datetime
import functools
import os
import site
import sys
import sysconfig
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FrameType
from typing import Any

_PACKAGE = str(Path(__file__).parents[2])
_TOOL = 4
"""The number of this tool for `sys.monitoring`; Python reserves it for no kind of tool, and Hypothesis does not use
it.
"""

Fail = Callable[["RealClockWarning"], None]
"""Called with the warning if the filters of `warnings` turn it into an error. If the error were raised in the code
under test, that code could catch it and retry, and the error would stay unnoticed.
"""

_watched = threading.local()  # `fail` in each thread that is watched by `sys.monitoring`


class RealClockWarning(UserWarning):
    """Code that runs under virtual time asked the real clock, or slept in real time."""


# `perf_counter` and `process_time` are left out: their only use is to measure what a piece of code costs.
_CLOCKS = frozenset(
    {
        time.time,
        time.time_ns,
        time.monotonic,
        time.monotonic_ns,
        datetime.datetime.now,
        datetime.datetime.utcnow,
        datetime.datetime.today,
        datetime.date.today,
    }
)
_SEEN = _CLOCKS | {time.sleep}


def watch_thread(fail: Fail) -> None:
    """Warn from now on, naming the line, of code under test that reads a real clock or sleeps on the calling thread.

    Code under test is all code outside of the standard library, of installed packages and of this package.

    Args:
        fail: Called with the warning if the filters of `warnings` turn it into an error.
    """
    if _monitors_calls():
        _watched.fail = fail
    elif sys.getprofile() is None:
        sys.setprofile(_profile_for(fail))


if sys.version_info >= (3, 12):

    @functools.cache
    def _monitors_calls() -> bool:
        """Let the interpreter report the calls of code under test from now on, and return whether it does."""
        monitoring, events = sys.monitoring, sys.monitoring.events
        if monitoring.get_tool(_TOOL) is not None:
            return False
        monitoring.use_tool_id(_TOOL, "controller_runtime.testing")

        def started(code: CodeType, offset: int) -> object:
            if is_under_test(code):
                monitoring.set_local_events(_TOOL, code, events.CALL)
            return monitoring.DISABLE  # the code is not looked at again

        def calls(code: CodeType, offset: int, called: object, first: object) -> None:
            if type(called) is BuiltinFunctionType and called in _SEEN:
                fail = getattr(_watched, "fail", None)
                if fail is not None:
                    _tell(sys._getframe(1), called, fail)

        monitoring.register_callback(_TOOL, events.PY_START, started)
        monitoring.register_callback(_TOOL, events.CALL, calls)
        monitoring.set_events(_TOOL, events.PY_START)
        atexit.register(monitoring.set_events, _TOOL, 0)  # else the callbacks outlive the names that they use
        return True

else:

    def _monitors_calls() -> bool:
        return False


def _profile_for(fail: Fail) -> Callable[[FrameType, str, Any], None]:
    def profile(frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call" and called in _SEEN and is_under_test(frame.f_code):
            _tell(frame, called, fail)

    return profile


def is_under_test(code: CodeType) -> bool:
    """Return whether code belongs neither to the standard library, nor to an installed package, nor to this package."""
    return not code.co_filename.startswith((*_folders_of_others(), "<frozen "))


@functools.cache
def _folders_of_others() -> tuple[str, ...]:
    """Return the folders of the standard library, of installed packages, and of this one, each with its separator."""
    paths = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    paths += [*site.getsitepackages(), site.getusersitepackages(), _PACKAGE]
    return tuple({os.path.realpath(path) + os.sep for path in paths} | {path + os.sep for path in paths})


def _tell(frame: FrameType, called: Any, fail: Fail) -> None:
    try:
        _warn(frame, called)
    except RealClockWarning as warning:  # its traceback ends here, not at the line that it is about
        warning.add_note(f"{frame.f_code.co_filename}:{frame.f_lineno}, in {frame.f_code.co_name}")
        fail(warning)


def _warn(frame: FrameType, called: Any) -> None:
    if called in _CLOCKS:
        advice = "asks the real clock, which virtual time does not move; take `manager.host` as a Clock and ask that"
    else:
        advice = "sleeps in real time, and virtual time stands still meanwhile; return Result(requeue_after=...)"
    warnings.warn_explicit(
        f"{called.__qualname__ if isinstance(called.__self__, type) else f'time.{called.__name__}'} {advice}",
        RealClockWarning,
        frame.f_code.co_filename,
        frame.f_lineno,
        frame.f_globals.get("__name__"),
        frame.f_globals.setdefault("__warningregistry__", {}),
    )
