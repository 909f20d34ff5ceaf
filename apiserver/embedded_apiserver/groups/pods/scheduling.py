# SPDX-License-Identifier: Apache-2.0
"""Rules of the fields that say where a pod may run: tolerations, affinities, spreading, gates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from apimachinery.names import label_value_errors, qualified_name_errors
from embedded_apiserver.causes import duplicate, forbidden, invalid, not_supported, required
from embedded_apiserver.checks.basic import each, label, one_of, qualified_name
from embedded_apiserver.checks.selectors import label_selector, node_selector, node_selector_term
from embedded_apiserver.objects import Object
from embedded_apiserver.status import Cause

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_BOTH = "exists in both matchLabelKeys and labelSelector"
_REQUIRED, _PREFERRED = (f"{word}DuringSchedulingIgnoredDuringExecution" for word in ("required", "preferred"))
_COMPARED = ("Equal", "Exists", "Lt", "Gt")


def tolerations(given: Sequence[Object], place: str) -> Iterator[Cause]:
    """Return the validation errors of a pod's tolerations."""
    for index, one in enumerate(given):
        field, key, operator = f"{place}[{index}]", one.get("key", ""), one.get("operator", "")
        value, effect = one.get("value", ""), one.get("effect", "")
        if key:
            yield from each(qualified_name_errors, key, f"{field}.key")
        elif operator != "Exists":
            text = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            yield invalid(f"{field}.operator", operator, text)
        if one.get("tolerationSeconds") is not None and effect != "NoExecute":
            yield invalid(f"{field}.effect", effect, "effect must be 'NoExecute' when `tolerationSeconds` is set")
        if operator in ("Equal", ""):
            if problems := label_value_errors(value):
                yield invalid(f"{field}.operator", value, ";".join(problems))
        elif operator == "Exists":
            if value:
                yield invalid(f"{field}.operator", value, "value must be empty when `operator` is 'Exists'")
        else:
            supported = _COMPARED if operator in _COMPARED else ("Equal", "Exists")
            yield not_supported(f"{field}.operator", operator, supported)
        if effect:
            yield from one_of(effect, EFFECTS, f"{field}.effect")


def affinity(given: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of a pod's affinity."""
    if (node := given.get("nodeAffinity")) is not None:
        field = f"{place}.nodeAffinity"
        if (selector := node.get(_REQUIRED)) is not None:
            yield from node_selector(selector, f"{field}.{_REQUIRED}")
        for index, term in enumerate(node.get(_PREFERRED) or ()):
            item = f"{field}.{_PREFERRED}[{index}]"
            yield from _weight(term, item)
            yield from node_selector_term(term.get("preference") or {}, f"{item}.preference", checks_values=False)
    for name in ("podAffinity", "podAntiAffinity"):
        if (pods := given.get(name)) is None:
            continue
        for index, term in enumerate(pods.get(_REQUIRED) or ()):
            yield from _pod_term(term, f"{place}.{name}.{_REQUIRED}[{index}]")
        for index, term in enumerate(pods.get(_PREFERRED) or ()):
            item = f"{place}.{name}.{_PREFERRED}[{index}]"
            yield from _weight(term, item)
            yield from _pod_term(term.get("podAffinityTerm") or {}, f"{item}.podAffinityTerm")


def _weight(term: Object, place: str) -> Iterator[Cause]:
    if not 1 <= (weight := term.get("weight", 0)) <= 100:
        yield invalid(f"{place}.weight", weight, "must be in the range 1-100")


def _pod_term(term: Object, place: str) -> Iterator[Cause]:
    yield from label_selector(term.get("labelSelector"), f"{place}.labelSelector")
    yield from label_selector(term.get("namespaceSelector"), f"{place}.namespaceSelector")
    for name in term.get("namespaces") or ():
        yield from label(name, f"{place}.namespace")
    yield from _label_keys(term, place)
    key = term.get("topologyKey", "")
    if not key:
        yield required(f"{place}.topologyKey", "can not be empty")
    yield from qualified_name(key, f"{place}.topologyKey")


def _label_keys(term: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of the keys that are matched between pods."""
    selector = term.get("labelSelector")
    keys, others = term.get("matchLabelKeys") or (), term.get("mismatchLabelKeys") or ()
    for name, given in (("matchLabelKeys", keys), ("mismatchLabelKeys", others)):
        if given and selector is None:
            yield forbidden(f"{place}.{name}", "must not be specified when labelSelector is not set")
        elif given:
            for index, key in enumerate(given):
                yield from qualified_name(key, f"{place}.{name}[{index}]")
    places = {key: index for index, key in enumerate(keys)}
    known = set((selector or {}).get("matchLabels") or ())
    for expression in (selector or {}).get("matchExpressions") or ():
        key = expression.get("key", "")
        if key in places and key in known:
            yield invalid(f"{place}[{places[key]}]", key, _BOTH)
        known.add(key)
    for index, key in enumerate(keys):
        if key in others:
            text = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield invalid(f"{place}.matchLabelKeys[{index}]", key, text)


def spread_constraints(given: Sequence[Object], place: str) -> Iterator[Cause]:
    """Return the validation errors of a pod's topology spread constraints."""
    last = {(one.get("topologyKey", ""), one.get("whenUnsatisfiable", "")): index for index, one in enumerate(given)}
    for index, one in enumerate(given):
        field, key, action = f"{place}[{index}]", one.get("topologyKey", ""), one.get("whenUnsatisfiable", "")
        if (skew := one.get("maxSkew", 0)) <= 0:
            yield invalid(f"{field}.maxSkew", skew, "must be greater than zero")
        if not key:
            yield required(f"{field}.topologyKey", "can not be empty")
        yield from one_of(action, ("DoNotSchedule", "ScheduleAnyway"), f"{field}.whenUnsatisfiable")
        if last[key, action] > index:
            yield duplicate(f"{field}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}")
        if (domains := one.get("minDomains")) is not None:
            if domains <= 0:
                yield invalid(f"{field}.minDomains", domains, "must be greater than zero")
            if action != "DoNotSchedule":
                text = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
                yield invalid(f"{field}.minDomains", domains, text)
        for name in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if (policy := one.get(name)) is not None:
                yield from one_of(policy, ("Honor", "Ignore"), f"{field}.{name}")
        yield from _label_keys(one, field)
        yield from label_selector(one.get("labelSelector"), f"{field}.labelSelector")


def gates(given: Sequence[Object], place: str) -> Iterator[Cause]:
    """Return the validation errors of a pod's scheduling gates."""
    seen = set()
    for index, gate in enumerate(given):
        field, name = f"{place}[{index}]", gate.get("name", "")
        yield from qualified_name(name, field)
        if name in seen:
            yield duplicate(field, name)
        seen.add(name)


def taints(given: Sequence[Object], place: str) -> Iterator[Cause]:
    """Return the validation errors of the taints of a node."""
    seen = set()
    for index, taint in enumerate(given):
        field, key, effect = f"{place}[{index}]", taint.get("key", ""), taint.get("effect", "")
        yield from qualified_name(key, f"{field}.key")
        if problems := label_value_errors(taint.get("value", "")):
            yield invalid(f"{field}.value", taint["value"], ";".join(problems))
        if not effect:
            yield required(f"{field}.effect")
        else:
            yield from one_of(effect, EFFECTS, f"{field}.effect")
        if (key, effect) in seen:
            # A real server shows the fields as Go names them.
            shown = {"Key": key, "Value": taint.get("value", ""), "Effect": effect, "TimeAdded": taint.get("timeAdded")}
            yield duplicate(field, shown, "taints must be unique by key and effect pair")
        seen.add((key, effect))


_FEATURE = re.compile(r"[A-Z][a-zA-Z0-9]*(\/[a-zA-Z][a-zA-Z0-9]*)*")


def is_feature_name(name: str) -> bool:
    """Return whether a text is a valid name of a node's declared feature."""
    return _FEATURE.fullmatch(name) is not None
