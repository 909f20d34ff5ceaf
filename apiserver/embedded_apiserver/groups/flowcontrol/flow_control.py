# SPDX-License-Identifier: Apache-2.0
"""Rules of flow schemas and priority levels, by which a real API server shares itself out among its clients."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apimachinery.names import label_errors, subdomain_errors
from embedded_apiserver.causes import duplicate, forbidden, invalid, not_supported, required
from embedded_apiserver.checks.basic import each
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause

_EXEMPT = "exempt"
_LAST_PRECEDENCE = 10000
_MOST_QUEUES = 10_000_000
_HASH_BITS = 60
_DISTINGUISHED = ("ByNamespace", "ByUser")
_VERBS = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_SUBJECTS = {"ServiceAccount": "serviceAccount", "User": "user", "Group": "group"}
_RESPONSES = ("Queue", "Reject")
_LEVELS = ("Exempt", "Limited")
_NAMESPACE = "each member of this list must be '*' or a DNS-1123 label; "


def flow_schema(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a FlowSchema, its status included."""
    spec = part(obj, "spec")
    precedence, field = spec.get("matchingPrecedence", 0), "spec.matchingPrecedence"
    if precedence <= 0:
        yield invalid(field, precedence, "must be a positive value")
    if precedence > _LAST_PRECEDENCE:
        yield invalid(field, precedence, f"must not be greater than {_LAST_PRECEDENCE}")
    if precedence == 1 and obj["metadata"]["name"] != _EXEMPT:
        yield invalid(field, precedence, "only the schema named 'exempt' may have matchingPrecedence 1")
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in _DISTINGUISHED:
        shown = {"Type": method.get("type", "")}
        yield not_supported("spec.distinguisherMethod.type", shown, _DISTINGUISHED)
    level = part(spec, "priorityLevelConfiguration").get("name", "")
    if level:
        yield from each(subdomain_errors, level, "spec.priorityLevelConfiguration.name")
    else:
        yield required("spec.priorityLevelConfiguration.name", "must reference a priority level")
    for index, rule in enumerate(spec.get("rules") or ()):
        yield from _rule(rule, f"spec.rules[{index}]")
    yield from _conditions(obj)


def _conditions(obj: Object) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, one in enumerate(part(obj, "status").get("conditions") or ()):
        place, kind = f"status.conditions[{index}].type", one.get("type", "")
        if kind in seen:
            yield duplicate(place, kind)
        seen.add(kind)
        if not kind:
            yield required(place)


def flow_status(old: Object, new: Object) -> Iterator[Cause]:
    """Return the validation errors of an update of the status of a FlowSchema or PriorityLevelConfiguration."""
    return _conditions(new)


def _rule(rule: Object, place: str) -> Iterator[Cause]:
    subjects = rule.get("subjects") or ()
    if not subjects:
        yield required(f"{place}.subjects", "subjects must contain at least one value")
    for index, subject in enumerate(subjects):
        yield from _subject(subject, f"{place}.subjects[{index}]")
    on_objects, on_paths = rule.get("resourceRules") or (), rule.get("nonResourceRules") or ()
    if not on_objects and not on_paths:
        yield required(place, "at least one of resourceRules and nonResourceRules has to be non-empty")
    for index, one in enumerate(on_objects):
        yield from _on_objects(one, f"{place}.resourceRules[{index}]")
    for index, one in enumerate(on_paths):
        yield from _on_paths(one, f"{place}.nonResourceRules[{index}]")


def _subject(subject: Object, place: str) -> Iterator[Cause]:
    kind = subject.get("kind", "")
    if kind not in _SUBJECTS:
        yield not_supported(f"{place}.kind", kind, sorted(_SUBJECTS))
        return
    own = _SUBJECTS[kind]
    if (given := subject.get(own)) is None:
        yield required(f"{place}.{own}", f"{own} is required when subject kind is '{kind}'")
    else:
        yield from _named(given, own, f"{place}.{own}")
    for other, name in _SUBJECTS.items():
        if other != kind and subject.get(name) is not None:
            yield forbidden(f"{place}.{name}", f"{name} is forbidden when subject kind is not '{other}'")


def _named(given: Object, own: str, place: str) -> Iterator[Cause]:
    name = given.get("name", "")
    if not name:
        yield required(f"{place}.name")
    elif own == "serviceAccount" and name != "*":
        yield from each(subdomain_errors, name, f"{place}.name")
    if own == "serviceAccount":
        if namespace := given.get("namespace"):
            yield from each(label_errors, namespace, f"{place}.namespace")
        else:
            yield required(f"{place}.namespace", "must specify namespace for service account")


def _verbs(rule: Object, place: str) -> Iterator[Cause]:
    verbs = rule.get("verbs") or ()
    if not verbs:
        yield required(f"{place}.verbs", "verbs must contain at least one value")
    elif "*" in verbs:
        yield from _alone(verbs, f"{place}.verbs", "verbs")
    elif not set(verbs) <= set(_VERBS):
        yield not_supported(f"{place}.verbs", verbs, _VERBS)


def _alone(values: Sequence[str], field: str, what: str) -> Iterator[Cause]:
    if "*" in values and len(values) > 1:
        yield invalid(field, values, f"if '*' is present, must not specify other {what}")


def _on_objects(rule: Object, place: str) -> Iterator[Cause]:
    yield from _verbs(rule, place)
    for name, one, many in (("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")):
        values = rule.get(name) or ()
        if not values:
            yield required(f"{place}.{name}", f"resource rules must supply at least one {one}")
        yield from _alone(values, f"{place}.{name}", many)
    namespaces, field = rule.get("namespaces") or (), f"{place}.namespaces"
    if not namespaces and not rule.get("clusterScope"):
        text = "resource rules that are not cluster scoped must supply at least one namespace"
        yield required(field, text)
    elif "*" in namespaces:
        yield from _alone(namespaces, field, "namespaces")
    else:
        for index, one in enumerate(namespaces):
            yield from (invalid(f"{field}[{index}]", one, _NAMESPACE + text) for text in label_errors(one))


def _on_paths(rule: Object, place: str) -> Iterator[Cause]:
    yield from _verbs(rule, place)
    urls, field = rule.get("nonResourceURLs") or (), f"{place}.nonResourceURLs"
    if not urls:
        yield required(field, "nonResourceURLs must contain at least one value")
    elif "*" in urls:
        yield from _alone(urls, field, "non-resource URLs")
    else:
        for index, one in enumerate(urls):
            if problem := _path_problem(one):
                yield invalid(f"{field}[{index}]", one, problem)


def _path_problem(path: str) -> str:
    if not path:
        return "must not be empty"
    if path == "/":
        return ""
    if not path.startswith("/"):
        return "must start with slash"
    if " " in path:
        return "must not contain white-space"
    if "//" in path:
        return "must not contain double slash"
    stars = path.count("*")
    is_suffix = stars == 1 and path.endswith("/*")
    return "" if not stars or is_suffix else "wildcard can only do suffix matching"


def priority_level(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a PriorityLevelConfiguration, its status included."""
    spec = part(obj, "spec")
    kind, limited, exempt = spec.get("type", ""), spec.get("limited"), spec.get("exempt")
    if (obj["metadata"]["name"] == _EXEMPT) != (kind == "Exempt"):
        yield invalid("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'")
    if kind not in _LEVELS:
        yield not_supported("spec.type", kind, _LEVELS)
    elif kind == "Exempt":
        if limited is not None:
            yield forbidden("spec.limited", "must be nil if the type is not Limited")
        if exempt is not None:
            yield from _shares(exempt, "spec.exempt")
            yield from _lent(exempt, "spec.exempt")
    else:
        if exempt is not None:
            yield forbidden("spec.exempt", "must be nil if the type is Limited")
        if limited is None:
            yield required("spec.limited", "must not be empty when type is Limited")
        else:
            yield from _limited(limited, "spec.limited")
    yield from _conditions(obj)


def _shares(level: Object, place: str) -> Iterator[Cause]:
    if (shares := level.get("nominalConcurrencyShares") or 0) < 0:
        yield invalid(f"{place}.nominalConcurrencyShares", shares, "must be a non-negative integer")


def _lent(level: Object, place: str) -> Iterator[Cause]:
    if not 0 <= (percent := level.get("lendablePercent") or 0) <= 100:
        yield invalid(f"{place}.lendablePercent", percent, "must be between 0 and 100, inclusive")


def _limited(limited: Object, place: str) -> Iterator[Cause]:
    yield from _shares(limited, place)
    response = part(limited, "limitResponse")
    kind, queuing, field = response.get("type", ""), response.get("queuing"), f"{place}.limitResponse"
    if kind not in _RESPONSES:
        yield not_supported(f"{field}.type", kind, _RESPONSES)
    elif kind == "Reject" and queuing is not None:
        yield forbidden(f"{field}.queuing", "must be nil if limited.limitResponse.type is not Limited")
    elif kind == "Queue" and queuing is None:
        yield required(f"{field}.queuing", "must not be empty if limited.limitResponse.type is Limited")
    elif kind == "Queue" and queuing is not None:
        yield from _queuing(queuing, f"{field}.queuing")
    yield from _lent(limited, place)
    if (percent := limited.get("borrowingLimitPercent") or 0) < 0:
        yield invalid(f"{place}.borrowingLimitPercent", percent, "if specified, must be a non-negative integer")


def _queuing(queuing: Object, place: str) -> Iterator[Cause]:
    names = ("queueLengthLimit", "queues", "handSize")
    length, queues, hand = (queuing.get(name, 0) for name in names)
    if length <= 0:
        yield invalid(f"{place}.queueLengthLimit", length, "must be positive")
    if queues <= 0:
        yield invalid(f"{place}.queues", queues, "must be positive")
    elif queues > _MOST_QUEUES:
        yield invalid(f"{place}.queues", queues, f"must not be greater than {_MOST_QUEUES}")
    if hand <= 0:
        yield invalid(f"{place}.handSize", hand, "must be positive")
    elif hand > queues:
        yield invalid(f"{place}.handSize", hand, f"should not be greater than queues ({queues})")
    elif _bits(queues) * hand > _HASH_BITS:
        text = f"required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {_HASH_BITS}"
        yield invalid(f"{place}.handSize", hand, text)


def _bits(queues: int) -> int:
    """Return how many bits choose one of so many queues."""
    return (queues - 1).bit_length()
