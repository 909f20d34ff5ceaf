# SPDX-License-Identifier: Apache-2.0
"""The record of reserved deletions on the server: a ConfigMap that all replicas of a program share."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import attrs

from apimachinery.errors import AlreadyExists, Conflict, ConnectionLost, NotFound
from apimachinery.host import Host
from apimachinery.objects import ObjectKey
from controller_runtime.api.builtin_resources import CONFIG_MAPS
from controller_runtime.api.codec import decoder_for
from controller_runtime.client.client import Client
from controller_runtime.deletions.budget import DeletionBudget, DeletionBudgetExceeded
from controller_runtime.deletions.opening import OPEN, openings
from controller_runtime.deletions.window import Opened, WantedDeletions, Window, decide, needs_total

LABEL = "controller-runtime/deletions"
"""The label of the records, by which people can find them."""

FRESH = 5.0
"""Seconds for which a record that was read is used to refuse deletions. So an opening by hand takes at most so long to
have an effect, and many refused deletions do not read the record more often.
"""

_FLAGS = "opened-by-flags"


@attrs.frozen
class Want:
    """The deletions that a request needs of one budget.

    Attributes:
        budget: The budget.
        wanted: The deletions that it would cause.
        total: Returns the number of all objects of the kind; None if they cannot be counted.
    """

    budget: DeletionBudget
    wanted: WantedDeletions
    total: Callable[[], int | None]


@attrs.frozen
class Refusal:
    """A refused reservation: the budget that does not allow it, and why.

    Attributes:
        want: The deletions that were asked for.
        window: The deletions that count now.
        total: The number of objects of the kind; None if unknown.
    """

    want: Want
    window: Window
    total: int | None


class BudgetRecord:
    """Reserves deletions in a ConfigMap that all replicas share, one request at a time in each process.

    A reservation updates exactly the version that was read; if another replica was first, it is read again. An update
    of unknown outcome may have reserved deletions that are never sent.

    Args:
        host: The source of the time.
        client: Sends the requests.
        key: The key of the ConfigMap.
        flag: Returns the text of `--open-deletions`, by which budgets are opened at the start; see `opening`.

    Attributes:
        key: As given.

    Threads: any.
    """

    def __init__(self, host: Host, client: Client, key: ObjectKey, flag: Callable[[], str]) -> None:
        self._host, self._client, self.key, self._flag = host, client, key, flag
        self._decode = decoder_for(dict, CONFIG_MAPS)
        # Guards the field below; requests wait on it.
        self._condition = host.condition("record of deletions")
        self._is_taken = False
        # The fields below belong to the thread that has taken the record.
        self._known: dict[str, Any] | None = None
        self._is_current = False  # False: it has to be read before it is written again
        self._read_at = -float("inf")

    def reserve(self, wants: list[Want], deadline: float) -> Refusal | None:
        """Reserve all deletions of a request and return None; or reserve nothing, and return the refusal of the first
        budget that does not allow them.

        Args:
            wants: The deletions of the request, by budget, each budget once.
            deadline: The deadline in absolute monotonic seconds.

        Raises:
            ConnectionLost: The deadline passed, or an answer was lost.
            DeletionBudgetExceeded: The content of the record is malformed.
            APIError: The server refuses to read or to write the record.
        """
        self._take(deadline)
        try:
            return self._reserve(wants, deadline)
        finally:
            with self._condition:
                self._is_taken = False
                self._condition.notify_all()

    def windows(self, budgets: Mapping[str, DeletionBudget]) -> dict[str, Window]:
        """Return, for each budget, the deletions that count against it now, as this process last read them.

        Other replicas may have reserved more since then. If the content of the record is malformed, all windows are
        empty here.
        """
        now = self._host.now().timestamp()
        try:
            return {name: self._window(self._known, name).at(now, each.seconds) for name, each in budgets.items()}
        except DeletionBudgetExceeded:  # it was edited by hand: the next deletion is refused, and says so
            return {name: Window() for name in budgets}

    def _take(self, deadline: float) -> None:
        with self._condition:
            while self._is_taken and self._host.monotonic() < deadline:
                self._condition.wait_until(deadline)
            if self._is_taken:
                raise ConnectionLost(f"a deletion was not sent: others held the record {self.key} past its deadline")
            self._is_taken = True

    def _reserve(self, wants: list[Want], deadline: float) -> Refusal | None:
        client = self._client.until(deadline)
        if not self._is_current:
            self._read(client)
        while True:
            windows, refusal = self._decided(wants, deadline)
            if refusal is not None:
                if self._host.monotonic() - self._read_at <= FRESH:
                    return refusal
                self._read(client)
                continue
            self._is_current = False  # until the answer comes: without one the outcome is not known
            try:
                self._write(client, windows)
            except (Conflict, AlreadyExists):  # another replica was quicker
                self._read(client)
                continue
            except NotFound:
                if "resourceVersion" not in (self._known or {}).get("metadata", {}):
                    raise  # its namespace does not exist
                self._known = self._with_known({})
                continue
            self._is_current, self._read_at = True, self._host.monotonic()
            return None

    def _decided(self, wants: list[Want], deadline: float) -> tuple[dict[str, Window], Refusal | None]:
        """Return the windows to write, those of openings among them; or the first refusal."""
        now = self._host.now().timestamp()
        until = now + deadline - self._host.monotonic()
        windows = self._opened(now)
        for want in wants:
            budget = want.budget
            window = (windows.get(budget.name) or self._window(self._known, budget.name)).at(now, budget.seconds)
            total = want.total() if needs_total(window, budget, now) else None
            found = decide(window, budget, want.wanted, until, total)
            if found is None:
                return {}, Refusal(want, window, total)
            windows[budget.name] = found
        return windows, None

    def _opened(self, now: float) -> dict[str, Window]:
        """Return the windows with openings by the annotation, or by the flag if that was not seen before."""
        metadata = (self._known or {}).get("metadata", {})
        texts = [(metadata.get("annotations") or {}).get(OPEN, "")]
        if (flag := self._flag()) not in self._flags():
            texts.append(flag)
        windows: dict[str, Window] = {}
        for name, count in (each for text in texts for each in openings(text)):
            window = windows.get(name) or self._window(self._known, name)
            windows[name] = attrs.evolve(window, opened=(*window.opened, Opened(now, count)))
        return windows

    def _flags(self) -> list[str]:
        return str(((self._known or {}).get("data") or {}).get(_FLAGS, "")).split("\n")

    def _window(self, known: Mapping[str, Any] | None, name: str) -> Window:
        text = ((known or {}).get("data") or {}).get(name)
        try:
            return Window() if text is None else Window.decoded(json.loads(text))
        except ValueError as error:
            raise DeletionBudgetExceeded(
                f"the record of deletions, configmaps {self.key}, cannot be read: {error}; delete it to begin anew"
            ) from None

    def _read(self, client: Client) -> None:
        try:
            found = client.get(CONFIG_MAPS, self.key, dict)
        except NotFound:
            found = {}
        self._known = self._with_known(found)
        self._is_current, self._read_at = True, self._host.monotonic()

    def _with_known(self, found: dict[str, Any]) -> dict[str, Any]:
        """Return a record that was read; if the one that was known was deleted, with the reservations of that.

        So the deletion of the record, by whatever program, opens nothing as long as this process lives.
        """
        known = self._known or {}
        if not known or known["metadata"].get("uid") == found.get("metadata", {}).get("uid"):
            return found
        data = dict(found.get("data") or {})
        for name in (known.get("data") or {}).keys() - {_FLAGS}:
            before, after = self._window(known, name), self._window(found, name)
            together = sorted({*before.reserved, *after.reserved}, key=lambda each: each.until)
            data[name] = json.dumps(attrs.evolve(after, reserved=tuple(together)).encoded())
        return {**found, "data": data}

    def _write(self, client: Client, windows: Mapping[str, Window]) -> None:
        known = self._known or {}
        metadata = {**known.get("metadata", {}), "name": self.key.name, "namespace": self.key.namespace}
        metadata["labels"] = {**(metadata.get("labels") or {}), LABEL: "record"}
        annotations = metadata.get("annotations") or {}
        data = {**(known.get("data") or {}), **{name: json.dumps(each.encoded()) for name, each in windows.items()}}
        metadata["annotations"] = {name: value for name, value in annotations.items() if name != OPEN}
        if (flag := self._flag()) not in self._flags():
            data[_FLAGS] = "\n".join([*self._flags(), flag])
        body = {**known, "metadata": metadata, "data": data}
        is_new = "resourceVersion" not in metadata
        written = client.create(CONFIG_MAPS, body) if is_new else client.update(CONFIG_MAPS, body)
        self._known = self._decode(written.raw)
