# SPDX-License-Identifier: Apache-2.0
"""The requests of a script: which verb, resource and name each of its lines means."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from apimachinery.errors import UsageError
from embedded_apiserver.kinds.kind import Kinds
from embedded_apiserver.status import qualified

ANY = "*"
VERBS = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
METHODS: Mapping[str, tuple[str, ...]] = {
    "GET": ("get", "list", "watch"),
    "POST": ("create",),
    "PUT": ("update",),
    "PATCH": ("patch",),
    "DELETE": ("delete", "deletecollection"),
}
"""The verbs of each method of HTTP."""
WHERE_KINDS_ARE = "docs/kinds.md lists the kinds that are served"


@attrs.frozen
class Target:
    """The requests that one line of a script means.

    Attributes:
        verbs: The verbs of Kubernetes.
        resource: The plural, with its group or without, and the subresource after a slash; `*` for all.
        name: The name of the object; None for every one, and for requests without a name.
    """

    verbs: tuple[str, ...]
    resource: str
    name: str | None = None

    def means(self, verb: str, plural: str, group: str, subresource: str, name: str) -> bool:
        """Tell whether a request is meant. A plural without a subresource does not mean its subresources."""
        part = f"/{subresource}" if subresource else ""
        names = (ANY, f"{plural}{part}", f"{qualified(plural, group)}{part}")
        return verb in self.verbs and self.resource in names and self.name in (None, name)


def target_of(kinds: Kinds, verb: str, resource: str, name: str | None = None) -> Target:
    """Return what a line of a script means.

    Args:
        kinds: The kinds that are served.
        verb: A verb of Kubernetes in lower case, a method of HTTP in upper case, or `*`.
        resource: The plural, such as `deployments`, `deployments.apps` or `deployments/scale`, or `*`.
        name: The name of the object; None for every one.

    Raises:
        UsageError: There is no such verb, or no such resource is served.
    """
    if verb != ANY and verb not in VERBS and verb not in METHODS:
        raise UsageError(f"no verb {verb!r}: give one of {', '.join(VERBS)}, or {', '.join(METHODS)}, or {ANY!r}")
    check_resource(kinds, resource)
    return Target(VERBS if verb == ANY else METHODS.get(verb, (verb,)), resource, name)


def check_resource(kinds: Kinds, resource: str) -> None:
    """Check that a resource is served, or is `*`.

    Raises:
        UsageError: It is not; the message says what to do.
    """
    plural, _, part = resource.partition("/")
    found = [kind for kind in kinds if plural in (kind.plural, kind.resource)]
    if resource != ANY and not found:
        raise UsageError(
            f"no resource {plural!r} is served: write the plural, such as 'deployments', and create the definition of "
            f"a custom resource first; {WHERE_KINDS_ARE}"
        )
    if part and not any(part in kind.subresources for kind in found):
        parts = ", ".join(dict.fromkeys(part for kind in found for part in kind.subresources))
        raise UsageError(f"{plural} has no subresource {part!r}: it has {parts or 'none'}")
