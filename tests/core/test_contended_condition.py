# SPDX-License-Identifier: Apache-2.0
"""A thread that finds a condition of the real host taken looks again, and queues only if it stays taken."""

from __future__ import annotations

import pytest

from controller_runtime.core import system
from controller_runtime.core.system import SystemHost


@pytest.mark.skipif(not system._HAS_GIL, reason="threads queue without the GIL")
@pytest.mark.parametrize("looks", [1, 3, system._LOOKS])
def test_a_taken_condition_is_looked_at_again_until_it_is_free(monkeypatch: pytest.MonkeyPatch, looks: int) -> None:
    condition, pauses = SystemHost.condition("contended"), list[None]()

    def pause() -> None:
        pauses.append(None)
        if len(pauses) == looks:
            condition.__exit__(None, None, None)

    monkeypatch.setattr(system, "_pause", pause)
    condition.__enter__()
    with condition:
        assert len(pauses) == looks


@pytest.mark.parametrize("has_gil", [True, False])
def test_a_thread_queues_for_a_condition_that_stays_taken(monkeypatch: pytest.MonkeyPatch, has_gil: bool) -> None:
    condition, pauses, order = SystemHost.condition("contended"), list[None](), list[str]()
    monkeypatch.setattr(system, "_pause", lambda: pauses.append(None))
    monkeypatch.setattr(system, "_HAS_GIL", has_gil)

    def second() -> None:
        with condition:
            order.append("second")

    with condition:
        thread = SystemHost.spawn("second", second)
        assert not thread.join_until(SystemHost.monotonic() + 0.05)
        order.append("first")
    thread.join_until(None)

    assert order == ["first", "second"]
    assert len(pauses) == (system._LOOKS if has_gil else 0)
