# SPDX-License-Identifier: Apache-2.0
"""Watches that stand still at a gate, and go on or end with 410."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from embedded_apiserver.perturbation.gates import Gate, HeldWatch
from embedded_apiserver.perturbation.lines import EXPIRED_LINE, version_of


def line(version: int) -> bytes:
    return b'{"type":"MODIFIED","object":{"metadata":{"resourceVersion":"%d"}}}\n' % version


class Lines:
    """A watch of the server with some lines."""

    def __init__(self, *versions: int, ends: bool = False) -> None:
        self.headers: Mapping[str, str] = {}
        self.lines = [line(version) for version in versions]
        self.ends = ends
        self.closed = False

    def take(self, limit: int = 64) -> tuple[list[bytes], bool]:
        taken, self.lines = self.lines[:limit], self.lines[limit:]
        return taken, self.ends and not self.lines

    def next_wake(self) -> float | None:
        return 5.0

    def close(self) -> None:
        self.closed = True


def held(gate: Gate, inner: Lines) -> tuple[HeldWatch, list[str]]:
    woken: list[str] = []
    return HeldWatch(inner, gate, lambda: woken.append("woken")), woken


def test_lines_before_the_gate_pass_and_later_ones_wait() -> None:
    gate = Gate("pods", 3)
    watch, _ = held(gate, Lines(1, 2, 3, 4))

    assert watch.take() == ([line(1), line(2)], False)
    assert watch.take() == ([], False)
    assert gate.holds
    assert watch.next_wake() is None


def test_an_open_gate_lets_all_pass_in_order() -> None:
    gate = Gate("pods", 2)
    inner = Lines(1, 2, 3)
    watch, woken = held(gate, inner)
    watch.take()
    inner.lines.append(line(4))

    gate.open()

    assert woken == ["woken"]
    assert [version_of(each) for each in [*watch.take()[0], *watch.take()[0]]] == [2, 3, 4]
    assert not gate.holds
    assert watch.next_wake() == 5.0


def test_a_watch_that_expires_ends_with_410_and_never_shows_what_it_held() -> None:
    gate = Gate("pods", 2)
    inner = Lines(1, 2)
    watch, _ = held(gate, inner)
    watch.take()

    gate.open(expires=True)

    assert watch.take() == ([EXPIRED_LINE], True)
    assert inner.closed


def test_a_watch_that_holds_nothing_does_not_expire() -> None:
    gate = Gate("pods", 9)
    watch, _ = held(gate, Lines(1))
    gate.open(expires=True)

    assert watch.take() == ([line(1)], False)


def test_the_end_of_a_watch_passes_but_not_before_what_is_held() -> None:
    assert held(Gate("pods", 9), Lines(1, ends=True))[0].take() == ([line(1)], True)
    assert held(Gate("pods", 1), Lines(1, ends=True))[0].take() == ([], False)


def test_a_closed_watch_is_forgotten() -> None:
    gate = Gate("pods", 1)
    watch, woken = held(gate, Lines(1))
    watch.take()
    watch.close()

    gate.open()

    assert not gate.holds
    assert woken == []


@pytest.mark.parametrize(("text", "version"), [(line(7), 7), (b'{"object":{"metadata":{}}}', 0), (EXPIRED_LINE, 0)])
def test_the_version_of_a_line_is_that_of_its_object(text: bytes, version: int) -> None:
    assert version_of(text) == version
