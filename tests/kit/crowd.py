# SPDX-License-Identifier: Apache-2.0
"""Runs functions on real threads at the same time; on a Python without the GIL they do run at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable

from controller_runtime.core.system import SystemHost

SECONDS = 120.0


def together(*functions: Callable[[], object]) -> None:
    """Run each function on a thread of its own, all from one moment on; raise the first error when all have ended."""
    host, start, errors = SystemHost(), threading.Barrier(len(functions)), list[BaseException]()

    def run(function: Callable[[], object]) -> None:
        start.wait(SECONDS)
        try:
            function()
        except BaseException as error:  # noqa: BLE001  raised again below
            errors.append(error)

    threads = [host.spawn(f"crowd-{number}", lambda each=each: run(each)) for number, each in enumerate(functions)]
    late = [thread.stack() for thread in threads if not thread.join_until(host.monotonic() + SECONDS)]
    if errors:
        raise errors[0]
    assert not late, "\n".join(late)
