# SPDX-License-Identifier: Apache-2.0
"""Rules of the specs of volume claims, and of the templates of claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embedded_apiserver.causes import forbidden, invalid, not_supported, required
from embedded_apiserver.checks.basic import label, one_of, subdomain
from embedded_apiserver.checks.metadata import annotation_causes, label_causes
from embedded_apiserver.checks.resources import amount_causes, quantity
from embedded_apiserver.checks.selectors import label_selector
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
_ALONE = "ReadWriteOncePod"
_TEMPLATE_METADATA = ("annotations", "labels")


def claim_spec(spec: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of the spec of a PersistentVolumeClaim; `place` is its path."""
    if not (modes := spec.get("accessModes")):
        yield required(f"{place}.accessModes", "at least 1 access mode is required")
    yield from label_selector(spec.get("selector"), f"{place}.selector")
    yield from access_modes(modes or (), f"{place}.accessModes")
    yield from _size(spec, f"{place}.resources[storage]")
    if name := spec.get("storageClassName"):
        yield from subdomain(name, f"{place}.storageClassName")
    if (mode := spec.get("volumeMode")) is not None:
        yield from one_of(mode, VOLUME_MODES, f"{place}.volumeMode")
    yield from _sources(spec, place)
    if name := spec.get("volumeAttributesClassName"):
        yield from subdomain(name, f"{place}.volumeAttributesClassName")


def access_modes(modes: Sequence[str], field: str) -> Iterator[Cause]:
    """Return the validation errors of access modes: unknown ones, and `ReadWriteOncePod` together with others."""
    for mode in modes:
        if mode not in ACCESS_MODES:
            yield not_supported(field, mode, ACCESS_MODES)
    if _ALONE in modes and any(mode in ACCESS_MODES and mode != _ALONE for mode in modes):
        yield forbidden(field, f"may not use {_ALONE} with other access modes")


def _size(spec: Object, field: str) -> Iterator[Cause]:
    size = part(part(spec, "resources"), "requests").get("storage")
    if size is None:
        yield required(field)
    elif quantity(size) <= 0:
        yield invalid(field, size, "must be greater than zero")
    else:
        yield from amount_causes("storage", size, field)


def _sources(spec: Object, place: str) -> Iterator[Cause]:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None:
        yield from _source(source, f"{place}.dataSource")
    if reference is not None:
        yield from _source(reference, f"{place}.dataSourceRef")
        if namespace := reference.get("namespace"):
            yield from label(namespace, f"{place}.dataSourceRef.namespace")
    if source is None or reference is None:
        return
    # A real server shows the path, as a Go value, where the value belongs.
    if reference.get("namespace"):
        yield invalid(place, {}, "may not be specified when dataSourceRef.namespace is specified")
    elif any(source.get(name) != reference.get(name) for name in ("apiGroup", "kind", "name")):
        yield invalid(place, {}, "must match dataSourceRef")


def _source(source: Object, place: str) -> Iterator[Cause]:
    kind, group = source.get("kind", ""), source.get("apiGroup") or ""
    if not source.get("name"):
        yield required(f"{place}.name")
    if not kind:
        yield required(f"{place}.kind")
    if not group and kind != "PersistentVolumeClaim":
        yield invalid(place, kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup")
    if group:
        yield from subdomain(group, f"{place}.apiGroup")


def claim_template(template: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of the claim template in an ephemeral volume of a pod."""
    metadata = part(template, "metadata")
    yield from annotation_causes(metadata.get("annotations") or {}, f"{place}.metadata.annotations")
    yield from label_causes(metadata.get("labels") or {}, f"{place}.metadata.labels")
    for name, value in metadata.items():
        if name not in _TEMPLATE_METADATA and value:
            shown = "uID" if name == "uid" else name
            yield forbidden(f"{place}.metadata.{shown}", "cannot be set")
    yield from claim_spec(part(template, "spec"), f"{place}.spec")
