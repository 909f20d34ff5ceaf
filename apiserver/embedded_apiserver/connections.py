# SPDX-License-Identifier: Apache-2.0
"""Requests that a real API server hands on to a kubelet, a pod or a service: logs, streams and proxies.

No machine can be reached from here, but containers may have programs, which a `Kubelet` runs. Without one, a request is
refused with what a real API server finds before it connects, and with a failed connection after that. The log of a pod
that a hollow node runs is empty, because its containers print nothing.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator

from apimachinery.http import HTTPRequest, HTTPResponse, Watch
from embedded_apiserver.answers import text
from embedded_apiserver.authorization.attributes import Attributes
from embedded_apiserver.authorization.authorizer import Authorizer
from embedded_apiserver.causes import forbidden, invalid
from embedded_apiserver.groups.core.kinds import NODE, SERVICE
from embedded_apiserver.groups.networking.kinds import ENDPOINT_SLICE
from embedded_apiserver.groups.parts import PARTS
from embedded_apiserver.groups.pods.all_containers import all_containers
from embedded_apiserver.groups.pods.kinds import POD
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.kinds.release import Release
from embedded_apiserver.objects import Object, part
from embedded_apiserver.options import Query, number_of, query_of
from embedded_apiserver.programs.kubelet import Kubelet
from embedded_apiserver.routes import Route
from embedded_apiserver.status import (
    Cause,
    Options,
    StatusError,
    bad_request,
    check,
    not_found,
    untyped,
)
from embedded_apiserver.status import forbidden as not_allowed
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.storage.stored import key_of
from embedded_apiserver.users import User

_LOG_OPTIONS = Options("PodLogOptions", "")
_SERVICE_LABEL = "kubernetes.io/service-name"
_STREAMS = ("attach", "exec", "portforward")
_CREATES_STREAMS = "AuthorizePodWebsocketUpgradeCreatePermission"
"""The gate by which streams need the verb `create`."""
_SCHEMES = ("", "http", "https")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def is_handed_on(route: Route) -> bool:
    """Return whether a real API server forwards requests for a route to a kubelet, pod or service: logs, streams and
    proxies.
    """
    return route.subresource == "log" or (route.subresource in PARTS and bool(PARTS[route.subresource].options))


def check_upgrade(authorizer: Authorizer, release: Release, user: User, route: Route, verb: str) -> None:
    """Refuse a stream, such as `exec`, to a user who may not `create` it.

    A WebSocket begins with a GET, whose verb would be `get`, but running a command is not a read.

    A real API server does so from 1.35 on.

    Raises:
        StatusError: 403.
    """
    if user.may_do_everything or verb == "create" or route.kind != POD or route.subresource not in _STREAMS:
        return
    asked = Attributes(user, "create", "", route.kind.plural, route.subresource, route.namespace, route.name)
    if release.is_on(_CREATES_STREAMS) and not (decision := authorizer.decide(asked)).allowed:
        raise not_allowed(route.kind, route.name, decision.reason)


def answer(
    storage: Storage, kubelet: Kubelet, route: Route, request: HTTPRequest, on_ready: Callable[[], None] | None
) -> HTTPResponse | Watch:
    """Return the response to a request that a real API server would forward to a kubelet, pod or service.

    Args:
        storage: The objects.
        kubelet: The simulated kubelet, which has the logs and streams.
        route: The object and the subresource in the path.
        request: The request.
        on_ready: Called when a watch may have lines; see `Handler.handle`.

    Raises:
        StatusError: The request is refused, or its target cannot be reached.
    """
    if route.subresource != "log" and "dryRun" in query_of(request.query):
        raise bad_request("dryRun is not supported")
    if route.subresource == "proxy":
        raise _proxy_refusal(storage, route)
    query = query_of(request.query)
    if route.subresource == "log":
        return _log(storage, kubelet, route, query, on_ready)
    pod = _found(storage, POD, route.namespace, route.name)
    container = "" if route.subresource == "portforward" else _container(pod, query)
    node = part(pod, "spec").get("nodeName")
    if not node:
        raise bad_request(f"pod {route.name} does not have a host assigned")
    if container:
        opened = kubelet.command(pod, container, request, on_ready, attach=route.subresource == "attach")
    else:
        opened = kubelet.ports(pod, request, on_ready)
    if opened is not None:
        return opened
    _address_of_kubelet(storage, node)
    if "upgrade" not in request.headers:
        raise bad_request("Upgrade request required")
    why = f"no kubelet can be reached on node {node}"
    if container and on_ready is not None and (refused := kubelet.refused(request, on_ready, why)) is not None:
        return refused
    raise untyped(f"error dialing backend: {why}")


def _log(
    storage: Storage, kubelet: Kubelet, route: Route, query: Query, on_ready: Callable[[], None] | None
) -> HTTPResponse | Watch:
    check(_LOG_OPTIONS, route.name, _log_causes(query))
    pod = _found(storage, POD, route.namespace, route.name)
    container = _container(pod, query)
    node = part(pod, "spec").get("nodeName")
    if not node:
        return HTTPResponse(204, {})
    found = kubelet.log(pod, container, query, on_ready)
    if found is not None:
        return found
    _address_of_kubelet(storage, node)
    if part(pod, "status").get("phase") in (None, "Pending"):
        raise bad_request(f'container "{container}" in pod "{route.name}" is waiting to start: ContainerCreating')
    return text(200, "")


def _log_causes(query: Query) -> Iterator[Cause]:
    """Return the errors of the parameters of a log, in the order of a real API server."""
    tail, limit, seconds = (number_of(query, name) for name in ("tailLines", "limitBytes", "sinceSeconds"))
    if (since := query.get("sinceTime")) and not _TIME.fullmatch(since):
        raise bad_request(f'parsing time "{since}" as "2006-01-02T15:04:05Z07:00": cannot parse "{since}" as "2006"')
    if tail is not None and tail < 0:
        yield invalid("tailLines", tail, "must be greater than or equal to 0")
    if limit is not None and limit < 1:
        yield invalid("limitBytes", limit, "must be greater than 0")
    if seconds is not None and since:
        yield forbidden("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified")
    elif seconds is not None and seconds < 1:
        yield invalid("sinceSeconds", seconds, "must be greater than 0")
    if "stream" in query:
        yield forbidden("stream", "may not be specified")


def _container(pod: Object, query: Query) -> str:
    """Return the name of the container that a request is about.

    Raises:
        StatusError: 400, the pod has no such container, or several, of which the request names none.
    """
    name, spec = pod["metadata"]["name"], part(pod, "spec")
    names = [one["name"] for one in all_containers(spec)]
    if wanted := query.get("container"):
        if wanted not in names:
            raise bad_request(f"container {wanted} is not valid for pod {name}")
        return wanted
    containers = list(spec.get("containers") or ())
    if len(containers) == 1:
        only: str = containers[0]["name"]
        return only
    raise bad_request(f"a container name must be specified for pod {name}, choose one of: [{' '.join(names)}]")


def _address_of_kubelet(storage: Storage, node: str) -> str:
    """Return the address of the kubelet of a node.

    Raises:
        StatusError: 404, there is no such node; in the words of a real API server, which says `pods` here. 500, the
            node tells no address.
    """
    found = storage.get(NODE.resource, key_of("", node))
    if found is None:
        raise not_found(POD, node)
    return _address(found.decode())


def _address(node: Object) -> str:
    addresses = part(node, "status").get("addresses") or ()
    if not addresses:
        raise untyped("no preferred addresses found; known addresses: []")
    first: str = addresses[0].get("address", "")
    return first


def _proxy_refusal(storage: Storage, route: Route) -> StatusError:
    word = route.kind.kind.lower()
    name, port = _split(route.name)
    if not name:
        return bad_request(f'invalid {word} request "{route.name}"')
    if route.kind == NODE:
        address = _address(_found(storage, NODE, "", name))
    elif route.kind == POD:
        address = part(_found(storage, POD, route.namespace, name), "status").get("podIP", "")
    else:
        address = _endpoint(storage, route.namespace, name, port)
    if not _is_allowed(address, names=route.kind == NODE):
        return bad_request("address not allowed")
    return _unavailable(f"error trying to reach service: {address} cannot be reached from this server")


def _split(name: str) -> tuple[str, str]:
    """Return name and port of an object in the path of a proxy; empty if they cannot be told apart."""
    first, *rest = name.split(":")
    if not rest:
        return first, ""
    if len(rest) == 1:
        return first, rest[0]
    return (rest[0], rest[1]) if rest[2:] == [] and first in _SCHEMES else ("", "")


def _endpoint(storage: Storage, namespace: str, name: str, port: str) -> str:
    """Return the address of a pod behind a service.

    Raises:
        StatusError: 404, there is no such service, or its endpoints have not been written; 503, it has no such port, or
            no pod is ready.
    """
    service = _found(storage, SERVICE, namespace, name)
    ports = part(service, "spec").get("ports") or ()
    if port and not any(port in (str(one.get("port")), one.get("name")) for one in ports):
        raise _unavailable(f'no service port {port} found for service "{name}"')
    _, items = storage.read(ENDPOINT_SLICE.resource, f"{namespace}/")
    slices = [one for item in items if (one := item.decode())["metadata"].get("labels", {}).get(_SERVICE_LABEL) == name]
    if not slices:
        raise not_found(SERVICE, name)
    for one in slices:
        for endpoint in one.get("endpoints") or ():
            if part(endpoint, "conditions").get("ready", True) and endpoint.get("addresses"):
                address: str = endpoint["addresses"][0]
                return address
    raise _unavailable(f'no endpoints available for service "{name}"')


def _is_allowed(address: str, *, names: bool) -> bool:
    """Return whether a proxy may connect to an address; never to the server's own machine."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return names and address != "localhost"
    return not (ip.is_loopback or ip.is_link_local or ip.is_multicast or ip.is_unspecified)


def _found(storage: Storage, kind: Kind, namespace: str, name: str) -> Object:
    found = storage.get(kind.resource, key_of(namespace, name))
    if found is None:
        raise not_found(kind, name)
    return found.decode()


def _unavailable(text: str) -> StatusError:
    return StatusError(503, "ServiceUnavailable", text)
