# SPDX-License-Identifier: Apache-2.0
"""Signals that would end the process in the middle of its work, because no code has installed a handler for them."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Mapping
from typing import Any

from apimachinery.host import Host
from apimachinery.stop import Stop
from apimachinery.system import SystemHost, is_on_main_thread
from controller_runtime.core.signals import stop_on_signals

STOPPING: Mapping[int, Any] = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
"""The signals that ask a process to stop, each with the handler that Python starts with."""


def stop_on_unhandled_signals(
    host: Host, stop: Stop, *, wanted: bool = True
) -> contextlib.AbstractContextManager[None]:
    """Return a context manager: inside it, the first signal of `STOPPING` that the program does not handle sets `stop`.

    A signal that is ignored, as under `nohup` or in a background job of a shell, stays ignored. On a thread other than
    the main one, and on a simulated host, the block has no effect.

    Args:
        host: The source of threads.
        stop: The stop that the first signal sets; a second signal ends the process at once, with status 1.
        wanted: False makes a block without effect.
    """
    numbers = unhandled({number: signal.getsignal(number) for number in STOPPING})
    if not (wanted and numbers and isinstance(host, SystemHost) and is_on_main_thread()):
        return contextlib.nullcontext()
    return stop_on_signals(host, stop, numbers)


def unhandled(handlers: Mapping[int, Any]) -> list[int]:
    """Return the signals of `STOPPING` that still have the handler with which Python starts.

    Args:
        handlers: The current handlers, by signal.
    """
    return [number for number, initial in STOPPING.items() if handlers[number] == initial]
