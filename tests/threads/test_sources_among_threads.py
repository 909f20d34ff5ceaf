# SPDX-License-Identifier: Apache-2.0
"""Channels and credentials among real threads: no request is lost at a start, and one thread at a time asks."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import attrs
from kit.crowd import SECONDS, together

from apimachinery.objects import ObjectKey
from apimachinery.system import SystemHost
from controller_runtime.client.http.authorization import Authorization
from controller_runtime.client.http.credentials import Credential
from controller_runtime.controller.channel import Channel
from controller_runtime.queue.workqueue import WorkQueue

HANDS, ROUNDS, PUSHES = 4, 60, 5


@attrs.frozen
class Queued:
    """The part of an intake that a channel uses."""

    queue: WorkQueue[Any]


def test_no_request_is_lost_that_is_pushed_while_the_controller_starts() -> None:
    host, step = SystemHost(), threading.Barrier(HANDS + 1)
    channels = [Channel(host, capacity=1_000) for _ in range(ROUNDS)]
    queues: list[WorkQueue[Any]] = [WorkQueue(host) for _ in channels]

    def push(number: int) -> None:
        for channel in channels:
            step.wait(SECONDS)
            assert all(channel.push(ObjectKey(f"{number}-{each}")) for each in range(PUSHES))

    def start() -> None:
        for channel, queue in zip(channels, queues, strict=True):
            step.wait(SECONDS)
            intake: Any = Queued(queue)
            channel.attach(intake)

    together(*(partial(push, number) for number in range(HANDS)), start)

    assert [len(queue) for queue in queues] == [HANDS * PUSHES] * ROUNDS
    assert [channel.pushed for channel in channels] == [HANDS * PUSHES] * ROUNDS


class Rotated:
    """A source whose token changes with each question; it notes whether two threads ask at once."""

    is_followed, is_quick = True, True
    configuration = ssl_ca_cert = cert_file = key_file = None

    def __init__(self) -> None:
        self.asking, self.most, self.asked = 0, 0, 0
        self.source = self

    def ask(self) -> Credential:
        self.asking += 1
        self.most = max(self.most, self.asking)
        self.asked += 1
        found = Credential(f"Bearer {self.asked}")
        self.asking -= 1
        return found

    def give_up(self) -> None:
        """Do nothing."""


def test_one_thread_at_a_time_asks_for_credentials_and_a_refused_one_is_not_used_again() -> None:
    rotated: Any = Rotated()
    authorization, step = Authorization(SystemHost(), rotated), threading.Barrier(HANDS)

    def use() -> None:
        for _ in range(ROUNDS):
            step.wait(SECONDS)
            known = authorization.identity(float("inf"))
            step.wait(SECONDS)
            other = authorization.renewed(known, float("inf"))
            assert other is not None
            assert _number(other) > _number(known)

    together(*[use] * HANDS)

    assert rotated.most == 1
    assert rotated.asked <= 2 * ROUNDS * HANDS


def _number(identity: Any) -> int:
    return int(identity.credential.header.removeprefix("Bearer "))
