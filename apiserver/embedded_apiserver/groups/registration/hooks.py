# SPDX-License-Identifier: Apache-2.0
"""Rules of the configurations of admission webhooks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apimachinery.names import service_name_errors, subdomain_errors
from embedded_apiserver.causes import duplicate, invalid, not_supported, required
from embedded_apiserver.cel.admission import admission_environment
from embedded_apiserver.checks.basic import each, given_one_of
from embedded_apiserver.checks.client_configs import client_config
from embedded_apiserver.checks.expressions import match_conditions
from embedded_apiserver.checks.selectors import label_selector
from embedded_apiserver.objects import Object
from embedded_apiserver.status import Cause

_HARMLESS = ("None", "NoneOnDryRun")
_REVIEWS = ("v1", "v1beta1")
_LONGEST = 30  # seconds
_SEGMENTS = 3
_WORDS: Mapping[str, tuple[str, ...]] = {
    "failurePolicy": ("Fail", "Ignore"),
    "matchPolicy": ("Equivalent", "Exact"),
}
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_SCOPES = ("*", "Cluster", "Namespaced")

Hook = Mapping[str, Any]


def configuration(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a MutatingWebhookConfiguration or ValidatingWebhookConfiguration."""
    seen = set()
    for index, hook in enumerate(obj.get("webhooks") or ()):
        place = f"webhooks[{index}]"
        yield from _hook(hook, place)
        yield from _versions(hook.get("admissionReviewVersions") or (), f"{place}.admissionReviewVersions")
        name = hook.get("name", "")
        if name and name in seen:
            yield duplicate(f"{place}.name", name)
        seen.add(name)


def _hook(hook: Hook, place: str) -> Iterator[Cause]:
    yield from _name(hook.get("name", ""), f"{place}.name")
    for index, rule in enumerate(hook.get("rules") or ()):
        yield from rule_causes(rule, f"{place}.rules[{index}]")
    for field, words in _WORDS.items():
        yield from _word(hook, field, words, place)
    if "sideEffects" not in hook:
        yield required(f"{place}.sideEffects", f"must specify one of {', '.join(_HARMLESS)}")
    else:
        yield from _word(hook, "sideEffects", _HARMLESS, place)
    if not 1 <= (seconds := hook.get("timeoutSeconds", 1)) <= _LONGEST:
        text = f"the timeout value must be between 1 and {_LONGEST} seconds"
        yield invalid(f"{place}.timeoutSeconds", seconds, text)
    for field in ("namespaceSelector", "objectSelector"):
        yield from label_selector(hook.get(field), f"{place}.{field}")
    yield from _word(hook, "reinvocationPolicy", ("IfNeeded", "Never"), place)
    yield from client_config(hook.get("clientConfig") or {}, f"{place}.clientConfig")
    conditions = hook.get("matchConditions") or ()
    yield from match_conditions(conditions, f"{place}.matchConditions", admission_environment())


def _word(hook: Hook, field: str, words: tuple[str, ...], place: str) -> Iterator[Cause]:
    if hook.get(field) is not None and hook[field] not in words:
        yield not_supported(f"{place}.{field}", hook[field], words)


def _name(name: str, place: str) -> Iterator[Cause]:
    if not name:
        yield required(place)
    elif problems := subdomain_errors(name):
        yield invalid(place, name, ",".join(problems))
    elif len(name.split(".")) < _SEGMENTS:
        yield invalid(place, name, "should be a domain with at least three segments separated by dots")


def _versions(versions: Sequence[str], place: str) -> Iterator[Cause]:
    if not versions:
        yield required(place, f"must specify one of {', '.join(_REVIEWS)}")
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield invalid(f"{place}[{index}]", version, "duplicate version")
        else:
            yield from each(service_name_errors, version, f"{place}[{index}]")
    if not any(version in _REVIEWS for version in versions):
        yield invalid(place, list(versions), f"must include at least one of {', '.join(_REVIEWS)}")


def rule_causes(rule: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of a rule that selects writes; `place` is its path."""
    operations = rule.get("operations") or ()
    yield from _listed(operations, f"{place}.operations", "operations")
    for index, one in enumerate(operations):
        if one not in _OPERATIONS:
            yield not_supported(f"{place}.operations[{index}]", one, _OPERATIONS)
    yield from _listed(rule.get("apiGroups") or (), f"{place}.apiGroups", "API groups")
    versions = rule.get("apiVersions") or ()
    yield from _listed(versions, f"{place}.apiVersions", "API versions")
    yield from (required(f"{place}.apiVersions[{index}]") for index, one in enumerate(versions) if not one)
    yield from _resources(rule.get("resources") or (), f"{place}.resources")
    yield from given_one_of(rule.get("scope"), _SCOPES, f"{place}.scope")


def _listed(values: Sequence[str], place: str, what: str) -> Iterator[Cause]:
    if not values:
        yield required(place)
    elif len(values) > 1 and "*" in values:
        yield invalid(place, list(values), f"if '*' is present, must not specify other {what}")


def _resources(resources: Sequence[str], place: str) -> Iterator[Cause]:
    if not resources:
        yield required(place)
    all_parts, all_resources, is_alone = set(), set(), False
    for index, text in enumerate(resources):
        field = f"{place}[{index}]"
        if not text:
            yield required(field)
            continue
        resource, slash, part = text.partition("/")
        if not slash:
            is_alone = text != "*"  # as a real server, which looks at the last one
            continue
        if resource in all_parts:
            yield invalid(field, text, f"if '{resource}/*' is present, must not specify {text}")
        if part in all_resources:
            yield invalid(field, text, f"if '*/{part}' is present, must not specify {text}")
        if part == "*":
            all_parts.add(resource)
        if resource == "*":
            all_resources.add(part)
    if len(resources) > 1 and "*/*" in resources:
        yield invalid(place, list(resources), "if '*/*' is present, must not specify other resources")
    if "*" in resources and is_alone:
        text = "if '*' is present, must not specify other resources without subresources"
        yield invalid(place, list(resources), text)
