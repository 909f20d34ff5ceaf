# SPDX-License-Identifier: Apache-2.0
"""The patterns of requests that get a scripted fault: by verb, resource and name."""

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
"""The Kubernetes verbs of each HTTP method."""
WHERE_KINDS_ARE = "docs/kinds.md lists the kinds that are served"


@attrs.frozen
class MatchedRequests:
    """A pattern for requests, as given to the methods that script a server's behavior.

    Attributes:
        verbs: The Kubernetes verbs.
        resource: The plural with or without the group, and after a slash the subresource; `*` for all.
        name: The name of the object; None to match requests with any name, and those without one, such as lists.
    """

    verbs: tuple[str, ...]
    resource: str
    name: str | None = None

    def means(self, verb: str, plural: str, group: str, subresource: str, name: str) -> bool:
        """Return whether the request with these values matches the pattern.

        A plural without a subresource does not match the subresources.
        """
        part = f"/{subresource}" if subresource else ""
        names = (ANY, f"{plural}{part}", f"{qualified(plural, group)}{part}")
        return verb in self.verbs and self.resource in names and self.name in (None, name)


def target_of(kinds: Kinds, verb: str, resource: str, name: str | None = None) -> MatchedRequests:
    """Return the pattern for a verb, a resource and a name.

    Args:
        kinds: The served kinds.
        verb: A Kubernetes verb in lower case, an HTTP method in upper case, or `*`.
        resource: The plural, such as `deployments`, `deployments.apps` or `deployments/scale`, or `*`.
        name: The name of the object; None to match any name.

    Raises:
        UsageError: The verb does not exist, or the resource or its subresource is not served.
    """
    if verb != ANY and verb not in VERBS and verb not in METHODS:
        raise UsageError(f"no verb {verb!r}: give one of {', '.join(VERBS)}, or {', '.join(METHODS)}, or {ANY!r}")
    check_resource(kinds, resource)
    return MatchedRequests(VERBS if verb == ANY else METHODS.get(verb, (verb,)), resource, name)


def check_resource(kinds: Kinds, resource: str) -> None:
    """Check that a resource and its subresource are served, or that `resource` is `*`.

    Raises:
        UsageError: The resource or its subresource is not served; the message says what to write instead.
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
