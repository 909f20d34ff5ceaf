# SPDX-License-Identifier: Apache-2.0
"""Requests that are made to be expensive, and the cost of one of them to the server's process.

Each is answered by the synchronous core of a new server in a new process, without a network. The CPU time of that
process and the peak growth of its memory are measured. A request that takes too long is ended. Linux only, because
other systems cannot measure a peak from a given moment on.
"""

from __future__ import annotations

import gc
import json
import os
import re
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from attacks import Attack, Skipped, check
from bombs import BOMBS, Bomb

from apimachinery.http import BODY_LIMIT, HTTPRequest, HTTPResponse
from apimachinery.system import SystemHost
from embedded_apiserver.server import APIServer

MOST_SECONDS = 1.0
"""Seconds of CPU time that one request may take."""

MOST_MEMORY = 64
"""MiB of memory that one request may take."""

MOST_SAID = 512
"""KiB that a refusal may have."""

_TRIES = 3  # the least CPU time counts, because the same request takes more on a busy machine
_LONGEST = 40  # seconds of CPU time after which a process is ended, preparation included
_LARGEST = 6 << 30  # bytes of memory that a process may have
_FAILED = -1  # stands for the status if the server failed on a request
_RESET = Path("/proc/self/clear_refs")


class Spent(NamedTuple):
    """The cost of one request."""

    status: int
    answered: int
    seconds: float
    mebibytes: float


def _peak() -> float:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


def _spent(bomb: Bomb) -> Spent:
    server = APIServer(SystemHost())
    for prepared in bomb.before():
        status, _ = _answer(server, prepared)
        assert status < 300, f"what it needs is refused with {status}"
    request = bomb.request()
    gc.collect()
    _RESET.write_text("5")  # resets the peak of the process's memory
    before, started = _peak(), time.process_time()
    status, answered = _answer(server, request)
    assert status != _FAILED, "the server failed"
    return Spent(status, answered, time.process_time() - started, _peak() - before)


def _answer(server: APIServer, request: HTTPRequest) -> tuple[int, int]:
    answer = server.handle(request, lambda: None)
    if isinstance(answer, HTTPResponse):
        if b'"InternalError"' in answer.body:
            return _FAILED, len(answer.body)
        headers = sum(len(name) + len(value) for name, value in answer.headers.items())
        return answer.status, len(answer.body) + headers
    lines, _ = answer.take()
    answer.close()
    return 200, sum(map(len, lines))


def _in_a_process(work: Callable[[], Spent]) -> Spent | None:
    """Return the result of `work` in a process of its own; None if that failed or had to be ended."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reader)
            resource.setrlimit(resource.RLIMIT_AS, (_LARGEST, _LARGEST))
            resource.setrlimit(resource.RLIMIT_CPU, (_LONGEST, _LONGEST))
            os.write(writer, json.dumps(work()).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as told:
        text = told.read()
    os.waitpid(child, 0)
    return Spent(*json.loads(text)) if text else None


def _attack(bomb: Bomb) -> Attack:
    def attack(place: Path) -> str:
        if not _RESET.exists():
            raise Skipped("the peak of a process's memory cannot be measured here")
        request = bomb.request()
        check(len(request.body) <= BODY_LIMIT, "the body is too long to be looked at")
        sent = len(request.body) + sum(len(name) + len(value) for name, value in request.query)
        tries = (_in_a_process(lambda: _spent(bomb)) for _ in range(_TRIES))
        spent = next((one for one in tries if one is None or one.seconds <= MOST_SECONDS), None)
        if spent is None:
            check(holds=False, otherwise=f"{sent:,} bytes sent, failed or took more than {MOST_SECONDS:g} s of CPU")
            raise AssertionError("unreachable")
        seen = (
            f"{sent:,} bytes sent, {spent.status} and {spent.answered:,} bytes answered, "
            f"{spent.seconds:.2f} s of CPU, {spent.mebibytes:.0f} MiB"
        )
        check(spent.mebibytes <= MOST_MEMORY, seen)
        check(spent.status < 400 or spent.answered <= MOST_SAID << 10, seen)
        return seen

    attack.__doc__ = bomb.name
    return attack


ATTACKS: tuple[Attack, ...] = tuple(map(_attack, BOMBS))
