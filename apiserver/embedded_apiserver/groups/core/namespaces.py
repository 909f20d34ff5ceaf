# SPDX-License-Identifier: Apache-2.0
"""The checks of namespaces."""

from __future__ import annotations

from collections.abc import Iterator

from apimachinery.names import qualified_name_errors
from embedded_apiserver.causes import invalid
from embedded_apiserver.checks.basic import (
    each,
)
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause

_STANDARD_FINALIZERS = ("kubernetes", "orphan", "foregroundDeletion")
_UNQUALIFIED = "name is neither a standard finalizer name nor is it fully qualified"


def namespace(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a new Namespace: those of its finalizers."""
    for name in part(obj, "spec").get("finalizers") or ():
        yield from _finalizer(name, "spec.finalizers")


def namespace_finalizers(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a Namespace's finalizers."""
    for index, name in enumerate(part(new, "spec").get("finalizers") or ()):
        yield from _finalizer(name, f"spec.finalizers[{index}]")


def _finalizer(name: str, field: str) -> Iterator[Cause]:
    yield from each(qualified_name_errors, name, field)
    if "/" not in name and name not in _STANDARD_FINALIZERS:
        yield invalid(field, name, _UNQUALIFIED)


def namespace_status(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of a Namespace's status.

    The phase must be `Terminating` if the namespace has a `deletionTimestamp`, and otherwise `Active`.
    """
    phase, ends = part(new, "status").get("phase", ""), "deletionTimestamp" in new["metadata"]
    if not ends and phase != "Active":
        yield invalid("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty")
    elif ends and phase != "Terminating":
        yield invalid("status.Phase", phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")
