# SPDX-License-Identifier: Apache-2.0
"""The stacks of all threads of the process."""

from __future__ import annotations

from apimachinery.stop import Stop
from apimachinery.system import SystemHost, stacks


def wait_here(stop: Stop, here: Stop) -> None:
    here.set()
    stop.wait_until(None)


def test_every_thread_is_named_with_its_stack_those_of_one_name_too() -> None:
    host = SystemHost()
    stop, arrived = Stop(host), [Stop(host), Stop(host)]
    threads = [host.spawn("waiting", lambda here=here: wait_here(stop, here)) for here in arrived]
    for here in arrived:
        here.wait_until(None)

    shown = stacks()
    stop.set()
    for thread in threads:
        thread.join_until(None)

    assert shown.count("waiting\n  File ") == 2
    assert shown.count("in wait_here") == 2
    assert "MainThread\n  File " in shown
