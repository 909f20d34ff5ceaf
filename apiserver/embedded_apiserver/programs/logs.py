# SPDX-License-Identifier: Apache-2.0
"""The logs of containers: lines with their times, read whole or followed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import attrs

from apimachinery.host import Host
from embedded_apiserver.objects import part

LIMIT = 10 * 1024 * 1024
"""The most bytes of one log. Beyond them the oldest lines are dropped; a real kubelet begins a new file then."""


class Line(NamedTuple):
    """A line of a log, and the time when it was written."""

    time: datetime
    text: bytes


@attrs.frozen
class LogQuery:
    """The parameters of a request for a log.

    Attributes:
        follow: True to continue with new lines.
        previous: True for the log of the container before its last restart.
        since: The time from which lines are returned; None for all lines.
        tail: The maximum number of lines from the end, counted before `since` is applied; None for all lines.
        limit: The maximum number of bytes; None for no limit.
        timestamps: True to begin each line with its time.
    """

    follow: bool = False
    previous: bool = False
    since: datetime | None = None
    tail: int | None = None
    limit: int | None = None
    timestamps: bool = False

    def select(self, lines: Iterable[Line]) -> list[bytes]:
        """Return the requested lines in the form for clients. `limit` is not applied."""
        chosen = list(lines)
        if self.tail is not None:
            chosen = chosen[len(chosen) - min(self.tail, len(chosen)) :]
        return [self.shown(line) for line in chosen if self.since is None or line.time >= self.since]

    def shown(self, line: Line) -> bytes:
        """Return a line in the form for clients, with a line feed and, if requested, its time."""
        if not self.timestamps:
            return line.text + b"\n"
        return line.time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z ").encode() + line.text + b"\n"


class _Log:
    """The log of one run of a container. The lock of `Logs` guards it."""

    def __init__(self) -> None:
        self.lines: deque[Line] = deque()
        self.size = self.dropped = 0
        self.is_over = False
        self.followers: dict[LogWatch, None] = {}

    def add(self, line: Line) -> None:
        self.lines.append(line)
        self.size += len(line.text)
        while self.size > LIMIT and len(self.lines) > 1:
            self.size -= len(self.lines.popleft().text)
            self.dropped += 1

    def after(self, position: int) -> list[Line]:
        """Return the lines from a position on, counted from the first that was ever written."""
        return [self.lines[index] for index in range(max(0, position - self.dropped), len(self.lines))]

    @property
    def end(self) -> int:
        """The position of the next line."""
        return self.dropped + len(self.lines)


class Logs:
    """The logs of a server's containers, by pod, container and number of restarts.

    Threads: any.
    """

    def __init__(self, host: Host) -> None:
        self._host = host
        # Guards all logs.
        self._lock = host.lock("logs")
        self._logs: dict[str, dict[tuple[str, int], _Log]] = {}

    @property
    def pods(self) -> frozenset[str]:
        """The uids of pods that have logs."""
        with self._lock:
            return frozenset(self._logs)

    def write(self, pod: Mapping[str, Any], container: str, text: str) -> None:
        """Append lines to the log of a pod's container, with the current time."""
        now = self._host.now()
        with self._lock:
            log = self._log(pod, container)
            for line in text.splitlines() or [""]:
                log.add(Line(now, line.encode()))
            followers = [*log.followers]
        for each in followers:
            each.on_ready()

    def has(self, pod: Mapping[str, Any], container: str, *, previous: bool = False) -> bool:
        """Return whether the current or, with `previous`, the previous run of a container has a log."""
        with self._lock:
            return (container, _restarts(pod, container) - previous) in self._logs.get(pod["metadata"]["uid"], {})

    def read(self, pod: Mapping[str, Any], container: str, query: LogQuery) -> bytes:
        """Return the requested part of a container's log."""
        with self._lock:
            text = b"".join(query.select(self._log(pod, container, previous=query.previous).lines))
        return text[: query.limit]

    def follow(self, pod: Mapping[str, Any], container: str, query: LogQuery, on_ready: Callable[[], None]) -> LogWatch:
        """Return a watch with the requested part of a container's log and all new lines, until `end` for its pod."""
        with self._lock:
            log = self._log(pod, container, previous=query.previous)
            watch = LogWatch(self, log, query, on_ready)
            log.followers[watch] = None
            return watch

    def end(self, uid: str, *, forget: bool) -> None:
        """End the logs of a pod, so that their watches end. With `forget`, also delete them."""
        with self._lock:
            logs = self._logs.pop(uid, {}) if forget else self._logs.get(uid, {})
            followers: list[LogWatch] = []
            for log in logs.values():
                log.is_over = True
                followers += log.followers
        for each in followers:
            each.on_ready()

    def take(self, watch: LogWatch, log: _Log, limit: int) -> tuple[list[Line], bool]:
        """Return at most `limit` new lines for a watch, and True if the log ends after them."""
        with self._lock:
            found = log.after(watch.position)[:limit]
            watch.position = max(watch.position, log.dropped) + len(found)
            return found, log.is_over and watch.position >= log.end

    def leave(self, watch: LogWatch, log: _Log) -> None:
        """Remove a watch of a log. Idempotent."""
        with self._lock:
            log.followers.pop(watch, None)

    def _log(self, pod: Mapping[str, Any], container: str, *, previous: bool = False) -> _Log:
        logs = self._logs.setdefault(pod["metadata"]["uid"], {})
        return logs.setdefault((container, _restarts(pod, container) - previous), _Log())


class LogWatch:
    """A watch of a log: an `http.Watch` with the log's lines. Threads: one reads."""

    def __init__(self, logs: Logs, log: _Log, query: LogQuery, on_ready: Callable[[], None]) -> None:
        self.headers: Mapping[str, str] = {"content-type": "text/plain; charset=utf-8"}
        self.on_ready = on_ready
        self.position = log.end
        self._logs, self._log, self._query = logs, log, query
        self._first = query.select(log.lines)
        self._left = query.limit

    def take(self, limit: int = 64) -> tuple[list[bytes], bool]:
        """Return the next lines; see `http.Watch.take`. The last line is truncated if it exceeds the requested number
        of bytes.
        """
        if self._first:
            taken, self._first = self._first[:limit], self._first[limit:]
            return self._bounded(taken, is_over=False)
        lines, is_over = self._logs.take(self, self._log, limit)
        return self._bounded([self._query.shown(line) for line in lines], is_over=is_over)

    def next_wake(self) -> float | None:
        """Return None, because `on_ready` announces each line."""
        return None

    def close(self) -> None:
        """End the watch. Idempotent."""
        self._logs.leave(self, self._log)

    def _bounded(self, lines: list[bytes], *, is_over: bool) -> tuple[list[bytes], bool]:
        if self._left is None:
            return lines, is_over
        bounded: list[bytes] = []
        for line in lines:
            if self._left:
                bounded.append(line[: self._left])
                self._left -= len(bounded[-1])
        return bounded, is_over or not self._left


def _restarts(pod: Mapping[str, Any], container: str) -> int:
    status = part(pod, "status")
    for name in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for one in status.get(name) or ():
            if one.get("name") == container:
                return int(one.get("restartCount") or 0)
    return 0
