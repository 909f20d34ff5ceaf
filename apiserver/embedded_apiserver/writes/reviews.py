# SPDX-License-Identifier: Apache-2.0
"""Reviews of identity, access and tokens, which are answered and not stored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from apimachinery.host import Host
from apimachinery.objects import timestamp
from embedded_apiserver.authentication.access import Access
from embedded_apiserver.authentication.tokens import ISSUER, InvalidToken
from embedded_apiserver.authorization.attributes import Attributes
from embedded_apiserver.authorization.authorizer import combined
from embedded_apiserver.authorization.policy import Rule
from embedded_apiserver.causes import invalid
from embedded_apiserver.groups.reviews.kinds import (
    ACCESS_REVIEW,
    LOCAL_ACCESS_REVIEW,
    SELF_ACCESS_REVIEW,
    SELF_REVIEW,
    SELF_RULES_REVIEW,
    TOKEN_REVIEW,
)
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.objects import Object, part
from embedded_apiserver.options import WriteOptions
from embedded_apiserver.routes import Route
from embedded_apiserver.status import CREATE_OPTIONS, Cause, Options, bad_request, check
from embedded_apiserver.typed.body import decode
from embedded_apiserver.users import User
from embedded_apiserver.writes.content import Content, Written

# The kind that refusals name: a real server leaves it out.
_NAMELESS = Options("", "authorization.k8s.io")
_RESOURCE, _PATH = "resourceAttributes", "nonResourceAttributes"


class Reviews:
    """Answers review requests, such as a SubjectAccessReview, which are not stored.

    Args:
        host: The source of time.
        access: Authenticates tokens and decides the permissions of users.

    Threads: any.
    """

    def __init__(self, host: Host, access: Access) -> None:
        self._host = host
        self._access = access
        self._answers: Mapping[Kind, Callable[[User, Route, Object], Object]] = {
            SELF_REVIEW: self._self,
            TOKEN_REVIEW: self._token,
            SELF_ACCESS_REVIEW: self._own_access,
            SELF_RULES_REVIEW: self._own_rules,
            ACCESS_REVIEW: self._access_of_user,
            LOCAL_ACCESS_REVIEW: self._local_access,
        }

    def create(self, route: Route, content: Content) -> Written:
        """Return the review in `content` with its status filled in.

        Raises:
            StatusError: The review is not valid.
        """
        options = WriteOptions.parse(content.query, CREATE_OPTIONS)
        obj, warnings = decode(route.kind, content.body, content.media_type, options.field_validation)
        answer = self._answers[route.kind](content.user, route, obj)
        return Written(201, msgspec.json.encode(answer), warnings)

    def _self(self, user: User, route: Route, obj: Object) -> Object:
        metadata = {"creationTimestamp": timestamp(self._host.now())}
        return {"metadata": metadata, "status": {"userInfo": user.info()}}

    def _token(self, user: User, route: Route, obj: Object) -> Object:
        spec = part(obj, "spec")
        if not (token := spec.get("token", "")):
            raise bad_request("token is required for TokenReview in authentication")
        audiences = tuple(spec.get("audiences") or (ISSUER,))
        status: dict[str, Any]
        try:
            found, met = self._access.user_of(token, audiences)
        except InvalidToken as error:
            status = {"user": {}, "error": combined(list(dict.fromkeys(("invalid bearer token", str(error)))))}
        else:
            status = {"authenticated": True, "user": found.info(), "audiences": met}
        return {"metadata": {}, **obj, "status": status}

    def _own_access(self, user: User, route: Route, obj: Object) -> Object:
        spec = part(obj, "spec")
        check(_NAMELESS, "", (*_target_causes(spec), *_metadata_causes(obj, "must be empty")))
        return {"metadata": {}, **obj, "status": self._status(_asked(user, spec))}

    def _access_of_user(self, user: User, route: Route, obj: Object) -> Object:
        spec = part(obj, "spec")
        causes = (*_target_causes(spec), *_user_causes(spec), *_metadata_causes(obj, "must be empty"))
        check(_NAMELESS, "", causes)
        return {"metadata": {}, **obj, "status": self._status(_asked(_named_user(spec), spec))}

    def _local_access(self, user: User, route: Route, obj: Object) -> Object:
        spec = part(obj, "spec")
        if part(obj, "metadata").get("namespace", "") not in ("", route.namespace):
            raise bad_request("the namespace of the provided object does not match the namespace sent on the request")
        metadata = {**part(obj, "metadata"), "namespace": route.namespace}
        check(_NAMELESS, "", (*_target_causes(spec), *_user_causes(spec), *_local_causes(obj, spec, route.namespace)))
        return {"metadata": metadata, "spec": spec, "status": self._status(_asked(_named_user(spec), spec))}

    def _own_rules(self, user: User, route: Route, obj: Object) -> Object:
        if not (namespace := part(obj, "spec").get("namespace", "")):
            raise bad_request("no namespace on request")
        rules, problems = self._access.authorizer.rules_for(user, namespace)
        status: dict[str, Any] = {
            "resourceRules": [_shown(rule) for rule in rules if rule.resources],
            "nonResourceRules": [_shown(rule) for rule in rules if rule.urls],
            "incomplete": False,
        }
        if problems:
            status["evaluationError"] = combined(problems)
        return {"metadata": {}, "spec": {}, "status": status}

    def _status(self, asked: Attributes) -> dict[str, Any]:
        allowed, reason = self._access.authorizer.decide(asked)
        return {"allowed": allowed, "reason": reason} if reason else {"allowed": allowed}


def _asked(user: User, spec: Object) -> Attributes:
    """Return the question of a review about `user`."""
    if (target := spec.get(_PATH)) is not None:
        # An empty path is one, too; without a character it would count as a resource.
        return Attributes(user, target.get("verb", ""), path=target.get("path") or "\0")
    fields = ("verb", "group", "resource", "subresource", "namespace", "name")
    return Attributes(user, *(part(spec, _RESOURCE).get(field, "") for field in fields))


def _named_user(spec: Object) -> User:
    extra = {key: tuple(values or ()) for key, values in part(spec, "extra").items()}
    return User(spec.get("user", ""), spec.get("uid", ""), tuple(spec.get("groups") or ()), extra)


def _target_causes(spec: Object) -> Iterator[Cause]:
    resource, path = spec.get(_RESOURCE), spec.get(_PATH)
    if resource is not None and path is not None:
        text = "cannot be specified in combination with resourceAttributes"
        yield invalid(f"spec.{_PATH}", _in_go(path), text)
    if resource is None and path is None:
        text = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        yield invalid(f"spec.{_RESOURCE}", None, text)


def _user_causes(spec: Object) -> Iterator[Cause]:
    if not spec.get("user") and not spec.get("groups"):
        yield invalid("spec.user", "", "at least one of user or group must be specified")


def _metadata_causes(obj: Object, text: str, *allowed: str) -> Iterator[Cause]:
    metadata = part(obj, "metadata")
    if any(value for name, value in metadata.items() if name not in (*allowed, "managedFields")):
        yield invalid("metadata", metadata, text)


def _local_causes(obj: Object, spec: Object, namespace: str) -> Iterator[Cause]:
    yield from _metadata_causes(obj, "must be empty except for namespace", "namespace")
    resource, path = spec.get(_RESOURCE), spec.get(_PATH)
    if resource is not None and (sent := resource.get("namespace", "")) != namespace:
        yield invalid(f"spec.{_RESOURCE}.namespace", sent, "must match metadata.namespace")
    if path is not None:
        yield invalid(f"spec.{_PATH}", _in_go(path), "disallowed on this kind of request")


def _in_go(path: Object) -> Object:
    """Return attributes with the names that a real API server shows in refusals."""
    return {"Path": path.get("path", ""), "Verb": path.get("verb", "")}


def _shown(rule: Rule) -> Object:
    """Return a rule as a review lists it: either with resources or with paths."""
    places = {"apiGroups": rule.api_groups, "resources": rule.resources, "resourceNames": rule.resource_names}
    shown = {"verbs": rule.verbs, **(places if rule.resources else {"nonResourceURLs": rule.urls})}
    return {name: list(values) for name, values in shown.items() if values}
