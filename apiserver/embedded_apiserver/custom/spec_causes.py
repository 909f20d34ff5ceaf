# SPDX-License-Identifier: Apache-2.0
"""The validation errors of a custom resource definition, with the words and the fields of a real API server.

A cause in a part that all versions share, such as the schema, is reported once, at a field of `spec` instead of a field
of each version: in the older API `v1beta1`, that is where the part was, the schema in `spec.validation`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from apimachinery.names import service_name_errors, subdomain_errors
from embedded_apiserver.causes import duplicate, invalid, not_supported, required
from embedded_apiserver.custom.conversion_causes import conversion_causes
from embedded_apiserver.custom.schema_structure import root_causes
from embedded_apiserver.custom.work import Work
from embedded_apiserver.objects import Object, part
from embedded_apiserver.status import Cause

_APPROVAL = "api-approved.kubernetes.io"
_PROTECTED = ("k8s.io", "kubernetes.io")
_SCOPES = ("Cluster", "Namespaced")
_LONGEST_WARNING = 256
_COLUMN_TYPES = ("boolean", "date", "integer", "number", "string")
_COLUMN_FORMATS = ("byte", "date", "date-time", "double", "float", "int32", "int64", "password")
_SELECTABLE = ("string", "boolean", "integer")
_MOST_SELECTABLE = 8
_NO_SCHEMA = "may only be set when validations.schema is included"
_NO_OWN_SCHEMA = "may only be set when `version.schema.openAPIV3Schema` is not included"
_MOST_NAMES = 32  # short names, or categories: the status repeats them all, up to 63 bytes each
_MOST_COLUMNS = 64  # printer columns: a table computes each of them for each object


def spec_causes(spec: Object) -> Iterator[Cause]:
    """Return the validation errors of the `spec` of a custom resource definition."""
    group, versions = spec.get("group", ""), spec.get("versions", ())
    if not group:
        yield required("spec.group")
    elif problems := subdomain_errors(group):
        yield invalid("spec.group", group, ",".join(problems))
    elif "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")
    yield from _word_causes("spec.scope", spec.get("scope", ""), _SCOPES)
    if spec.get("preserveUnknownFields"):
        text = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        yield invalid("spec.preserveUnknownFields", True, text)
    yield from _versions_causes(versions)
    yield from _names_causes(part(spec, "names"))
    yield from conversion_causes(part(spec, "conversion"))


def stored_causes(obj: Object) -> Iterator[Cause]:
    """Return a validation error for each version in `status.storedVersions` that the spec no longer has, or one if
    there are none at all.
    """
    names = {version["name"] for version in obj["spec"].get("versions", ())}
    if not obj["status"].get("storedVersions"):
        yield invalid("status.storedVersions", None, "must have at least one stored version")
    for index, stored in enumerate(obj["status"].get("storedVersions", ())):
        if stored not in names:
            text = (
                f"missing from spec.versions; {stored} was previously a storage version, and must remain in "
                f"spec.versions until a storage migration ensures no data remains persisted in {stored} "
                f"and removes {stored} from status.storedVersions"
            )
            yield invalid(f"status.storedVersions[{index}]", stored, text)


def approval_causes(obj: Object) -> Iterator[Cause]:
    """Return a validation error if the group belongs to Kubernetes and there is no valid annotation of its approval."""
    group = obj["spec"].get("group", "")
    if not any(group == domain or group.endswith(f".{domain}") for domain in _PROTECTED):
        return
    field, url = f"metadata.annotations[{_APPROVAL}]", "https://github.com/kubernetes/enhancements/pull/1111"
    text, said = f'protected groups must have approval annotation "{_APPROVAL}"', obj["metadata"].get("annotations", {})
    approval = said.get(_APPROVAL, "")
    if not approval:
        yield required(field, f"{text}, see {url}")
    elif not approval.startswith("unapproved") and not (urlsplit(approval).scheme and urlsplit(approval).netloc):
        yield invalid(field, approval, f'{text} with either a URL or a reason starting with "unapproved", see {url}')


def _word_causes(field: str, word: str, words: Sequence[str]) -> Iterator[Cause]:
    if not word:
        yield required(field)
    elif word not in words:
        yield not_supported(field, word, words)


def _label_causes(field: str, name: str, rule: str = "") -> Iterator[Cause]:
    checked = name.lower() if rule else name
    if name and (problems := service_name_errors(checked)):
        yield invalid(field, name, rule + ",".join(problems))


def _names_causes(names: Mapping[str, Any]) -> Iterator[Cause]:
    for field in ("plural", "singular", "kind", "listKind"):
        if not names.get(field):
            yield required(f"spec.names.{field}")
    mixed = "may have mixed case, but should otherwise match: "
    for field, rule in (("plural", ""), ("singular", ""), ("kind", mixed), ("listKind", mixed)):
        yield from _label_causes(f"spec.names.{field}", names.get(field, ""), rule)
    if names.get("kind") and names["kind"] == names.get("listKind"):
        yield invalid("spec.names.listKind", names["listKind"], "kind and listKind may not be the same")
    for field in ("shortNames", "categories"):
        yield from _too_many_causes(f"spec.names.{field}", names.get(field, ()), _MOST_NAMES)
        for index, name in enumerate(names.get(field, ())):
            yield from _label_causes(f"spec.names.{field}[{index}]", name)


def _versions_causes(versions: Sequence[Mapping[str, Any]]) -> Iterator[Cause]:
    # One `Work` for all versions: the limit is for the definition, however many versions repeat a schema.
    names, work = [version["name"] for version in versions], Work()
    for index, version in enumerate(versions):
        place = f"spec.versions[{index}]"
        if part(version, "schema").get("openAPIV3Schema") is None:
            yield required(f"{place}.schema.openAPIV3Schema")
        if problems := service_name_errors(version["name"]):
            yield invalid(f"{place}.name", version["name"], ",".join(problems))
        if (warning := version.get("deprecationWarning")) is not None:
            for text in _warning_problems(warning, deprecated=bool(version.get("deprecated"))):
                yield invalid(f"{place}.deprecationWarning", warning, text)
    if (
        names and names[0] and (problems := service_name_errors(names[0]))
    ):  # the older API had a `spec.version` for the first
        yield invalid("spec.version", names[0], ",".join(problems))
    if len(set(names)) != len(names):
        yield invalid("spec.versions", names, "must contain unique version names")
    if sum(version["storage"] for version in versions) != 1:
        yield invalid("spec.versions", names, "must have exactly one version marked as storage version")
    for place, version in _shared_or_each(versions, "schema", "validation"):
        if (schema := part(version, "schema").get("openAPIV3Schema")) is not None:
            yield from root_causes(schema, f"{place}.openAPIV3Schema", work)
    for place, version in _shared_or_each(versions, "subresources"):
        yield from _scale_causes(f"{place}.scale", part(version, "subresources").get("scale"))
    for place, version in _shared_or_each(versions, "additionalPrinterColumns"):
        yield from _too_many_causes(place, version.get("additionalPrinterColumns", ()), _MOST_COLUMNS)
        for index, column in enumerate(version.get("additionalPrinterColumns", ())):
            yield from _column_causes(f"{place}[{index}]", column)
    has_one_schema = all(version.get("schema") == versions[0].get("schema") for version in versions)
    for place, version in _shared_or_each(versions, "selectableFields"):
        is_shared = place == "spec.selectableFields"
        if not version.get("selectableFields"):
            continue
        # The older API, in which a real server checks them, has at `spec` what all versions share: fields at one of
        # both places miss a schema at the other, so that versions with the same fields must have the same schema.
        if is_shared == has_one_schema and part(version, "schema").get("openAPIV3Schema") is not None:
            yield from _selectable_causes(place, version)
        else:
            yield invalid(place, "", _NO_SCHEMA if is_shared else _NO_OWN_SCHEMA)


def _warning_problems(warning: str, *, deprecated: bool) -> Iterator[str]:
    if not deprecated:
        yield "can only be set for deprecated versions"
        return
    if len(warning.encode()) > _LONGEST_WARNING:
        yield f"must be <= {_LONGEST_WARNING} characters long"
    if not warning:
        yield "must not be an empty string"
    for index, letter in enumerate(warning):
        if not letter.isprintable():
            at = len(warning[:index].encode())
            yield f"must only contain printable UTF-8 characters; non-printable character found at index {at}"
            return


def _too_many_causes(place: str, items: Sequence[Any], most: int) -> Iterator[Cause]:
    if len(items) > most:
        yield Cause("FieldValueTooMany", f"Too many: {len(items)}: must have at most {most} items", place)


def _shared_or_each(versions: Sequence[Object], name: str, shared: str = "") -> Iterator[tuple[str, Object]]:
    """Return each path at which to report validation errors of a part of the versions, and a version that has the part.

    Args:
        versions: All versions of the definition.
        name: The name of the part in a version.
        shared: The name of the part below `spec`, used if all versions have the same part; `name` if empty.
    """
    if versions and all(version.get(name) == versions[0].get(name) for version in versions):
        yield f"spec.{shared or name}", versions[0]
    else:
        yield from ((f"spec.versions[{index}].{name}", version) for index, version in enumerate(versions))


def _path_causes(field: str, path: str) -> Iterator[Cause]:
    if not path:
        yield required(field)
    elif not path.startswith("."):
        yield invalid(field, path, "must be a simple json path starting with .")


def _scale_causes(place: str, scale: Mapping[str, str] | None) -> Iterator[Cause]:
    if scale is None:
        return
    for name, root in (("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")):
        path = scale.get(name, "")
        yield from _path_causes(f"{place}.{name}", path)
        if path.startswith(".") and not path.startswith(f"{root}."):
            yield invalid(f"{place}.{name}", path, f"should be a json path under {root}")
    selector = scale.get("labelSelectorPath", "")
    if selector and not selector.startswith((".spec.", ".status.")):
        yield invalid(f"{place}.labelSelectorPath", selector, "should be a json path under either .spec or .status")


def _column_causes(place: str, column: Mapping[str, Any]) -> Iterator[Cause]:
    if not column.get("name"):
        yield required(f"{place}.name")
    known = f"must be one of {','.join(_COLUMN_TYPES)}"
    if not column.get("type"):
        yield required(f"{place}.type", known)
    elif column["type"] not in _COLUMN_TYPES:
        yield invalid(f"{place}.type", column["type"], known)
    if column.get("format") and column["format"] not in _COLUMN_FORMATS:
        yield invalid(f"{place}.format", column["format"], f"must be one of {','.join(_COLUMN_FORMATS)}")
    yield from _path_causes(f"{place}.JSONPath", column.get("jsonPath", ""))


def _selectable_causes(place: str, version: Object) -> Iterator[Cause]:
    fields = version.get("selectableFields", ())
    paths, seen = [field.get("jsonPath", "") for field in fields], set()
    for index, path in enumerate(paths):
        here = f"{place}[{index}].jsonPath"
        schema: Any = part(version, "schema").get("openAPIV3Schema")
        for step in path.removeprefix(".").split("."):
            schema = schema.get("properties", {}).get(step) if isinstance(schema, Mapping) else None
        if not path:
            yield required(here)
        elif "[" in path:
            yield invalid(here, path, "is an invalid path: array notation is not allowed")
        elif not path.startswith("."):
            first = path.split(".")[0]
            yield invalid(here, path, f"is an invalid path: expected [ or . but got: {first}")
        elif schema is None:
            yield invalid(here, path, "is an invalid path: does not refer to a valid field")
        elif path.startswith(".metadata"):
            yield invalid(here, path, "must not point to fields in metadata")
        elif schema.get("type") not in _SELECTABLE:
            text = "Enum string fields and strings with formats are allowed."
            yield invalid(here, path, f"must point to a field of type string, boolean or integer. {text}")
        if path in seen:
            yield duplicate(here, path)
        seen.add(path)
    yield from _too_many_causes(place, paths, _MOST_SELECTABLE)
