# SPDX-License-Identifier: Apache-2.0
"""Compression of the objects of one collection, with a dictionary that is trained on the collection's own objects.

Zstandard with such a dictionary makes a pod of 4.6 KB as small as 200 to 450 bytes, and needs some 10 µs to compress
and 4 µs to decompress it. This module decides and computes; `packing.py` has the threads.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import attrs

from apimachinery.errors import DecodeError
from controller_runtime.cache.packed import PLAIN, Codec
from controller_runtime.core.extras import needed_by

if TYPE_CHECKING:
    from apimachinery.objects import Cached
    from controller_runtime.cache.packed import Packed

_LONGEST_SAMPLE = 16 * 1024
"""Bytes of an object that train a dictionary. More of a large object would take its share from the others, since
training takes time in proportion to all bytes."""

_WORTH = 0.875
"""An object is kept as it is if its compressed form would have more than this share of its bytes."""

_LEAST_DICTIONARY, _SAMPLES_PER_DICTIONARY = 1024, 8
"""The least bytes of a dictionary, and the least ratio between the bytes of its samples and its own."""

MOST_WINDOWS = 64
"""The most by which repeated trainings lengthen the window, as a multiple of the first window; see `Ratio`."""


@attrs.frozen(kw_only=True)
class Compression:
    """The parameters of a compressed cache. It is a value, which can be shared.

    Attributes:
        size: A collection is compressed once its objects have this many bytes of JSON. The default, 4 MiB, is about six
            times the 0.7 MiB that a dictionary with its tables and contexts takes in memory.
        samples: The number of objects on which a dictionary is trained. Twice as many made objects 1 % smaller, and
            took three times as long.
        dictionary: The most bytes of a dictionary. With half of the default, 64 KiB, objects are as small only as long
            as all of them are alike.
        level: The compression level of Zstandard. Level 6 took five times as long as 3, and made objects no smaller.
        window: The number of compressed objects after which a dictionary is evaluated; see `Ratio`.
        tolerance: A new dictionary is trained once the compressed share of objects has grown by this factor.

    Raises:
        ValueError: A number is not positive (`size` may be 0), or `tolerance` is not above 1.
    """

    size: int = attrs.field(default=4 * 1024**2, validator=attrs.validators.ge(0))
    samples: int = attrs.field(default=250, validator=attrs.validators.gt(0))
    dictionary: int = attrs.field(default=64 * 1024, validator=attrs.validators.gt(0))
    level: int = attrs.field(default=3, validator=attrs.validators.gt(0))
    window: int = attrs.field(default=1_000, validator=attrs.validators.gt(0))
    tolerance: float = attrs.field(default=1.25, validator=attrs.validators.gt(1))


def compression_of(compress: bool | Compression | None) -> Compression | None:
    """Return the parameters of compression for a `CacheOptions.compress`; None for no compression.

    Raises:
        UsageError: Compression is asked for, and `zstandard` is not installed.
    """
    if compress is False:
        return None
    if compress is None:
        return Compression() if importlib.util.find_spec("zstandard") is not None else None
    _zstandard()
    return Compression(size=0) if compress is True else compress


def _zstandard() -> Any:
    with needed_by("a compressed cache"):
        import zstandard
    return zstandard


class Zstandard:
    """Compresses objects with one dictionary.

    A frame names its dictionary by a hash, so that unpacking with another dictionary fails, and cannot give other data.

    Args:
        dictionary: The dictionary, as trained.
        level: The level of compression.

    Threads: any. Each call takes an idle context of the library, or makes one, and puts it back.
    """

    def __init__(self, dictionary: bytes, level: int) -> None:
        self._module = module = _zstandard()
        self._level = level
        self._dictionary = module.ZstdCompressionDict(dictionary)
        self._dictionary.precompute_compress(level=level)
        # Idle contexts. `pop` and `append` of a list are whole, so they need no lock.
        self._compressors: list[Any] = []
        self._decompressors: list[Any] = []

    def pack(self, raw: bytes) -> bytes | None:
        """Return the compressed form of `raw`; None if it would not be much smaller."""
        try:
            compressor = self._compressors.pop()
        except IndexError:
            compressor = self._module.ZstdCompressor(level=self._level, dict_data=self._dictionary)
        found: bytes = compressor.compress(raw)
        self._compressors.append(compressor)
        return found if len(found) <= len(raw) * _WORTH else None

    def unpack(self, payload: memoryview) -> bytes:
        """Return the original bytes of a compressed payload.

        Raises:
            DecodeError: The payload is damaged, or was compressed with another dictionary.
        """
        try:
            decompressor = self._decompressors.pop()
        except IndexError:
            decompressor = self._module.ZstdDecompressor(dict_data=self._dictionary)
        try:
            found: bytes = decompressor.decompress(payload)
        except self._module.ZstdError as error:
            raise DecodeError(f"its compressed form in the cache cannot be read: {error}") from error
        self._decompressors.append(decompressor)
        return found

    def size(self, payload: memoryview) -> int:
        """Return the number of original bytes of a compressed payload, as its header states."""
        size: int = self._module.frame_content_size(payload)
        return size


def trained(samples: Sequence[bytes], compression: Compression) -> Zstandard | None:
    """Return a codec with a dictionary trained on `samples`; None if they are too few or too small to train one."""
    module = _zstandard()
    parts = [sample[:_LONGEST_SAMPLE] for sample in samples]
    size = sum(map(len, parts))
    most = min(compression.dictionary, max(_LEAST_DICTIONARY, size // _SAMPLES_PER_DICTIONARY))
    try:
        dictionary = module.train_dictionary(most, parts, level=compression.level)
    except module.ZstdError:
        return None
    return Zstandard(dictionary.as_bytes(), compression.level)


@attrs.define
class Samples:
    """A sample of objects, spread evenly over all objects that were added, to train a dictionary on. Threads: one.

    Attributes:
        wanted: How many objects a dictionary needs.
        seen: The number of objects that were added.
    """

    wanted: int
    seen: int = 0
    _stride: int = 1
    _kept: list[Cached] = attrs.field(factory=list)

    def add(self, cached: Cached) -> None:
        """Count an object, and keep each n-th one as a sample; n doubles when too many samples have been kept."""
        if self.seen % self._stride == 0:
            self._kept.append(cached)
        self.seen += 1
        if len(self._kept) >= 2 * self.wanted:
            del self._kept[1::2]
            self._stride *= 2

    def take(self) -> list[Cached]:
        """Return the kept objects, at least `wanted` if so many were added, and start again without any."""
        found, self._kept = self._kept, []
        self.seen, self._stride = 0, 1
        return found


@attrs.define
class Ratio:
    """Decides when a dictionary no longer fits: when a window of objects compresses worse than its first window.

    A window is a number of objects in a row. Each training doubles it, up to `MOST_WINDOWS` times the first one. So
    objects that no dictionary compresses well cost ever fewer trainings.

    Attributes:
        window: The number of objects after which the dictionary is evaluated.
        tolerance: The factor by which the compressed share of the bytes may grow.

    Threads: one.
    """

    window: int
    tolerance: float
    _trainings: int = 0
    _first: float | None = None
    _objects: int = 0
    _raw: int = 0
    _packed: int = 0

    def note(self, raw: int, packed: int) -> bool:
        """Count one object, with its bytes before and after compression; return True if a new dictionary is needed."""
        self._objects += 1
        self._raw += raw
        self._packed += packed
        if self._objects < self.window * min(1 << self._trainings, MOST_WINDOWS):
            return False
        share, self._objects, self._raw, self._packed = self._packed / max(self._raw, 1), 0, 0, 0
        if self._first is None:
            self._first = share
        return share > self._first * self.tolerance

    def trained(self) -> None:
        """Double the window, because a dictionary was trained. It is evaluated from the call of `restart` on."""
        self._trainings += 1
        self.restart()

    def restart(self) -> None:
        """Begin to measure the first window of a new dictionary."""
        self._first, self._objects, self._raw, self._packed = None, 0, 0, 0


class Training:
    """Decides when a new dictionary is trained, from the objects that are added to a store.

    Args:
        compression: The parameters.

    Threads: the one that writes to the store.
    """

    def __init__(self, compression: Compression) -> None:
        self._compression = compression
        self._samples = Samples(compression.samples)
        self._ratio = Ratio(compression.window, compression.tolerance)
        self._codec: Codec = PLAIN
        # The JSON by which the collection has grown, that from which it is compressed, and the objects until then.
        self._grown, self._bound = 0, compression.size
        self._plain = 0

    def note(self, kept: Packed, cached: Cached, before: Cached | None, codec: Codec) -> bool:
        """Count an object that is stored, and return True if a dictionary may be needed; `is_large` decides then.

        Args:
            kept: The object in the form in which it is stored.
            cached: The object.
            before: The previous state of the object; None if there is none.
            codec: The codec by which objects are packed now.
        """
        self._samples.add(kept)
        if codec is not self._codec:
            self._codec = codec
            self._ratio.restart()
        if codec is PLAIN:
            self._plain += 1
            self._grown += cached.size - (0 if before is None else before.size)
            is_due = self._grown >= self._bound
        else:
            is_due = self._ratio.note(cached.size, len(kept.body))
        return is_due and self._samples.seen >= self._compression.samples

    def is_large(self, held: int | None) -> bool:
        """Return whether the collection is large enough for its own compression dictionary.

        Args:
            held: The JSON size of the stored objects in bytes. None before the first list is complete; then the objects
                that were added so far are counted, since none of them has been removed yet.
        """
        if self._codec is PLAIN and held is not None:
            self._grown = held
        return self._codec is not PLAIN or self._grown >= self._bound

    def samples(self) -> list[Cached]:
        """Return the objects to train a dictionary on.

        If the training fails, the next one is tried at twice the size.
        """
        self._bound = max(2 * self._grown, 1)
        self._ratio.trained()
        return self._samples.take()

    def had_none(self) -> bool:
        """Return whether any object was added since the last call while there was no dictionary."""
        plain, self._plain = self._plain, 0
        return plain > 0
