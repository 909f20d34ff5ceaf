# SPDX-License-Identifier: Apache-2.0
"""The subresource `token` of service accounts: a POST to it returns a new token."""

from __future__ import annotations

from datetime import timedelta

import msgspec

from apimachinery.host import Host
from apimachinery.objects import timestamp
from embedded_apiserver.admission.step import Asked
from embedded_apiserver.authentication.accounts import Accounts
from embedded_apiserver.authentication.tokens import ISSUER, Reference, TokenBinding
from embedded_apiserver.causes import invalid
from embedded_apiserver.groups.core.kinds import NODE, SECRET
from embedded_apiserver.groups.parts import TOKEN_REQUEST
from embedded_apiserver.groups.pods.kinds import POD
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object, part
from embedded_apiserver.options import WriteOptions
from embedded_apiserver.routes import Route
from embedded_apiserver.status import CREATE_OPTIONS, Options, bad_request, check, conflict, not_found
from embedded_apiserver.storage.storage import Storage
from embedded_apiserver.storage.stored import key_of
from embedded_apiserver.typed.body import decode
from embedded_apiserver.writes.admitting import Admitting
from embedded_apiserver.writes.content import Content, Written
from embedded_apiserver.writes.warned import warned_of

LEAST_SECONDS, MOST_SECONDS = 10 * 60, 1 << 32
"""The limits to the lifetime of a token; those of a real API server."""

_DEFAULT_SECONDS = 3600
# The name under which a real server tells conflicts.
_REQUEST = Options(TOKEN_REQUEST.kind, TOKEN_REQUEST.group, TOKEN_REQUEST.kind)
# The kinds of objects to which a token can be bound.
_BINDABLE = {kind.kind: kind for kind in (POD, NODE, SECRET)}


class TokenRequests:
    """Issues tokens for service accounts.

    Args:
        host: The source of time.
        storage: The objects.
        accounts: Signs the tokens.
        admitting: The admission of the server.

    Threads: any.
    """

    def __init__(self, host: Host, storage: Storage, accounts: Accounts, admitting: Admitting) -> None:
        self._host = host
        self._admitting = admitting
        self._storage = storage
        self._accounts = accounts

    def create(self, route: Route, content: Content) -> Written:
        """Return the TokenRequest in `content` with a new token for the service account that `route` names.

        Raises:
            StatusError: The request is refused.
        """
        options = WriteOptions.parse(content.query, CREATE_OPTIONS)
        obj, warnings = decode(TOKEN_REQUEST, content.body, content.media_type, options.field_validation)
        asked = Asked(content.user, options, warnings, options.dry_run)
        with warned_of(warnings):
            obj = dict(self._admitting.create_part(route, obj, asked))
        sent, spec = obj["metadata"], part(obj, "spec")
        if sent.get("namespace", "") not in ("", route.namespace):
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
        if sent.get("name", "") not in ("", route.name):
            text = "must match the service account name if specified"
            check(_REQUEST, route.name, [invalid("metadata.name", sent["name"], text)])
        account = Reference(route.name, self._uid(route.kind, route.namespace, route.name))
        if (uid := sent.get("uid", "")) not in ("", account.uid):
            text = f"the UID in the token request ({uid}) does not match the UID of the service account ({account.uid})"
            raise conflict(_REQUEST, route.name, text)
        seconds = spec.get("expirationSeconds", _DEFAULT_SECONDS)
        _check_lifetime(seconds)
        binding = self._bound(route, account, spec.get("boundObjectRef"))
        audiences = list(spec.get("audiences") or (ISSUER,))
        now = self._host.now()
        status = {
            "token": self._accounts.issue(binding, audiences, seconds),
            "expirationTimestamp": timestamp(now + timedelta(seconds=seconds)),
        }
        metadata = {"name": account.name, "namespace": route.namespace, "uid": account.uid}
        answer = {
            "metadata": {**metadata, "creationTimestamp": timestamp(now)},
            "spec": {**spec, "audiences": audiences, "expirationSeconds": seconds}
            | ({} if spec.get("boundObjectRef") else {"boundObjectRef": None}),
            "status": status,
        }
        return Written(201, msgspec.json.encode(answer), warnings)

    def _bound(self, route: Route, account: Reference, reference: Object | None) -> TokenBinding:
        """Return the claims for an account, bound to the object that `reference` names, if it names one."""
        binding = TokenBinding(route.namespace, account)
        if reference is None:
            return binding
        version, name = reference.get("apiVersion", ""), reference.get("name", "")
        kind = _BINDABLE.get(reference.get("kind", "")) if "/" not in version else None
        if kind is None:
            group, _, version = version.rpartition("/")
            shown = f"{group}/{version}, Kind={reference.get('kind', '')}"
            raise bad_request(f"cannot bind token to object of type {shown}")
        found = self._find(kind, route.namespace, name)
        bound = Reference(name, found["metadata"]["uid"])
        node = None
        if kind == POD:
            if part(found, "spec").get("serviceAccountName", "") != route.name:
                text = (
                    f'cannot bind token for serviceaccount "{route.name}" to pod running with different serviceaccount'
                )
                raise bad_request(f"{text} name.")
            node = self._node_of(found)
        if (uid := reference.get("uid", "")) not in ("", bound.uid):
            text = f"the UID in the bound object reference ({uid}) does not match the UID in record. "
            text += "The object might have been deleted and then recreated"
            raise conflict(Options(kind.kind, kind.group, kind.kind), name, text)
        match kind.kind:
            case "Pod":
                return msgspec.structs.replace(binding, pod=bound, node=node)
            case "Node":
                return msgspec.structs.replace(binding, node=bound)
            case _:
                return msgspec.structs.replace(binding, secret=bound)

    def _node_of(self, pod: Object) -> Reference | None:
        if not (name := part(pod, "spec").get("nodeName", "")):
            return None
        node = self._storage.get(NODE.resource, name)
        return Reference(name, "" if node is None else node.decode()["metadata"]["uid"])

    def _uid(self, kind: Kind, namespace: str, name: str) -> str:
        uid: str = self._find(kind, namespace, name)["metadata"]["uid"]
        return uid

    def _find(self, kind: Kind, namespace: str, name: str) -> Object:
        found = self._storage.get(kind.resource, key_of(namespace if kind.namespaced else "", name))
        if found is None:
            raise not_found(kind, name)
        return found.decode()


def _check_lifetime(seconds: int) -> None:
    field = "spec.expirationSeconds"
    if seconds < LEAST_SECONDS:
        check(_REQUEST, "", [invalid(field, seconds, "may not specify a duration less than 10 minutes")])
    if seconds > MOST_SECONDS:
        check(_REQUEST, "", [invalid(field, seconds, "may not specify a duration larger than 2^32 seconds")])
