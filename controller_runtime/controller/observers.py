# SPDX-License-Identifier: Apache-2.0
"""The functions and objects that receive events of controllers, such as errors and records of reconciles."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import attrs

from controller_runtime.api.unreadable import UnreadableObject
from controller_runtime.controller.panics import OnPanic, ignore_panic
from controller_runtime.controller.self_wakes import SelfWakes
from controller_runtime.controller.stories import Stories
from controller_runtime.core.attempts import AttemptRecorder

if TYPE_CHECKING:  # it needs a package that a program without tracing need not have
    from controller_runtime.controller.tracing import Tracing


def ignore_unreadable(controller: str, error: UnreadableObject) -> None:
    """Do nothing: the log and the metrics show the error."""


@attrs.frozen
class Observers:
    """Functions and objects that receive events of controllers, on the thread of the event.

    They must not raise and not wait.

    Attributes:
        on_panic: Gets each unexpected error of a reconcile; and of a mapper, a predicate or a periodic function, the
            first one of a series of failures.
        on_unreadable: Gets the name of the controller and the error, for each unreadable object that ends the retries
            of a request; again for the same request only if the text of its errors has changed.
        stories: Keeps records of the last reconciles, for the status page.
        tracing: Makes spans of changes and reconciles; None makes none.
        self_wakes: Finds controllers that cause their own reconciles by their writes; None finds none.
        recorder: Records reconciles; None records nothing.
    """

    on_panic: OnPanic = ignore_panic
    on_unreadable: Callable[[str, UnreadableObject], None] = ignore_unreadable
    stories: Stories = attrs.field(factory=Stories)
    tracing: Tracing | None = None
    self_wakes: SelfWakes | None = None
    recorder: AttemptRecorder | None = None


NOBODY = Observers()
"""Observers that do nothing."""
