# SPDX-License-Identifier: Apache-2.0
"""`LimitRanger`: the defaults and the limits of resources that a namespace sets for pods and claims."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from apimachinery.quantities import parse_quantity
from embedded_apiserver.admission.pod_resources import containers_of, of_pod
from embedded_apiserver.admission.step import Attributes, Operation, Step
from embedded_apiserver.groups.core.kinds import LIMIT_RANGE
from embedded_apiserver.groups.pods.kinds import CLAIM, POD
from embedded_apiserver.objects import Object, part
from embedded_apiserver.typed.pod_amounts import Amounts, amounts
from embedded_apiserver.typed.quantity_text import quantity_text

_ANNOTATION = "kubernetes.io/limit-ranger"
_GROUPS = (("containers", "container"), ("initContainers", "init container"))


class LimitRanger(Step):
    """Sets default requests and limits of containers from the `LimitRange`s, and refuses pods and claims that violate
    them.
    """

    name = "LimitRanger"
    kinds = (POD, CLAIM)

    def is_idle(self) -> bool:
        return self._storage.is_empty(LIMIT_RANGE.resource)

    def admit(self, attributes: Attributes) -> Object:
        if attributes.kind != POD or attributes.operation is Operation.UPDATE:
            return attributes.obj
        obj = attributes.obj
        for limits in self._limits(attributes.namespace):
            obj = _with_defaults(obj, limits)
        return obj

    def validate(self, attributes: Attributes) -> None:
        if attributes.operation is Operation.UPDATE and (attributes.kind == POD or _is_leaving(attributes.old)):
            return
        for limits in self._limits(attributes.namespace):
            errors = list(_errors(attributes, limits))
            if errors:
                raise attributes.refused(errors[0] if len(errors) == 1 else f"[{', '.join(dict.fromkeys(errors))}]")

    def _limits(self, namespace: str) -> Iterator[Sequence[Object]]:
        for item in self._storage.read(LIMIT_RANGE.resource, f"{namespace}/").items:
            yield part(item.decode(), "spec").get("limits") or ()


def _is_leaving(old: Object | None) -> bool:
    return old is not None and "deletionTimestamp" in old["metadata"]


def _with_defaults(pod: Object, limits: Sequence[Object]) -> Object:
    """Return a pod whose containers have the default requests and limits, and an annotation that says so."""
    of_containers = [limit for limit in limits if limit.get("type") == "Container"]
    requests = {name: text for limit in of_containers for name, text in part(limit, "defaultRequest").items()}
    most = {name: text for limit in of_containers for name, text in part(limit, "default").items()}
    spec, notes = dict(part(pod, "spec")), []
    for group, title in _GROUPS:
        if group not in spec:
            continue
        made = []
        for container in spec[group]:
            resources = dict(part(container, "resources"))
            for side, defaults in (("requests", requests), ("limits", most)):
                known = part(resources, side)
                if missing := {name: text for name, text in defaults.items() if name not in known}:
                    resources[side] = {**known, **missing}
                    notes.append(f"{', '.join(sorted(missing))} {side[:-1]} for {title} {container.get('name', '')}")
            made.append({**container, "resources": resources})
        spec[group] = made
    if not notes:
        return pod
    metadata = pod.get("metadata", {})
    annotations = {**(metadata.get("annotations") or {}), _ANNOTATION: f"LimitRanger plugin set: {'; '.join(notes)}"}
    return {**pod, "metadata": {**metadata, "annotations": annotations}, "spec": spec}


class _Used(NamedTuple):
    """The resources of a container, a pod or a claim, as texts; of a claim only requests are looked at."""

    requests: Mapping[str, str]
    limits: Mapping[str, str]
    is_claim: bool = False


def _errors(attributes: Attributes, limits: Sequence[Object]) -> Iterator[str]:
    for limit in limits:
        type_ = limit.get("type", "")
        for used in _concerned(attributes, type_):
            for name, text in part(limit, "min").items():
                yield from _below(type_, name, text, used)
            for name, text in part(limit, "max").items():
                yield from _above(type_, name, text, used)
            for name, text in part(limit, "maxLimitRequestRatio").items():
                yield from _ratio(type_, name, text, used)


def _concerned(attributes: Attributes, type_: str) -> Iterator[_Used]:
    obj = attributes.obj
    if attributes.kind == CLAIM:
        if type_ == "PersistentVolumeClaim":
            yield _Used(part(part(part(obj, "spec"), "resources"), "requests"), {}, is_claim=True)
    elif type_ == "Container":
        for container in containers_of(obj):
            resources = part(container, "resources")
            yield _Used(part(resources, "requests"), part(resources, "limits"))
    elif type_ == "Pod":
        yield _Used(_texts(of_pod(obj, "requests")), _texts(of_pod(obj, "limits")))


def _texts(found: Amounts) -> dict[str, str]:
    return {name: quantity_text(name, amount) for name, amount in found.items()}


def _below(type_: str, name: str, least: str, used: _Used) -> Iterator[str]:
    text = f"minimum {name} usage per {type_} is {least}"
    request, limit = used.requests.get(name), used.limits.get(name)
    if request is None:
        yield f"{text}.  No request is specified"
    elif _of(request) < _of(least):
        yield f"{text}, but request is {request}"
    elif limit is not None and _of(limit) < _of(least):
        yield f"{text}, but limit is {limit}"


def _above(type_: str, name: str, most: str, used: _Used) -> Iterator[str]:
    text = f"maximum {name} usage per {type_} is {most}"
    request, limit = used.requests.get(name), used.limits.get(name)
    if used.is_claim:
        if request is None:
            yield f"{text}.  No request is specified"
        elif _of(request) > _of(most):
            yield f"{text}, but request is {request}"
    elif limit is None:
        yield f"{text}.  No limit is specified"
    elif _of(limit) > _of(most):
        yield f"{text}, but limit is {limit}"
    elif request is not None and _of(request) > _of(most):
        yield f"{text}, but request is {request}"


def _ratio(type_: str, name: str, most: str, used: _Used) -> Iterator[str]:
    text = f"{name} max limit to request ratio per {type_} is {most}"
    request, limit = (amounts({name: side.get(name, "0")})[name] for side in (used.requests, used.limits))
    if not request:
        yield f"{text}, but no request is specified or request is 0"
    elif not limit:
        yield f"{text}, but no limit is specified or limit is 0"
    elif limit / request > _of(most):
        yield f"{text}, but provided ratio is {float(limit / request):f}"


def _of(text: Any) -> Decimal:
    return parse_quantity(str(text))
