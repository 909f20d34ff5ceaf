# SPDX-License-Identifier: Apache-2.0
"""`PodSecurity`: refuses, audits and warns of pods that violate the levels which their namespace sets."""

from __future__ import annotations

import functools
from collections.abc import Mapping

from embedded_apiserver.admission.pod_security.existing import LONGEST, in_order, warnings_of
from embedded_apiserver.admission.pod_security.levels import (
    LABELS,
    PREFIX,
    Level,
    LevelVersion,
    NamespaceLevels,
    policy_of,
)
from embedded_apiserver.admission.pod_security.table import violations
from embedded_apiserver.admission.step import Attributes, Step
from embedded_apiserver.audit_annotations import annotate
from embedded_apiserver.groups.all import KINDS
from embedded_apiserver.groups.core.kinds import NAMESPACE
from embedded_apiserver.groups.pods.kinds import POD
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause, internal, invalid

_MAKERS = tuple(kind for kind in KINDS if kind.template)  # the kinds that controllers make pods of
_ENFORCED, _VIOLATIONS, _ERROR = (PREFIX + key for key in ("enforce-policy", "audit-violations", "error"))
_PRIVILEGED = str(LevelVersion())


class PodSecurity(Step):
    """Checks pods and pod templates by the `pod-security.kubernetes.io/…` labels of their namespace.

    It knows the levels `baseline` and `restricted` with all checks of each version. Pods that violate the enforced
    level are refused. Pod templates only cause audit annotations and warnings.

    Invalid labels of a namespace are refused unless the old labels have the same errors. A change to a stricter level
    causes warnings about existing pods.
    """

    name = "PodSecurity"
    kinds = (NAMESPACE, POD, *_MAKERS)
    subresources = ("ephemeralcontainers", "resize")

    def validate(self, attributes: Attributes) -> None:
        if attributes.kind == NAMESPACE:
            self._check_labels(attributes)
        elif attributes.kind == POD:
            self._check_pod(attributes)
        else:
            self._check_template(attributes)

    def _check_pod(self, attributes: Attributes) -> None:
        labels = self._labels(attributes.namespace)
        if labels is None:
            failure = f'failed to lookup namespace "{attributes.namespace}"'
            annotate(_ERROR, f"Internal error occurred: {failure}: {_not_found(attributes.namespace)}")
            raise internal(failure)
        if LABELS.isdisjoint(labels):
            annotate(_ENFORCED, _PRIVILEGED)
            return
        policy, causes = policy_of(labels)
        if not causes and all(one.level is Level.PRIVILEGED for one in policy):
            annotate(_ENFORCED, _PRIVILEGED)
        elif attributes.old is None or is_significant(part(attributes.obj, "spec"), part(attributes.old, "spec")):
            self._judge(attributes, attributes.obj, policy, causes)

    def _check_template(self, attributes: Attributes) -> None:
        labels = self._labels(attributes.namespace)
        if labels is None:
            failure = f'failed to lookup namespace "{attributes.namespace}"'
            annotate(_ERROR, f"{failure}: {_not_found(attributes.namespace)}")
        elif not LABELS.isdisjoint(labels):
            policy, causes = policy_of(labels)
            template = functools.reduce(part, attributes.kind.template, attributes.obj)
            if template and (causes or any(one.level is not Level.PRIVILEGED for one in policy[1:])):
                self._judge(attributes, template, policy, causes)

    def _judge(self, attributes: Attributes, pod: Object, policy: NamespaceLevels, causes: list[Cause]) -> None:
        """Check a pod by a policy: refuse it, or record and warn of its violations. Templates are not refused."""
        if causes:
            annotate(_ERROR, f"Failed to parse policy: {_together(causes)}")
        found: dict[LevelVersion, str] = {}
        for asked in set(policy if attributes.kind == POD else policy[1:]):
            against = violations(asked, self._newest, part(pod, "metadata"), part(pod, "spec"))
            found[asked] = f'violate PodSecurity "{asked}": {", ".join(map(str, against))}' if against else ""
        if text := found[policy.audit]:
            annotate(_VIOLATIONS, f"would {text}")
        if attributes.kind == POD:
            annotate(_ENFORCED, str(policy.enforce))
            if text := found[policy.enforce]:
                raise attributes.refused(f"violates{text.removeprefix('violate')}")
        if text := found[policy.warn]:
            attributes.warn(f"would {text}")

    def _check_labels(self, attributes: Attributes) -> None:
        """Refuse faulty labels of a namespace, and warn of its pods that break the level that it enforces from now."""
        labels, before = _labels_of(attributes.obj), _labels_of(attributes.old or {})
        if LABELS.isdisjoint(labels):
            return
        (policy, causes), (old, old_causes) = policy_of(labels), policy_of(before)
        if causes and causes != old_causes:
            raise invalid(NAMESPACE, attributes.name, causes)
        if attributes.old is None or not is_stricter(policy.enforce, old.enforce):
            return
        namespace, host = attributes.name, self._around.host
        deadline = host.monotonic() + LONGEST
        _, items = self._storage.read(POD.resource, f"{namespace}/")
        pods = in_order([item.decode() for item in items])
        told = warnings_of(namespace, pods, policy.enforce, self._newest, lambda: host.monotonic() >= deadline)
        for text in told:
            attributes.warn(text)

    def _labels(self, namespace: str) -> Mapping[str, str] | None:
        """Return the labels of a namespace; None if there is no such namespace."""
        found = self._storage.get(NAMESPACE.resource, namespace)
        return None if found is None else found.labels()

    @property
    def _newest(self) -> int:
        return self._around.release.minor


def is_stricter(asked: LevelVersion, before: LevelVersion) -> bool:
    """Return whether pods that the level `before` allows may violate the level `asked`."""
    if asked == before or asked.level is Level.PRIVILEGED:
        return False
    return asked.minor != before.minor or asked.level.rank > before.level.rank


def is_significant(spec: Object, old: Object) -> bool:
    """Return whether an update of a pod is checked: only one that changes an image or the number of containers."""
    for group in ("containers", "initContainers"):
        if _images(spec, group) != _images(old, group):
            return True
    before = {one["name"]: one.get("image", "") for one in reversed(old.get("ephemeralContainers") or ())}
    return any(before.get(one["name"]) != one.get("image", "") for one in spec.get("ephemeralContainers") or ())


def _images(spec: Object, group: str) -> list[str]:
    return [one.get("image", "") for one in spec.get(group) or ()]


def _labels_of(namespace: Object) -> Mapping[str, str]:
    return part(part(namespace, "metadata"), "labels")


def _not_found(namespace: str) -> str:
    return f'namespaces "{namespace}" not found'


def _together(causes: list[Cause]) -> str:
    texts = list(dict.fromkeys(map(str, causes)))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
