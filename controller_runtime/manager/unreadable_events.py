# SPDX-License-Identifier: Apache-2.0
"""Events about objects that a controller cannot read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from apimachinery.errors import DecodeError, UsageError
from apimachinery.log import get_logger
from controller_runtime.api.unreadable import UnreadableObject
from controller_runtime.events.recorder import EventRecorder

log = get_logger(__name__)

REASON = "Unreadable"


class UnreadableEvents:
    """Writes a Warning event about each object that a controller cannot read, if that is possible.

    The event recorder of a controller is made for the first such object, unless the program has a recorder of that
    name. So a program without such objects needs no thread and no rights for events. Without the rights to write
    events, the objects are only logged, counted and shown.

    Args:
        recorders: Returns the existing recorders.
        make: Makes a recorder.

    Threads: any.
    """

    def __init__(self, recorders: Callable[[], Sequence[EventRecorder]], make: Callable[[str], EventRecorder]) -> None:
        self._recorders = recorders
        self._make = make

    def report(self, controller: str, error: UnreadableObject) -> None:
        """Queue an event about the object of `error`; if that is impossible, log the reason at debug level."""
        try:
            recorder_of(controller, self._recorders, self._make).event(
                error.cached, "Warning", REASON, f"{controller}: {error.reason}", resource=error.resource
            )
        # The manager stops, the name of the controller is no name of a component, or the metadata is malformed.
        except (UsageError, ValueError, DecodeError) as why:
            log.debug("no event about an unreadable object", controller=controller, object=str(error), error=why)


def recorder_of(
    component: str, recorders: Callable[[], Sequence[EventRecorder]], make: Callable[[str], EventRecorder]
) -> EventRecorder:
    """Return the recorder of a component; make it if there is none.

    Args:
        component: The name of the component.
        recorders: Returns the existing recorders.
        make: Makes a recorder.

    Raises:
        UsageError: No recorder can be made, because the manager is stopping.
    """

    def find() -> EventRecorder | None:
        return next((each for each in recorders() if each.component == component), None)

    found = find()
    if found is not None:
        return found
    try:
        return make(component)
    except UsageError:
        found = find()  # another thread has just made it
        if found is None:
            raise
        return found
