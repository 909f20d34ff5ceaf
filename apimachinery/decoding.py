# SPDX-License-Identifier: Apache-2.0
"""Functions that read values as classes, each made while no other thread makes one.

msgspec reads the annotations of a class when it is first named as a type, and lets other threads see what it has read
so far: a second thread that names the class meanwhile gets a decoder whose fields have no types, and the process dies
of a segmentation fault (msgspec 0.22 and before, on builds with the GIL). Modules name their classes while they are
imported, or through these functions; a function that runs later never calls `msgspec.json.Decoder`, `msgspec.convert`
or `msgspec.json.decode(type=…)` with a class of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from apimachinery.system import SystemHost

T = TypeVar("T")

# Guards what msgspec keeps at the classes. A lock of the process rather than of a host, since hosts share the classes;
# nothing waits for a host while it is held.
_making = SystemHost.lock("api/decoding")


def decoder_of(shape: type[T] | Any, dec_hook: Callable[[type, Any], Any] | None = None) -> Callable[[bytes], T]:
    """Return a function that decodes JSON into values of the type `shape`.

    Args:
        shape: The type of the results: a class, or an annotation such as `list[Operation]`.
        dec_hook: A function that decodes types unknown to msgspec, as for `msgspec.json.Decoder`.

    Raises:
        TypeError: msgspec cannot decode into `shape`.
        NameError: An annotation names a class that is local to a function.

    Threads: any, also for the returned function.
    """
    with _making:
        return msgspec.json.Decoder(shape, dec_hook=dec_hook).decode


def converter_of(shape: type[T] | Any, *, from_attributes: bool = False) -> Callable[[Any], T]:
    """Return a function that converts plain values, such as those of a YAML document, to the type `shape`.

    Args:
        shape: The type of the results: a class, or an annotation such as `list[Operation]`.
        from_attributes: True to accept objects as well, whose attributes are then read as fields.

    Raises:
        TypeError: msgspec cannot convert to `shape`.

    Threads: any, also for the returned function.
    """
    decoder_of(shape)  # names every class in `shape`, so that a conversion finds them read

    def convert(value: Any) -> T:
        made: T = msgspec.convert(value, shape, from_attributes=from_attributes)
        return made

    return convert
