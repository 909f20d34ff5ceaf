# SPDX-License-Identifier: Apache-2.0
"""Packs the objects of one cache, and trains their dictionary on a thread of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import attrs

from apimachinery.host import Host, Thread
from apimachinery.log import get_logger
from apimachinery.objects import Cached
from apimachinery.stop import Stop, spawn
from controller_runtime.cache.compression import Compression, Training, trained
from controller_runtime.cache.large import LargeCache
from controller_runtime.cache.packed import PLAIN, Codec, Packed, is_plain, packed
from controller_runtime.cache.store import Store
from controller_runtime.core.memory import give_back

log = get_logger(__name__)

BATCH = 250
"""The number of objects that are replaced in a store at a time: readers then wait for at most about 0.5 ms."""

MANY = 1_000
"""The least number of replaced objects after which their memory is given back to the operating system."""

Exchange = Callable[[Iterable[tuple[Cached, Cached]]], None]


@attrs.frozen
class _PackingRun:
    stop: Stop
    program: Stop


class Packing:
    """Packs the objects of one cache for its store, and compresses them once there are enough of them.

    A separate thread trains a compression dictionary, then packs the objects in the store again where that makes them
    smaller. The others keep their form, and are read with the dictionary that they were packed with. The thread runs
    only while there is such work.

    Args:
        host: The source of threads and the lock.
        label: The name of the collection, for messages.
        compression: How objects are compressed; None if they are not.
        large: Warns of a store that takes much memory; None if nothing does.

    Attributes:
        thread: The last thread that was started; None before the first.

    Threads: `form` and `stored` from the one that writes the store; the other methods from any.
    """

    def __init__(
        self, host: Host, label: str, compression: Compression | None, large: LargeCache | None = None
    ) -> None:
        self._host = host
        self._large = large
        self._label = label
        self._compression = compression
        # Of the thread that writes the store.
        self._training = None if compression is None else Training(compression)
        self._store: Store | None = None
        self._is_ahead = False
        self.thread: Thread | None = None
        # Guards the fields below; no other lock is taken under it. A list that is ahead of its dictionary waits on it.
        self._condition = host.condition(f"packing of {label}")
        self._codec: Codec = PLAIN
        self._run: _PackingRun | None = None
        self._is_working = False
        # The work to be done: objects on which to train a dictionary, or none of them to pack again those in the store.
        self._due: Sequence[Cached] | None = None

    @property
    def codec(self) -> Codec:
        """The codec by which objects are packed now."""
        return self._codec  # one reference

    def follow(self, store: Store, exchange: Exchange, shared: Callable[[Cached], Cached | None]) -> None:
        """Set the store and the functions by which its objects are replaced; call it before `run`.

        Args:
            store: The store.
            exchange: Replaces objects of the store by other forms of them.
            shared: Returns an equal object of another store, or None.
        """
        self._store, self._exchange, self._shared = store, exchange, shared

    def run(self, stop: Stop, program: Stop) -> None:
        """Allow threads to start until `stop` is set. An exception on one fails `program`."""
        with self._condition:
            self._run = _PackingRun(stop, program)

    def form(self, cached: Cached, before: Cached | None, found: Cached | None) -> Cached:
        """Return the form in which the store keeps an object.

        Args:
            cached: The object.
            before: The previous state of the object, whose key is reused; None if there is none.
            found: The equal object of another store, which is used unless a smaller form is possible here; or None.
        """
        codec = self._codec  # one reference
        kept = found
        if kept is None or (is_plain(kept) and codec is not PLAIN):
            kept = packed(cached, codec, before)
        if found is not None and is_plain(kept):
            kept = found
        if self._training is not None and isinstance(kept, Packed):
            is_due = self._training.note(kept, cached, before, codec)
            # Two references, without the lock: what is due while the thread works is asked for again later.
            is_busy = self._is_working or self._due is not None
            if is_due and not is_busy and self._training.is_large(self._held()):
                self._ask(self._training.samples())
                is_busy = True
            self._is_ahead = is_busy and codec is PLAIN and self._held() is None
        return kept

    def stored(self) -> None:
        """Report that all objects returned by `form` are in the store, so that uncompressed ones can be packed."""
        # The codec is one reference. The thread that sets it misses objects that were formed before and stored after.
        if self._codec is not PLAIN and self._training is not None and self._training.had_none():
            self._ask(())
        if self._due is not None:  # one reference
            self.start_if_due()
        if self._large is not None and self._store is not None and self._store.sizes.held > self._large.bound:
            self._warn_if_large(self._store, self._large)

    def _warn_if_large(self, store: Store, large: LargeCache) -> None:
        """Warn of the store once; while objects are packed again, only afterwards, when fewer bytes may be left."""
        with self._condition:
            sizes, codec = store.sizes, self._codec
            is_due = not self._is_working and large.is_due(sizes)
        if is_due:
            large.tell(sizes, len(store), is_compressed=codec is not PLAIN)

    def _held(self) -> int | None:
        """Return the bytes of JSON in the store; None before it is filled."""
        return None if self._store is None or not self._store.filled else self._store.sizes.json

    def _ask(self, samples: Sequence[Cached]) -> None:
        with self._condition:
            self._due = samples or self._due or ()

    def start_if_due(self) -> None:
        """Start the thread if there is work for it and it is not running. The caller must not hold a lock."""
        if self._due is None:  # one reference; work that comes at this instant is followed by another call
            return
        with self._condition:
            run = self._run
            if run is None or run.stop.is_set() or self._is_working:
                return
            self._is_working = True
        self.thread = spawn(self._host, run.program, f"packing/{self._label}", lambda: self._work(run.stop))

    def wait_if_ahead(self) -> None:
        """During a first list, wait until the training of a dictionary has ended. The caller must not hold a lock.

        Otherwise a fast list would fill the store with uncompressed objects, which need several times the memory.
        Training takes 0.1 s.
        """
        if not self._is_ahead:
            return
        with self._condition:
            # Looked at once a second, too: a thread that failed notifies nobody, and its failure stops the program.
            while self._run is not None and not self._run.stop.is_set() and self._is_working and self._codec is PLAIN:
                self._condition.wait_until(self._host.monotonic() + 1.0)

    def _work(self, stop: Stop) -> None:
        while (samples := self._next(stop)) is not None:
            if samples:
                self._train(samples)
            exchanged = self._pack_again(stop)
            if samples or exchanged > MANY:  # a training needs some 12 MiB, whatever its samples
                give_back()
        if self._large is not None and self._store is not None:
            self._warn_if_large(self._store, self._large)

    def _next(self, stop: Stop) -> Sequence[Cached] | None:
        with self._condition:
            due, self._due = self._due, None
            if stop.is_set():
                due = None
            self._is_working = due is not None
            self._condition.notify_all()
        return due

    def _train(self, samples: Sequence[Cached]) -> None:
        assert self._compression is not None, "nothing asks for a dictionary without compression"
        codec = trained([cached.raw for cached in samples], self._compression)
        if codec is None:
            log.debug("no dictionary can be trained on these objects", collection=self._label, objects=len(samples))
            return
        with self._condition:
            self._codec = codec

    def _pack_again(self, stop: Stop) -> int:
        assert self._store is not None, "a thread is started after `follow`"
        codec = self._codec  # one reference, which this thread alone replaces
        objects, exchanged = self._store.list(), 0
        while objects and codec is not PLAIN and not stop.is_set():
            batch = objects[-BATCH:]
            del objects[-BATCH:]  # or the old forms would stay until the end
            pairs = [(old, new) for old in batch if (new := self._smaller(old, codec)) is not None]
            if pairs:
                self._exchange(pairs)
                exchanged += len(pairs)
        return exchanged

    def _smaller(self, old: Cached, codec: Codec) -> Cached | None:
        """Return a smaller form of an object: that of another store, or one by the codec; None if there is none."""
        if not isinstance(old, Packed) or old.codec is codec:
            return None
        found = self._shared(old)
        new = found if found is not None and not is_plain(found) else packed(old, codec, old)
        return new if isinstance(new, Packed) and len(new.body) < len(old.body) else None
