# SPDX-License-Identifier: Apache-2.0
"""Impersonation: a client that may do so acts as another user, whom it names in headers.

There are two ways to be allowed to, and one suffices. Kubernetes 1.36 asks first for the constrained one: a right to
impersonate the user (`impersonate:user-info` and others by the sort of the user) and one to the request that is made
so (`impersonate-on:user-info:list`). The older one is the verb `impersonate` alone, for any request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple
from urllib.parse import unquote

from apimachinery.http import VALUE_SEPARATOR
from apimachinery.names import subdomain_errors
from embedded_apiserver.authorization.attributes import Attributes
from embedded_apiserver.authorization.authorizer import Authorizer, denied
from embedded_apiserver.authorization.policy import quoted
from embedded_apiserver.status import StatusError, bad_request
from embedded_apiserver.users import (
    ANONYMOUS,
    AUTHENTICATED,
    MASTERS,
    UNAUTHENTICATED,
    User,
    account_groups,
    account_of,
)

_PREFIX = "impersonate-"
_EXTRA_PREFIX = "impersonate-extra-"
_GROUP = "authentication.k8s.io"
_NODE_PREFIX, _NODES = "system:node:", "system:nodes"
_PATH = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
_NODE_NAME = "authentication.kubernetes.io/node-name"


def wanted_user(headers: Mapping[str, str]) -> User | None:
    """Return the user to impersonate, as named in a request's headers; None if the request does not impersonate.

    Raises:
        StatusError: 400, there are impersonation headers for groups, uid or extra, but not for the user's name.
    """
    for header in headers:  # of nearly all requests none; a comprehension would take twice as long to find out
        if header.startswith(_PREFIX):
            break
    else:
        return None
    found = {name: value for name, value in headers.items() if name.startswith(_PREFIX)}
    name, uid = (found.get(f"{_PREFIX}{part}", "").partition(VALUE_SEPARATOR)[0] for part in ("user", "uid"))
    groups = tuple(found["impersonate-group"].split(VALUE_SEPARATOR)) if "impersonate-group" in found else ()
    extra: dict[str, tuple[str, ...]] = {}
    for header, value in found.items():
        if header.startswith(_EXTRA_PREFIX):
            key = unquote(header.removeprefix(_EXTRA_PREFIX))
            extra[key] = (*extra.get(key, ()), *value.split(VALUE_SEPARATOR))
    user = User(name, uid, groups, extra)
    if not name and (uid or groups or extra):
        raise bad_request(f"requested {_in_go(user)} without impersonating a user name")
    return user if name else None


def impersonated(authorizer: Authorizer, asked: Attributes, wanted: User) -> User:
    """Return the impersonated user, after checking that the request's user may impersonate that user.

    Args:
        authorizer: Decides the permissions of users.
        asked: The attributes of the request, with its user.
        wanted: The result of `wanted_user`.

    Raises:
        StatusError: 403, the request's user may not impersonate that user.
    """
    refused: StatusError | None = None
    for mode in _modes(asked.user, wanted):
        try:
            if mode.name:
                authorizer.check(asked._replace(verb=f"impersonate-on:{mode.name}:{asked.verb}"))
            for attributes in _rights(mode, asked.user, wanted):
                authorizer.check(attributes)
        except StatusError as error:
            refused = refused or error  # the first is told, as by a real server
            continue
        return _complete(mode, wanted)
    assert refused is not None, "the last mode applies to all users"
    raise refused


class _Mode(NamedTuple):
    """One way to be allowed to impersonate.

    Attributes:
        name: The name of the constrained mode; empty for the older way.
        verb: The verb that is asked for.
    """

    name: str
    verb: str


_LEGACY = _Mode("", "impersonate")


def _modes(requestor: User, wanted: User) -> Iterator[_Mode]:
    is_plain = not (wanted.uid or wanted.groups or wanted.extra)
    node = _node_of(wanted.name)
    account = account_of(wanted.name)
    if node and is_plain:
        if account_of(requestor.name) and requestor.extra.get(_NODE_NAME) == (node,):
            yield _constrained("associated-node")
        yield _constrained("arbitrary-node")
    if account and is_plain:
        yield _constrained("serviceaccount")
    if not node and not account:
        yield _constrained("user-info")
    yield _LEGACY


def _constrained(name: str) -> _Mode:
    return _Mode(name, f"impersonate:{name}")


def _rights(mode: _Mode, requestor: User, wanted: User) -> Iterator[Attributes]:
    """Yield what the requestor must be allowed to, one right after the other.

    Raises:
        StatusError: 403, a constrained mode never allows it.
    """
    group = _GROUP if mode.name else ""
    base = Attributes(requestor, mode.verb, group)
    if account := account_of(wanted.name):
        yield base._replace(resource="serviceaccounts", namespace=account[0], name=account[1])
    elif mode.name and (node := _node_of(wanted.name)):
        yield base._replace(resource="nodes", name="*" if mode.name == "associated-node" else node)
    else:
        yield base._replace(resource="users", name=wanted.name)
    if wanted.uid:
        yield base._replace(group=_GROUP, resource="uids", name=wanted.uid)
    groups = base._replace(resource="groups")
    if mode.name and "" in wanted.groups:
        raise denied(groups, "impersonating the empty string group is not allowed")
    if mode.name and MASTERS in wanted.groups:
        raise denied(groups._replace(name=MASTERS), "impersonating the system:masters group is not allowed")
    for one in wanted.groups:
        yield groups._replace(name=one)
    extra = base._replace(group=_GROUP, resource="userextras")
    for key, values in wanted.extra.items():
        if mode.name and (problem := _key_problem(key)):
            raise denied(extra, problem)
        if mode.name and "" in values:
            raise denied(extra, "impersonating the empty string value in extra is not allowed")
        for value in values:
            yield extra._replace(subresource=key, name=value)


def _complete(mode: _Mode, wanted: User) -> User:
    """Return the user with the groups that every such user has."""
    groups = wanted.groups
    if mode.name and _node_of(wanted.name):
        groups = (_NODES,)
    elif not groups and (account := account_of(wanted.name)):
        groups = account_groups(account[0])
    if wanted.name == ANONYMOUS.name:
        added = UNAUTHENTICATED
    elif UNAUTHENTICATED not in groups:
        added = AUTHENTICATED
    else:
        added = ""
    return wanted._replace(groups=(*groups, added) if added and added not in groups else groups)


def _node_of(user_name: str) -> str:
    """Return the name of the node with this user name; empty if it is that of no node."""
    node = user_name.removeprefix(_NODE_PREFIX)
    return "" if node == user_name or next(iter(subdomain_errors(node)), None) else node


def _key_problem(key: str) -> str:
    """Return why a constrained mode does not allow a key of extra facts; empty if it does."""
    if not key:
        return "impersonating the empty string key in extra is not allowed"
    domain, slash, path = key.partition("/")
    if not slash or not domain or not path:
        text = 'must be a domain-prefixed path (such as "acme.io/foo")'
    elif problems := subdomain_errors(domain):
        text = next(iter(problems))
    elif not _PATH.fullmatch(path):
        text = "a valid path must consist of characters that paths of URLs may have"
    else:
        return ""
    return f"impersonating an invalid key in extra is not allowed: extra.key: Invalid value: {quoted(key)}: {text}"


def _in_go(user: User) -> str:
    """Return a user as Go shows the structure, which is the text of a real API server."""
    groups = "{" + ", ".join(map(quoted, user.groups)) + "}" if user.groups else "(nil)"
    pairs = (f"{quoted(key)}:[]string{{{', '.join(map(quoted, user.extra[key]))}}}" for key in sorted(user.extra))
    extra = "{" + ", ".join(pairs) + "}" if user.extra else "(nil)"
    names = f"Name:{quoted(user.name)}, UID:{quoted(user.uid)}"
    return f"&user.DefaultInfo{{{names}, Groups:[]string{groups}, Extra:map[string][]string{extra}}}"
