# SPDX-License-Identifier: Apache-2.0
"""The states of a reflector, each with the data that is valid only in it, and the changes between them."""

from __future__ import annotations

from typing import ClassVar

import attrs

from controller_runtime.cache.streamed import StreamedList


@attrs.frozen
class Listing:
    """The state in which the reflector requests the list page by page.

    Attributes:
        most_recent: True to request the most recent state, because the server refused the last known version.
    """

    most_recent: bool = False
    text: ClassVar[str] = "listing by pages"


@attrs.frozen
class Streaming:
    """The state in which the reflector requests a streamed list: a watch that begins with the existing objects.

    Attributes:
        most_recent: True to request the most recent state, because the server refused the last known version.
    """

    most_recent: bool = False
    text: ClassVar[str] = "streaming the list"


@attrs.frozen
class Receiving:
    """The state in which the reflector receives a streamed list.

    Attributes:
        received: The part of the list that has come. A failure drops it, since an incomplete list is of no use.
        most_recent: True if the most recent state was requested; see `Listing`.
    """

    received: StreamedList
    most_recent: bool
    text: ClassVar[str] = "streaming the list"


@attrs.frozen
class Resuming:
    """The state in which the reflector requests a watch from the last known resourceVersion.

    Attributes:
        is_retry: True if the last watch failed, and no line has come since then.
    """

    is_retry: bool = False
    text: ClassVar[str] = "watching"


@attrs.frozen
class Watching:
    """The state in which the reflector has an open watch.

    Attributes:
        since: When the server opened it, or when the streamed list was complete; monotonic seconds.
        is_retry: True if the previous watch failed, and no line has come since then.
    """

    since: float
    is_retry: bool
    text: ClassVar[str] = "watching"


State = Listing | Streaming | Receiving | Resuming | Watching

TRANSITIONS: frozenset[tuple[type[State], type[State]]] = frozenset(
    {
        (Listing, Resuming),  # the last page has come
        (Listing, Listing),  # failed: all pages again
        (Streaming, Receiving),  # the server has opened the stream
        (Streaming, Streaming),  # the version was refused, or the server is down or busy
        (Streaming, Listing),  # the server cannot stream lists
        (Receiving, Watching),  # the bookmark that ends the list has come; the stream goes on
        (Receiving, Streaming),  # the version was refused, or the server is down or busy
        (Receiving, Listing),  # the server cannot stream lists, or does not say when they end
        (Resuming, Watching),  # the server has opened the watch
        (Resuming, Resuming),  # failed for the first time, or the server is down or busy
        (Resuming, Streaming),  # the version was refused, or the second failure in a row
        (Resuming, Listing),  # the same, where lists are not streamed
        (Watching, Watching),  # a line has come, the first after a failure
        (Watching, Resuming),  # ended, or failed for the first time, or the server is down or busy
        (Watching, Streaming),  # the version or an event cannot be had, or the second failure in a row
        (Watching, Listing),  # the same, where lists are not streamed
    }
)
"""Every change of state there is. The diagram in `docs/informers.md` shows the same, and a test compares them."""
