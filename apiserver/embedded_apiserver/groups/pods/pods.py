# SPDX-License-Identifier: Apache-2.0
"""Rules of pods and of their templates: annotations, and what only one of them may have."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from embedded_apiserver.causes import forbidden, invalid
from embedded_apiserver.checks.metadata import annotation_causes, label_causes
from embedded_apiserver.groups.pods.containers import padded_image
from embedded_apiserver.groups.pods.pod_spec import pod_spec
from embedded_apiserver.groups.pods.profiles import contradictions, profiles
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause

MIRROR = "kubernetes.io/config.mirror"
_COST = "controller.kubernetes.io/pod-deletion-cost"
_COST_TEXT = re.compile(r"0|-?[1-9][0-9]*")
_MOST = 2**31 - 1


def pod_annotations(annotations: Mapping[str, str], spec: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of those annotations that Kubernetes reads from pods."""
    if MIRROR in annotations and not spec.get("nodeName"):
        text = "must set spec.nodeName if mirror pod annotation is set"
        yield invalid(f"{place}[{MIRROR}]", annotations[MIRROR], text)
    if (cost := annotations.get(_COST)) is not None and not _is_cost(cost):
        yield invalid(f"{place}[{_COST}]", cost, "must be a 32bit integer")
    yield from profiles(annotations, spec, place)


def _is_cost(text: str) -> bool:
    return bool(_COST_TEXT.fullmatch(text)) and -_MOST - 1 <= int(text) <= _MOST


def pod_template(template: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of a pod template; `place` is its path."""
    spec = part(template, "spec")
    yield from template_metadata(template, place)
    yield from pod_spec(spec, f"{place}.spec")
    yield from contradictions(template, f"{place}.spec")
    if spec.get("ephemeralContainers"):
        yield forbidden(f"{place}.spec.ephemeralContainers", "ephemeral containers not allowed in pod template")


def template_metadata(template: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of the labels and annotations of a pod template."""
    metadata = part(template, "metadata")
    yield from label_causes(metadata.get("labels") or {}, f"{place}.labels")
    if annotations := metadata.get("annotations"):
        yield from annotation_causes(annotations, f"{place}.annotations")
        yield from pod_annotations(annotations, part(template, "spec"), f"{place}.annotations")


def new_pod(pod: Object) -> Iterator[Cause]:
    """Return the validation errors of a new Pod, except in its general metadata."""
    spec = part(pod, "spec")
    yield from whole_pod(pod)
    if spec.get("ephemeralContainers"):
        yield forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        yield forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")
    yield from contradictions(pod, "spec")


def whole_pod(pod: Object) -> Iterator[Cause]:
    """Return the validation errors of a new or updated Pod, except in its general metadata."""
    metadata, spec = pod["metadata"], part(pod, "spec")
    if annotations := metadata.get("annotations"):
        yield from pod_annotations(annotations, spec, "metadata.annotations")
    yield from pod_spec(spec, "spec", metadata)
    if not spec.get("serviceAccountName"):
        yield from _tokens(spec)
    for group in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(group) or ()):
            yield from padded_image(container, f"spec.{group}[{index}]")


def _tokens(spec: Object) -> Iterator[Cause]:
    for index, volume in enumerate(spec.get("volumes") or ()):
        for number, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
            if source.get("serviceAccountToken") is not None:
                place = f"spec.volumes[{index}].projected.sources[{number}].serviceAccountToken"
                yield forbidden(place, "must not be specified when serviceAccountName is not set")


def new_template(obj: Object) -> Iterator[Cause]:
    """Return the validation errors of a new PodTemplate."""
    return pod_template(part(obj, "template"), "template")


def template_change(old: Object, new: Object) -> Iterable[Cause]:
    """Return the validation errors of an update of a PodTemplate."""
    return () if old.get("template") == new.get("template") else new_template(new)
