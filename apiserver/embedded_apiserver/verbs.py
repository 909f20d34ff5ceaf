# SPDX-License-Identifier: Apache-2.0
"""Carries out a request on the objects of a kind, by its verb, and makes the response."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from apimachinery.host import Host
from apimachinery.http import HTTPRequest, HTTPResponse, Watch
from embedded_apiserver.admission.step import Asked
from embedded_apiserver.answers import refusal, removed, succeeded, warned, whole_answer
from embedded_apiserver.authentication.access import Access
from embedded_apiserver.authorization.guard import Guard
from embedded_apiserver.connections import answer as answer_handed_on
from embedded_apiserver.connections import check_upgrade, is_handed_on
from embedded_apiserver.gates import FeatureGates
from embedded_apiserver.go_texts import check_timeout
from embedded_apiserver.groups.core.kinds import COMPONENT_STATUS
from embedded_apiserver.groups.parts import PARTS, SCALE, TOKEN_REQUEST
from embedded_apiserver.groups.pods.kinds import BINDING, POD
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.kinds.release import NEWEST, Release
from embedded_apiserver.list_options import ListOptions, is_watch
from embedded_apiserver.options import DeleteOptions, Query, check_segment, query_of
from embedded_apiserver.programs.kubelet import Kubelet
from embedded_apiserver.reads.components import Components
from embedded_apiserver.reads.forms import Form
from embedded_apiserver.reads.listing import Page, page_of
from embedded_apiserver.reads.negotiation import Now, form_for, is_unknown_type, line_form_for, without_tables
from embedded_apiserver.reads.selection import Selection
from embedded_apiserver.reads.watch import check_watch, open_watch
from embedded_apiserver.routes import Route
from embedded_apiserver.scale import scale_to_show
from embedded_apiserver.status import StatusError, bad_request, method_not_allowed, not_found, not_supported
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.typed.patch import check_patch_type
from embedded_apiserver.users import User
from embedded_apiserver.webhooks.caller import Caller, Nowhere
from embedded_apiserver.writes.admitting import Admitting
from embedded_apiserver.writes.content import Content, Written
from embedded_apiserver.writes.deletion import Deletion, deletion_warnings
from embedded_apiserver.writes.objects import Objects
from embedded_apiserver.writes.pod_parts import PodParts
from embedded_apiserver.writes.reviews import Reviews
from embedded_apiserver.writes.token_requests import TokenRequests
from embedded_apiserver.writes.warned import warned_of

_OF_COLLECTIONS = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
_OF_OBJECTS = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_NO_NAMES = (".", "..")
_Wanted = tuple[Kind, str, str, Now]
"""The arguments of `form_for`."""
_OF_PARTS = {**_OF_OBJECTS, "POST": "create"}
_OF_PROXIES = {**_OF_PARTS, "HEAD": "get", "OPTIONS": "get"}


class Verbs:
    """Answers requests for objects of all kinds, by their verb.

    Args:
        host: The source of time, locks and randomness.
        storage: The objects.
        access: Decides the permissions of users.
        release: The Kubernetes release that the server serves.
        admitting: The admission of the server; None for one with the default steps.
        gates: The feature gates of the server; None for the defaults.
        caller: Sends requests to the components whose health `ComponentStatus` shows; None fails each of them.
        kubelet: The simulated kubelet, which runs the programs of containers; None for a new one.

    Attributes:
        objects: Creates, reads and updates objects without checking the user's permissions.

    Threads: any.
    """

    def __init__(
        self,
        host: Host,
        storage: Storage,
        access: Access,
        release: Release = NEWEST,
        admitting: Admitting | None = None,
        gates: FeatureGates | None = None,
        caller: Caller | None = None,
        kubelet: Kubelet | None = None,
    ) -> None:
        self._kubelet = kubelet or Kubelet(host, storage)
        self._host = host
        self._release = release
        self._gates = gates or FeatureGates()
        self._storage = storage
        self._components = Components(caller or Nowhere())
        self._admitting = admitting or Admitting(host, storage)
        self.objects = Objects(host, storage, None, self._admitting)
        self._deletion = Deletion(host, storage, self._admitting)
        self._pod_parts = PodParts(host, storage, self._deletion, self._admitting)
        self._authorizer = access.authorizer
        self._reviews = Reviews(host, access)
        self._token_requests = TokenRequests(host, storage, access.accounts, self._admitting)

    def answer(
        self, user: User, route: Route, request: HTTPRequest, on_ready: Callable[[], None] | None
    ) -> HTTPResponse | Watch:
        """Return the response to a request. Each response for a deprecated kind has a warning, error responses
        included.

        Args:
            user: The user of the request, whose permission has already been checked.
            route: The collection, object or subresource that the path names.
            request: The request.
            on_ready: Called when a watch may have lines; see `APIServer.handle`.

        Raises:
            StatusError: The request is refused. For a deprecated kind, most errors are returned as responses.
        """
        if not route.kind.deprecation:
            return self._answer(user, route, request, on_ready)
        _check_timeout(query_of(request.query))  # which comes before the kind is looked at
        answered: HTTPResponse | Watch
        try:
            answered = self._answer(user, route, request, on_ready)
        except StatusError as error:
            if is_unknown_type(error) and route.kind.definition is None:
                raise  # a real server finds no handler for it, and so none that warns
            answered = refusal(error, request.headers.get("accept", ""))
        headers = warned(answered.headers, [route.kind.deprecation])
        if isinstance(answered, HTTPResponse):
            return answered._replace(headers=headers)
        answered.headers = headers
        return answered

    def _answer(
        self, user: User, route: Route, request: HTTPRequest, on_ready: Callable[[], None] | None
    ) -> HTTPResponse | Watch:
        verb, query = verb_of(route, request.method), self._gates.read(query_of(request.query))
        if "timeout" in query:
            _check_timeout(query)
        if route.name in _NO_NAMES or "%" in route.name:
            check_segment(route.name, verb)
        accept = request.headers.get("accept", "")
        if route.subresource in route.kind.tableless:
            accept = without_tables(accept)
        wanted = (route.sent, accept, query.get("includeObject", ""), self._host.now)
        if verb == "list" and is_watch(query):
            if "watch" not in route.kind.verbs:
                text = f'watch is not supported on resources of kind "{route.kind.plural}"'
                raise StatusError(405, "MethodNotAllowed", text, details={"kind": route.kind.plural})
            return self._watch(route, query, wanted, on_ready)
        if is_handed_on(route):
            if route.subresource == "log":
                form_for(*wanted)
            check_upgrade(self._authorizer, self._release, user, route, verb)
            return answer_handed_on(self._storage, self._kubelet, route, request, on_ready)
        if verb == "patch":
            check_patch_type(route.kind, request.headers.get("content-type", ""))
        form = form_for(*wanted, is_list=verb == "list")
        match verb:
            case "get" if route.kind == COMPONENT_STATUS:
                return whole_answer(200, form, form.single(self._components.get(route.name)))
            case "get":
                found = self.objects.get(route, query.get("resourceVersion", ""))
                return whole_answer(200, form, _single(route, form, found.raw))
            case "list":
                return self._list(route, query, form)
            case "delete":
                return self._delete(user, route, query, request.body, form, accept)
            case "deletecollection":
                return self._delete_collection(user, route, query, request.body, form)
        headers = request.headers
        content = Content(request.body, headers.get("content-type", ""), query, headers.get("user-agent", ""), user)
        if verb == "create" and (route.kind == BINDING or (route.subresource and route.kind == POD)):
            without_tables(accept)
            self._pod_parts.create(route, content)
            return succeeded(201, accept)
        written = self._written(verb, route, content)
        with warned_of(written.warnings):  # a form that cannot show the object refuses it once it is written
            body = _single(route, form, written.raw)
        return whole_answer(written.status, form, body, written.warnings)

    def _written(self, verb: str, route: Route, content: Content) -> Written:
        """Carry out a create, an update or a patch."""
        if route.sent is TOKEN_REQUEST:
            return self._token_requests.create(route, content)
        if not route.kind.is_stored:
            return self._reviews.create(route, content)
        objects = self.objects
        if not content.user.may_do_everything:
            guard = Guard(self._authorizer, content.user)
            objects = Objects(self._host, self._storage, guard, self._admitting)
        if verb == "create":
            return objects.create(route, content)
        return objects.update(route, content) if verb == "update" else objects.patch(route, content)

    def _list(self, route: Route, query: Query, form: Form) -> HTTPResponse:
        options = ListOptions.parse(query)
        if route.kind == COMPONENT_STATUS:
            return _listed(self._components.list(options), form)
        selection = Selection.of(route.kind, route.namespace, options)
        return _listed(page_of(self._storage, route.kind, selection, options), form)

    def _watch(self, route: Route, query: Query, wanted: _Wanted, on_ready: Callable[[], None] | None) -> Watch:
        try:
            form = line_form_for(*wanted)
        except StatusError:
            # A real server reads the options before it finds that a form has no lines.
            form_for(*wanted, is_list=True)
            check_watch(route, ListOptions.parse(query, self._release))
            raise
        options = ListOptions.parse(query, self._release)
        if on_ready is None:
            raise bad_request("a watch needs a reader that can be told when there is something to take")
        return open_watch(self._host, self._storage, route, form, options, on_ready)

    def _delete_collection(self, user: User, route: Route, query: Query, body: bytes, form: Form) -> HTTPResponse:
        chosen = ListOptions.parse(query)
        Selection.of(route.kind, route.namespace, chosen)  # refuses selectors before options of the deletion
        options = DeleteOptions.parse(query, body)
        warnings = deletion_warnings(route.kind, options)
        with warned_of(warnings):
            asked = Asked(user, options, warnings, bool(options.dry_run))
            page = self._deletion.delete_collection(route, chosen, options, asked)
        return _listed(page, form, warnings)

    def _delete(self, user: User, route: Route, query: Query, body: bytes, form: Form, accept: str) -> HTTPResponse:
        options = DeleteOptions.parse(query, body)
        warnings = deletion_warnings(route.kind, options)
        with warned_of(warnings):
            asked = Asked(user, options, warnings, bool(options.dry_run))
            deleted = self._deletion.delete(route, options, asked)
        if deleted.gone and not route.kind.deletes_with_object:
            return removed(route.kind, route.name, deleted.uid, accept)
        accepted_only = options.orphan_dependents is False and not deleted.gone
        return whole_answer(202 if accepted_only else 200, form, form.single(deleted.raw), warnings)


def _check_timeout(query: Query) -> None:
    """Refuse a request whose time is over; a watch has another parameter for its end."""
    if "timeout" in query and not is_watch(query):
        check_timeout(query["timeout"])


def verb_of(route: Route, method: str) -> str:
    """Return the verb, such as `list`, of an HTTP method on the object or collection that `route` names.

    Raises:
        StatusError: 405, the method is not supported there; 404, there is no such subresource; 400, a name is missing.
    """
    kind = route.kind
    if route.subresource and route.subresource not in kind.subresources:
        raise not_found(kind, route.name)
    if route.subresource:
        methods = _OF_PROXIES if route.subresource == "proxy" else _OF_PARTS
        verb, allowed = methods.get(method), PARTS[route.subresource].verbs
    else:
        verb, allowed = (_OF_OBJECTS if route.name else _OF_COLLECTIONS).get(method), route.kind.verbs
    # Across all namespaces, objects can be listed and watched, but not written.
    lacks_namespace = verb in ("create", "deletecollection") and route.kind.namespaced and not route.namespace
    if verb is None or verb not in allowed or lacks_namespace:
        if kind.definition is not None and not lacks_namespace:
            return _of_custom(route, method)
        raise method_not_allowed()
    return verb


def _of_custom(route: Route, method: str) -> str:
    """Return the verb of a method that does not fit the path of a custom kind.

    A real API server chooses what to do with these by the method only, and looks at the name later.

    Raises:
        StatusError: 400, a name is missing; 405, no verb has the method.
    """
    match method:
        case "HEAD":
            return "get" if route.name else "list"
        case "PUT" if not route.subresource:
            raise bad_request("name must be provided")
        case "PATCH" if not route.subresource:
            return "patch"
        case "POST" if not route.subresource:
            return "create"
    raise not_supported(route.kind, _OF_PARTS.get(method, ""))


def _single(route: Route, form: Form, raw: bytes) -> bytes:
    """Return one object in the form that the client accepts; for the subresource `scale`, the object's scale."""
    if route.sent is SCALE:
        raw = msgspec.json.encode(scale_to_show(route.kind, msgspec.json.decode(raw)))
    return form.single(raw)


def _listed(page: Page, form: Form, warnings: Sequence[str] = ()) -> HTTPResponse:
    return whole_answer(200, form, form.list(*page), warnings)
