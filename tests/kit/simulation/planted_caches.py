# SPDX-License-Identifier: Apache-2.0
"""Reflectors and stores with planted errors, which the simulation must find."""

from __future__ import annotations

from collections.abc import Iterator

from apimachinery.errors import ControllerRuntimeError, Expired
from apimachinery.objects import Cached, PlainKey
from controller_runtime.cache.forms import Sharing, alone
from controller_runtime.cache.reflector import Reflector
from controller_runtime.cache.state import Resuming, Watching
from controller_runtime.cache.store import Delta, Store
from controller_runtime.client.decoding import Undecodable, WatchEvent


class ResumesFromItsList(Reflector):
    """Resumes a watch at the version of the last list, so that it receives changes twice."""

    def _take(self, events: Iterator[WatchEvent | Undecodable]) -> None:
        was_watching = isinstance(self.state, Watching)
        before = self._version
        super()._take(events)
        if was_watching:
            self._version = before


class ForgetsWhatWasMissed(Reflector):
    """Resumes an expired watch at the present version without a list, so that it misses changes."""

    def _recover(self, error: ControllerRuntimeError) -> float:
        if not isinstance(error, Expired) or not isinstance(self.state, Resuming | Watching):
            return super()._recover(error)
        self._version = self._source.list("").version
        self._enter(Resuming())
        return 0.0


class BelievesInItsVersion(Reflector):
    """Never asks for the most recent state, so it waits for versions that a restored server has lost."""

    def _version_to_ask(self) -> str:
        return self._version or "0"


class TellsOfNoDeletions(Store):
    """Reports no deletions that it learns of from a list."""

    def replace(self, objects: dict[PlainKey, Cached], version: str, sharing: Sharing = alone) -> list[Delta]:
        return [delta for delta in super().replace(objects, version, sharing) if delta.new is not None]
