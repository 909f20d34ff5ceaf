# SPDX-License-Identifier: Apache-2.0
"""How a real API server stores the fields of each built-in type, as data recorded from API servers.

`tests/tools/record_release.py` records the data again. They are loaded at first use, in about a millisecond.
"""

from __future__ import annotations

import functools
import gzip
from collections.abc import Collection, Mapping
from importlib import resources
from typing import Any, NamedTuple

import msgspec

from embedded_apiserver.kinds.recorded import as_in
from embedded_apiserver.kinds.release import NEWEST, Release

_DATA = "data/stored-forms-1.36.json.gz"
# Definitions are stored as JSON, all other built-in kinds as protobuf, in which a list without elements is no list.
_AS_JSON = "io.k8s.apiextensions-apiserver."

# Fields that a real server takes and does not store, because their features are off by default.
_OFF: Mapping[str, tuple[str, ...]] = {
    "io.k8s.api.apps.v1.RollingUpdateStatefulSetStrategy": ("maxUnavailable",),
    "io.k8s.api.core.v1.Lifecycle": ("stopSignal",),
    "io.k8s.api.core.v1.PodSpec": ("schedulingGroup",),
    "io.k8s.api.resource.v1.Device": ("nodeAllocatableResourceMappings",),
    "io.k8s.api.storage.v1.CSIDriverSpec": ("preventPodSchedulingIfMissing",),
    "io.k8s.api.core.v1.VolumeProjection": ("clusterTrustBundle", "podCertificate"),
}
# Fields whose default depends on more than their absence, so that it is left to `type_defaults`.
_LEFT: Mapping[str, tuple[str, ...]] = {
    "io.k8s.api.apps.v1.StatefulSetUpdateStrategy": ("type",),
    "io.k8s.api.networking.v1.NetworkPolicySpec": ("policyTypes",),
}
# A field whose default its rules give, since it depends on annotations; its zero is kept.
_BY_RULES = ("io.k8s.api.autoscaling.v1.HorizontalPodAutoscalerSpec", "targetCPUUtilizationPercentage")
# Stored as null by a real server when they are absent, but refused then: rules see them as absent.
_REFUSED_WITHOUT = (
    *("conditions", "containers", "monitors", "nodeSelectorTerms", "pathType", "selector", "storedVersions"),
    *("values", "verbs", "versions"),
)
_HOOKS = "io.k8s.api.admissionregistration.v1."


class StoredForm(NamedTuple):
    """The stored form of one type's fields.

    Attributes:
        defaults: The values of absent fields; None for a field that is stored as null.
        zeros: By field, the value that is stored in place of the zero value (empty text, 0, false, empty list or map);
            None if the field is left out, or stored as null if that is its default. The zero values of other fields are
            stored.
        nulls: The names of lists and maps that are stored as null when they are empty.
    """

    defaults: Mapping[str, Any]
    zeros: Mapping[str, Any]
    nulls: tuple[str, ...] = ()


_ANY_HOOK: Mapping[str, Any] = {
    "failurePolicy": "Fail",
    "matchPolicy": "Equivalent",
    "namespaceSelector": {},
    "objectSelector": {},
    "timeoutSeconds": 10,
}
_NO_RULES: Mapping[str, Any] = {"rules": None, "matchConditions": None}
# The types of the kinds that no webhook is shown, so that a server cannot be asked by one: from its answers.
_UNSHOWN: Mapping[str, StoredForm] = {
    f"{_HOOKS}MutatingWebhook": StoredForm({**_ANY_HOOK, "reinvocationPolicy": "Never"}, _NO_RULES),
    f"{_HOOKS}ValidatingWebhook": StoredForm(_ANY_HOOK, _NO_RULES),
    f"{_HOOKS}MutatingWebhookConfiguration": StoredForm({}, {"webhooks": None}),
    f"{_HOOKS}ValidatingWebhookConfiguration": StoredForm({}, {"webhooks": None}),
    f"{_HOOKS}RuleWithOperations": StoredForm(
        {"scope": "*"}, dict.fromkeys(("operations", "apiGroups", "apiVersions", "resources"))
    ),
    f"{_HOOKS}ValidatingAdmissionPolicySpec": StoredForm(
        {"failurePolicy": "Fail"}, dict.fromkeys(("validations", "auditAnnotations", "matchConditions", "variables"))
    ),
    f"{_HOOKS}MutatingAdmissionPolicySpec": StoredForm(
        {"failurePolicy": "Fail"}, dict.fromkeys(("mutations", "matchConditions", "variables"))
    ),
    f"{_HOOKS}ValidatingAdmissionPolicyBindingSpec": StoredForm({}, {"validationActions": None}),
    f"{_HOOKS}MatchResources": StoredForm(
        {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}},
        dict.fromkeys(("resourceRules", "excludeResourceRules")),
    ),
    f"{_HOOKS}NamedRuleWithOperations": StoredForm(
        {"scope": "*"}, dict.fromkeys(("operations", "apiGroups", "apiVersions", "resources", "resourceNames"))
    ),
    f"{_HOOKS}ServiceReference": StoredForm({"port": 443}, {}),
    f"{_HOOKS}WebhookClientConfig": StoredForm({}, {"caBundle": None}),
}


def stored_form_of(name: str, release: Release = NEWEST) -> StoredForm | None:
    """Return the defaults and zero values with which a release of Kubernetes stores a type; None if none were recorded.

    Args:
        name: The name of the type in the schema, such as `io.k8s.api.core.v1.Container`.
        release: The release, from whose API server the facts were recorded.
    """
    return _forms(release).get(name)


def defaults_of(name: str, release: Release = NEWEST) -> Mapping[str, Any]:
    """Return the default values of a type's fields, by name; empty if it has none."""
    form = stored_form_of(name, release)
    return {} if form is None else form.defaults


@functools.cache
def off_in(release: Release) -> Mapping[str, Collection[str]]:
    """Return, by type, the fields that a release's server in its default configuration accepts but does not store."""
    newest = {name: dict.fromkeys(fields) for name, fields in _OFF.items()}
    found: Mapping[str, Collection[str]] = as_in(str(release), "off", newest)
    return found


@functools.cache
def _forms(release: Release) -> Mapping[str, StoredForm]:
    packed = resources.files(__package__).joinpath(_DATA).read_bytes()
    newest: dict[str, dict[str, Any]] = msgspec.json.decode(gzip.decompress(packed))
    raw = as_in(str(release), "forms", newest)
    return {**{name: _form(name, facts) for name, facts in raw.items()}, **_UNSHOWN}


def _form(name: str, facts: Mapping[str, Any]) -> StoredForm:
    known: Mapping[str, Any] = facts.get("defaults", {})
    defaults = {field: value for field, value in known.items() if value is not None or field not in _REFUSED_WITHOUT}
    zeros: dict[str, Any] = dict.fromkeys(facts.get("dropped", ()))
    zeros |= {field: defaults.get(field) for field in facts.get("filled", ())}
    # A selector without terms is not a missing one: rules tell them apart.
    nulls = tuple(field for field, value in known.items() if value is None and field != "selector")
    nulls = () if name.startswith(_AS_JSON) else nulls
    if name == _BY_RULES[0]:
        defaults = {field: value for field, value in defaults.items() if field != _BY_RULES[1]}
    if left := _LEFT.get(name):
        defaults = {field: value for field, value in defaults.items() if field not in left}
        zeros |= dict.fromkeys(left)
    return StoredForm(defaults, zeros, nulls)
