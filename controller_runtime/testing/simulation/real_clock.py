# SPDX-License-Identifier: Apache-2.0
"""Notices code under test that asks the real clock, or sleeps in real time, on a thread whose time is virtual.

A profile function of the interpreter sees each call of a function that is written in C, as the functions of `time`
and `datetime` are. So the calls are seen however the function was imported, nothing is replaced, and a line that is
never run is never named.
"""

from __future__ import annotations

import datetime
import os
import site
import sysconfig
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

_PACKAGE = str(Path(__file__).parents[2])

Profile = Callable[[FrameType, str, Any], None]
"""A function for `sys.setprofile`."""


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


def _folders_of_others() -> tuple[str, ...]:
    """Return the folders of the standard library, of installed packages, and of this one, each with its separator."""
    paths = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    paths += [*site.getsitepackages(), site.getusersitepackages(), _PACKAGE]
    return tuple({os.path.realpath(path) + os.sep for path in paths} | {path + os.sep for path in paths})


def watch_for(fail: Callable[[RealClockWarning], None]) -> Profile:
    """Return a profile function that warns, by the line, of code under test that calls a real clock or sleeps.

    Code under test is all code outside of the standard library, of installed packages and of this package.

    Args:
        fail: Called with the warning if the filters of `warnings` make it an error. An error that were raised in the
            code under test could be caught and retried there, and stay unnoticed.
    """
    others = _folders_of_others()
    known: dict[CodeType, bool] = {}

    def is_under_test(code: CodeType) -> bool:
        if (answer := known.get(code)) is None:
            answer = known[code] = not code.co_filename.startswith((*others, "<frozen "))
        return answer

    def watch(frame: FrameType, event: str, called: Any) -> None:
        if event == "c_call" and called in _SEEN and is_under_test(frame.f_code):
            try:
                _warn(frame, called)
            except RealClockWarning as warning:  # its traceback ends here, not at the line that it is about
                warning.add_note(f"{frame.f_code.co_filename}:{frame.f_lineno}, in {frame.f_code.co_name}")
                fail(warning)

    return watch


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
