# SPDX-License-Identifier: Apache-2.0
"""Runs functions on real threads at the same time; on a Python without the GIL they do run at the same time.

A thread can be interrupted between any two operations, and hardly ever is where it matters. So the threads here give
way to others now and then, between two operations of our own code drawn at random.
"""

from __future__ import annotations

import os
import random
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import controller_runtime
from apimachinery.system import SystemHost

SECONDS = 270.0
GIVES_WAY = 0.02
"""The share of the operations of our code before which a thread gives way."""
OURS = str(Path(controller_runtime.__file__).parent)


def _uneven() -> Callable[[FrameType, str, Any], Any]:
    """Return a trace function by which the thread gives way before some operations of our code."""
    chance = random.Random()

    def before(frame: FrameType, event: str, argument: Any) -> Any:
        if event == "opcode" and chance.random() < GIVES_WAY:
            os.sched_yield()
        return before

    def called(frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        frame.f_trace_opcodes = True
        return before

    return called


def together(*functions: Callable[[], object]) -> None:
    """Run each function on a thread of its own, all from one moment on; raise the first error when all have ended."""
    host, start, errors = SystemHost(), threading.Barrier(len(functions)), list[BaseException]()

    def run(function: Callable[[], object]) -> None:
        start.wait(SECONDS)
        traced = sys.gettrace()
        try:
            sys.settrace(_uneven())
            function()
        except BaseException as error:  # noqa: BLE001  raised again below
            errors.append(error)
        finally:
            sys.settrace(traced)

    threads = [host.spawn(f"crowd-{number}", lambda each=each: run(each)) for number, each in enumerate(functions)]
    late = [thread.stack() for thread in threads if not thread.join_until(host.monotonic() + SECONDS)]
    if errors:
        raise errors[0]
    assert not late, "\n".join(late)
