# SPDX-License-Identifier: Apache-2.0
"""Requests made to be expensive, each against an embedded server of its own: what the server's process spends on it.

    python tests/attack/bounds.py [PART_OF_A_NAME…]

prints a line for each: name, bytes sent, status, bytes answered, seconds of CPU, MiB that the
process grew by at its peak, and whether that stays within the bounds. Ends with 1 if one does not.
A request that goes on for too long is ended, and counts as broken. The core is asked in the
process, without a network. Linux only, for that is where a peak can be reset.
"""

from __future__ import annotations

import gc
import json
import os
import re
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from controller_runtime.api.http import BODY_LIMIT, HTTPRequest, HTTPResponse
from controller_runtime.apiserver.server import APIServer
from controller_runtime.core.system import SystemHost

sys.path.insert(0, str(Path(__file__).parent))

from bombs import BOMBS, Bomb

MOST_SECONDS = 1.0  # of CPU
MOST_MEMORY = 64  # MiB
_GIVES_UP = 20  # seconds of CPU after which a request is ended


class Spent(NamedTuple):
    """What one request cost."""

    status: int
    answered: int
    seconds: float
    mebibytes: float


def _peak() -> float:
    status = Path("/proc/self/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None
    return int(found[1]) / 1024


def _spent(bomb: Bomb) -> Spent:
    server = APIServer(SystemHost())
    for prepared in bomb.before():
        status, _ = _answer(server, prepared)
        assert status < 300, f"{bomb.name}: what it needs is refused with {status}"
    request = bomb.request()
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is from now on
    before, started = _peak(), time.process_time()
    status, answered = _answer(server, request)
    return Spent(status, answered, time.process_time() - started, _peak() - before)


def _answer(server: APIServer, request: HTTPRequest) -> tuple[int, int]:
    answer = server.handle(request, lambda: None)
    if isinstance(answer, HTTPResponse):
        headers = sum(len(name) + len(value) for name, value in answer.headers.items())
        return answer.status, len(answer.body) + headers
    lines, _ = answer.take()
    answer.close()
    return 200, sum(map(len, lines))


def _in_a_process(work: Callable[[], Spent]) -> Spent | None:
    """What `work` answers in a process of its own; None if it had to be ended."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reader)
            resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
            resource.setrlimit(resource.RLIMIT_CPU, (_GIVES_UP * 2, _GIVES_UP * 2))
            os.write(writer, json.dumps(work()).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as told:
        text = told.read()
    os.waitpid(child, 0)
    return Spent(*json.loads(text)) if text else None


def main(wanted: list[str]) -> int:
    """Try the bombs whose names have one of the words in them, or all; how many went too far."""
    broken = 0
    print(f"{'attack':46} {'sent':>9} {'status':>6} {'answered':>10} {'CPU s':>7} {'MiB':>6}")
    for bomb in BOMBS:
        if wanted and not any(word in bomb.name for word in wanted):
            continue
        sent = len(bomb.request().body) + sum(len(value) for _, value in bomb.request().query)
        assert len(bomb.request().body) <= BODY_LIMIT, bomb.name
        spent = _in_a_process(lambda bomb=bomb: _spent(bomb))
        held = spent is not None and spent.seconds <= MOST_SECONDS and spent.mebibytes <= MOST_MEMORY
        broken += not held
        told = (
            f"{spent.status:6} {spent.answered:10} {spent.seconds:7.2f} {spent.mebibytes:6.0f}" if spent else " ended"
        )
        print(f"{bomb.name:46} {sent:9} {told:32} {'held' if held else 'BROKEN'}", flush=True)
    print(f"{broken} broken")
    return broken


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
