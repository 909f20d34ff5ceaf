# SPDX-License-Identifier: Apache-2.0
"""Turns a `CustomResourceDefinition` into the kinds that it defines, one for each version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from apimachinery.equality import same_json
from apimachinery.names import qualified_name_errors
from embedded_apiserver.kinds.definition import WORKLOAD, Definition, ScalePaths
from embedded_apiserver.kinds.kind import Conversion, Kind
from embedded_apiserver.kinds.policy import ALL, Policy
from embedded_apiserver.kinds.versions import rank
from embedded_apiserver.objects import Object, with_status_of

CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
"""The finalizer that keeps a definition under deletion until all its objects are gone."""

# The verbs of a custom kind, in the order in which a real server lists them.
_VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")


def is_true(definition: Object, condition: str) -> bool:
    """Return whether the condition of type `condition` in a custom resource definition is `True`."""
    conditions = definition.get("status", {}).get("conditions") or ()
    return any(one["type"] == condition and one["status"] == "True" for one in conditions)


def custom_kinds(
    definition: Object, *, all_versions: bool = False, conversion: Conversion | None = None
) -> tuple[Kind, ...]:
    """Return the kinds of a custom resource definition: one for each served version.

    The result is empty until the definition is established, and once it is being deleted and its objects are gone.

    Args:
        definition: A stored `CustomResourceDefinition`.
        all_versions: True to include versions that are not served.
        conversion: Converts objects between versions; None changes only their apiVersion.
    """
    metadata = definition["metadata"]
    has_ended = "deletionTimestamp" in metadata and CLEANUP not in metadata.get("finalizers", ())
    if has_ended or not is_true(definition, "Established"):
        return ()
    # All versions show the same objects. The kind of the storage version comes first or, if that one is not served,
    # that of the first that is; it becomes `stored_as` of the others.
    versions = sorted(definition["spec"]["versions"], key=lambda version: not version["storage"])
    made = {f"{definition['spec']['group']}/{version['name']}": _schema(definition, version) for version in versions}
    kinds: list[Kind] = []
    for version in versions:
        if version["served"] or all_versions:
            kinds.append(_kind(definition, version, made, kinds[0] if kinds else None, conversion))
    return tuple(kinds)


def in_order(kinds: Iterable[Kind]) -> list[Kind]:
    """Return the kinds in the order of discovery: by group, and within a group the preferred version first."""
    return sorted(kinds, key=lambda kind: (kind.group, rank(kind.version)))


def _is_other(old: Object, new: Object) -> bool:
    """Return whether anything but the metadata has changed."""
    before, after = ({name: value for name, value in one.items() if name != "metadata"} for one in (old, new))
    return not same_json(before, after)


def _isolated(old: Object, new: Object, subresource: str) -> Object:
    """Return an object with the parts of the stored one that a write to `subresource` must not change.

    A write of the status changes nothing else, not even labels, unlike that of a built-in kind.
    """
    return with_status_of(new, old) if subresource == "status" else with_status_of(old, new)


def _warnings(obj: Object, old: Object | None) -> list[str]:
    known = (old or {}).get("metadata", {}).get("finalizers", ())
    added = sorted({*obj.get("metadata", {}).get("finalizers", ())} - {*known, *_STANDARD_FINALIZERS})
    return [text for name in added for text in _about_finalizer(name)]


def _about_finalizer(name: str) -> list[str]:
    field = f'metadata.finalizers: "{name}"'
    texts = [f"{field}: {text}" for text in qualified_name_errors(name)]
    if "/" not in name:
        path = " including a path (/)" if "." in name else ""
        accident = "to avoid accidental conflicts with other finalizer writers"
        texts.append(f"{field}: prefer a domain-qualified finalizer name{path} {accident}")
    return texts


_STANDARD_FINALIZERS = ("orphan", "foregroundDeletion", "kubernetes")
_POLICY = Policy(generation=_is_other, isolated=lambda old, new, subresource: new, warnings=_warnings)
_WITH_STATUS = Policy(
    generation=_is_other,
    freezes=ALL,  # so that no manager comes to own metadata sent with a status, which would be a change
    created=lambda obj: with_status_of({}, obj),
    isolated=_isolated,
    warnings=_warnings,
)


def _schema(definition: Object, version: Object) -> Definition:
    names, columns = definition["status"]["acceptedNames"], version.get("additionalPrinterColumns") or ()
    structure = version["schema"]["openAPIV3Schema"]
    return Definition.of(definition["spec"]["group"], version["name"], names["kind"], structure, columns)


def _kind(
    definition: Object,
    version: Object,
    made: Mapping[str, Definition],
    stored_as: Kind | None,
    conversion: Conversion | None,
) -> Kind:
    spec, names = definition["spec"], definition["status"]["acceptedNames"]
    group, kind = spec["group"], names["kind"]
    parts = version.get("subresources") or {}
    selectable = [field["jsonPath"].removeprefix(".") for field in version.get("selectableFields") or ()]
    stored_version, storage = next(iter(made.items()))
    own, first = made[f"{group}/{version['name']}"], next(iter(definition["status"].get("storedVersions") or ()), "")
    return Kind(
        group=group,
        version=version["name"],
        kind=kind,
        plural=names["plural"],
        singular=names["singular"],
        list_kind=names["listKind"],
        namespaced=spec["scope"] == "Namespaced",
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        verbs=_VERBS,
        subresources=tuple(part for part in ("scale", "status") if part in parts),
        unconditional_update=False,
        policy=_WITH_STATUS if "status" in parts else _POLICY,
        metadata="g",
        status_metadata="g",
        fields=dict.fromkeys(selectable, ""),
        names_known_fields=False,
        stored_as=stored_as,
        deprecation=_deprecation(spec, version, kind),
        scale=_scale(parts["scale"]) if "scale" in parts else WORKLOAD,
        definition=own,
        versions=made,
        storage=None if storage is own else storage,
        conversion=conversion,
        stored_version=stored_version,
        unmarked=f"{group}/{first}" if first else stored_version,
        has_changed=definition["metadata"].get("generation", 1) > 1,
        is_terminating="deletionTimestamp" in definition["metadata"],
    )


def _deprecation(spec: Object, version: Object, kind: str) -> str:
    """Return the warning of a deprecated version, which names the most stable newer one if there is one."""
    if not version.get("deprecated"):
        return ""
    if "deprecationWarning" in version:
        return str(version["deprecationWarning"])
    group, name = spec["group"], version["name"]
    served = [one["name"] for one in spec["versions"] if one["served"] and not one.get("deprecated")]
    better = sorted((one for one in served if rank(one) < rank(name)), key=rank)
    advice = f"; use {group}/{better[0]} {kind}" if better else ""
    return f"{group}/{name} {kind} is deprecated{advice}"


def _scale(paths: Object) -> ScalePaths:
    return ScalePaths(
        _steps(paths["specReplicasPath"]),
        _steps(paths["statusReplicasPath"]),
        _steps(paths.get("labelSelectorPath", "")),
    )


def _steps(path: str) -> tuple[str, ...]:
    return tuple(path.removeprefix(".").split(".")) if path else ()
