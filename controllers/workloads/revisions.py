# SPDX-License-Identifier: Apache-2.0
"""ControllerRevisions: the templates that a StatefulSet or DaemonSet has had, in their order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import msgspec

from apimachinery.errors import AlreadyExists
from apimachinery.objects import ObjectMeta
from controller_runtime.api.resources import Resource
from controllers.workloads.children import Children, Owner
from controllers.workloads.pods import Template
from controllers.workloads.templates import hash_of

REVISIONS: Resource[Any] = Resource("apps", "v1", "ControllerRevision", "controllerrevisions", True)
HASH = "controller.kubernetes.io/hash"
REVISION_HASH = "controller-revision-hash"
"""Label of a pod: the name of the revision from which it was made, or for a DaemonSet its hash."""


class ControllerRevision(msgspec.Struct, gc=False):
    """One revision of a StatefulSet's or DaemonSet's template."""

    metadata: ObjectMeta
    revision: int = 0
    data: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the revision."""
        return self.metadata.name

    @property
    def template(self) -> Template:
        """The pod template that the revision stores."""
        found: Template = {**((self.data.get("spec") or {}).get("template") or {})}
        found.pop("$patch", None)
        return found

    @property
    def hash(self) -> str:
        """The hash of the template."""
        labels = self.metadata.labels or {}
        return labels.get(HASH) or labels.get(REVISION_HASH, "")


@attrs.frozen
class History:
    """The revisions of a workload.

    Attributes:
        update: The revision of the current template.
        all: All revisions, oldest first.
        collisions: How often a name was already taken by another template.
    """

    update: ControllerRevision
    all: Sequence[ControllerRevision]
    collisions: int

    def named(self, name: str) -> ControllerRevision | None:
        """Return the revision with this name; None if there is none."""
        return next((each for each in self.all if each.name == name), None)


def history_of(
    children: Children[ControllerRevision],
    owner: Owner,
    template: Template,
    present: Sequence[ControllerRevision],
    collisions: int,
    *,
    label: str = HASH,
    annotations: Mapping[str, str] | None = None,
) -> History:
    """Make the current template the newest revision, and return all revisions.

    An older revision with the same template is reused, with a new number.

    Args:
        children: Writes revisions.
        owner: The workload.
        template: The current template of the workload.
        present: The existing revisions.
        collisions: How often a name was taken by another template so far.
        label: The label of a revision with the hash of its template.
        annotations: The annotations of a new revision.
    """
    ordered = sorted(present, key=lambda each: (each.revision, str(each.metadata.creation_timestamp), each.name))
    number = ordered[-1].revision + 1 if ordered else 1
    same = [each for each in ordered if each.template == template]
    if same and same[-1] is ordered[-1]:
        return History(same[-1], ordered, collisions)
    if same:
        made = children.read(children.patch(owner, same[-1], {"revision": number}))
        rest = [each for each in ordered if each.name != made.name]
        return History(made, [*rest, made], collisions)
    while True:
        body = _body(owner, template, number, collisions, label)
        if annotations:
            body["metadata"]["annotations"] = dict(annotations)
        try:
            made = children.read(children.create(owner, body))
        except AlreadyExists:
            collisions += 1
            continue
        return History(made, [*ordered, made], collisions)


def _body(owner: Owner, template: Template, number: int, collisions: int, label: str) -> dict[str, Any]:
    found = hash_of(template, collisions)
    labels = {**((template.get("metadata") or {}).get("labels") or {}), label: found}
    return {
        "metadata": {"name": f"{owner.metadata.name}-{found}", "labels": labels},
        "data": {"spec": {"template": {**template, "$patch": "replace"}}},
        "revision": number,
    }


def surplus(history: History, in_use: set[str], limit: int) -> list[ControllerRevision]:
    """Return the revisions to delete: the oldest unused ones, beyond the limit.

    Args:
        history: The revisions.
        in_use: The names of the revisions to which the status or a pod refers.
        limit: The most unused revisions to keep.
    """
    unused = [each for each in history.all if each.name not in in_use and each.name != history.update.name]
    return unused[: max(0, len(unused) - limit)]
