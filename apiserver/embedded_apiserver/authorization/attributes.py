# SPDX-License-Identifier: Apache-2.0
"""The attributes of a request on which authorization depends.

If the path names a resource that is served, they are derived from what will be executed: the route and the verb. So
no spelling of a path can be authorized as one thing and executed as another. Any other path is read as a real
server reads it, so that a client without rights is refused (403) rather than told what is served (404).
"""

from __future__ import annotations

from typing import NamedTuple

from apimachinery.http import HTTPRequest
from apimachinery.names import path_segment_errors
from apimachinery.selectors import FieldSelector
from embedded_apiserver.groups.core.kinds import NAMESPACE
from embedded_apiserver.list_options import is_watch
from embedded_apiserver.options import Query, query_of
from embedded_apiserver.routes import Route
from embedded_apiserver.users import User

_VERBS = {"GET": "get", "HEAD": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_PARTS_OF_NAMESPACES = ("status", "finalize")
# The verbs that old paths carry: `/api/v1/watch/nodes`. They are not served here, and only named in refusals.
_WATCH, _PROXY = "watch", "proxy"
# The fewest segments of the path of a resource, prefix and version included.
_CORE_SEGMENTS, _GROUP_SEGMENTS = 3, 4


class Attributes(NamedTuple):
    """The attributes of a request, or of a permission to check, from which authorization decides.

    Attributes:
        user: The user that makes the request.
        verb: The verb, such as `list`; the method in lower case if the path names no resource.
        group: The API group; empty for the core group.
        resource: The plural of the kind; empty if the path names no resource.
        subresource: The subresource; empty for the object itself.
        namespace: The namespace; empty for cluster-scoped objects. For a Namespace it is its own name.
        name: The object's name; empty for a collection, unless a field selector narrows it to one name.
        path: The path, if it names no resource; otherwise empty.
    """

    user: User
    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""


def attributes_of(user: User, request: HTTPRequest, route: Route | None) -> Attributes:
    """Return the attributes of a request by `user`; `route` is that of its path, or None if none is served."""
    if route is None:
        return _by_path(user, request)
    kind = route.kind
    verb, name = _verb(request, route.name)
    namespace = route.name if kind == NAMESPACE else route.namespace
    return Attributes(user, verb, kind.group, kind.plural, route.subresource, namespace, name)


def _by_path(user: User, request: HTTPRequest) -> Attributes:
    """Return the attributes of a request whose path names nothing that is served as an object."""
    segments = [part for part in request.path.strip("/").split("/") if request.path.strip("/")]
    prefix = segments[0] if segments else ""
    if prefix == "api" and len(segments) >= _CORE_SEGMENTS:
        group, rest = "", segments[2:]
    elif prefix == "apis" and len(segments) >= _GROUP_SEGMENTS:
        group, rest = segments[1], segments[3:]
    else:
        return Attributes(user, request.method.lower(), path=request.path)
    asked = ""
    if rest[0] in (_WATCH, _PROXY) and len(rest) > 1:
        asked, rest = rest[0], rest[1:]
    namespace, rest = _in_namespace(rest)
    resource, name, subresource = (*rest, "", "")[:3]
    verb, name = _verb(request, name)
    if asked:  # such a path has no subresource
        return Attributes(user, asked, group, resource, "", namespace, name)
    # A path without a resource would otherwise count as one that names no resource at all.
    return Attributes(user, verb, group, resource or "/", subresource, namespace, name)


def _in_namespace(rest: list[str]) -> tuple[str, list[str]]:
    if rest[0] != "namespaces" or len(rest) == 1:
        return "", rest
    if len(rest) > 2 and rest[2] not in _PARTS_OF_NAMESPACES:
        return rest[1], rest[2:]
    return rest[1], rest


def _verb(request: HTTPRequest, name: str) -> tuple[str, str]:
    """Return the verb of a request for the object `name`, and the name to which it is narrowed; empty for none."""
    verb = _VERBS.get(request.method, "")
    if name:
        return verb, name
    match verb:
        case "get":
            query = query_of(request.query)
            return "watch" if is_watch(query) else "list", _only_name(query)
        case "delete":
            return "deletecollection", ""
        case _:
            return verb, ""


def _only_name(query: Query) -> str:
    """Return the only name that the field selector of a list allows; empty if it allows several."""
    if not (text := query.get("fieldSelector", "")):
        return ""
    try:
        requirements = FieldSelector.parse(text).requirements
    except ValueError:  # refused later, if the user may list at all
        return ""
    named = next((one.value for one in requirements if one.field == "metadata.name" and one.equal), "")
    return "" if next(iter(path_segment_errors(named)), None) else named
