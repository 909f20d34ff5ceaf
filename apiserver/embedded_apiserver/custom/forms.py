# SPDX-License-Identifier: Apache-2.0
"""The forms in which objects are stored, and those in which clients get them.

They differ only for a kind that is stored as another one, and for a custom kind that is stored in another API version
or under an older schema. All versions of a custom kind share one stored object, which contains its version if that is
not the first that was ever stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from embedded_apiserver import status
from embedded_apiserver.causes import invalid
from embedded_apiserver.kinds.kind import Conversion, Kind
from embedded_apiserver.objects import Object
from embedded_apiserver.status import untyped
from embedded_apiserver.typed.structural_shape import reshaped

_MARK = "apiVersion"  # names the version of a stored object


def opened(kind: Kind, obj: Object) -> Object:
    """Convert a stored object to the version of `kind`, for reads and as the basis of writes.

    An object of a built-in kind is returned unchanged. An object that was stored under an older schema gets the
    defaults of the current schema, and loses fields that the schema does not have.

    Raises:
        StatusError: 500, the conversion webhook fails, or the definition no longer has the stored version.
    """
    if kind.definition is None:
        return obj
    if kind.conversion is not None:
        return _converted(kind, [obj])[0]
    if _MARK in obj:
        obj = {name: value for name, value in obj.items() if name != _MARK}
    if kind.has_changed:
        obj = reshaped(kind.storage or kind.definition, obj, fill=True)
    return obj if kind.storage is None else reshaped(kind.definition, obj)


def shown(kind: Kind, obj: Object) -> Object:
    """Return a stored object in the form that clients get.

    Raises:
        StatusError: 500, the conversion webhook fails.
    """
    return kind.policy.shown_form(opened(kind, obj))


def prepare(kind: Kind, objects: Iterable[Object]) -> None:
    """Convert stored objects by one call of the conversion webhook for each version; cache the results for `opened`.

    Raises:
        StatusError: 500, the conversion webhook fails.
    """
    if kind.conversion is not None:
        _converted(kind, list(objects))


def _converted(kind: Kind, objects: Sequence[Object]) -> list[Object]:
    conversion, found = kind.conversion, list(objects)
    assert conversion is not None, "only then objects are converted"
    assert kind.definition is not None, "only definitions have one"
    by_version: dict[str, list[int]] = {}
    for place, obj in enumerate(objects):
        version = obj.get(_MARK) or kind.unmarked
        by_version.setdefault(version, []).append(place)
        plain = {name: value for name, value in obj.items() if name != _MARK}
        definition = kind.versions.get(version) if kind.has_changed else None
        found[place] = plain if definition is None else reshaped(definition, plain, fill=True)
    for version, places in by_version.items():
        if version == kind.api_version:
            continue
        if version not in kind.versions:
            raise untyped(f"request to convert CR from an invalid group/version: {version}")
        made = conversion.converted([found[place] for place in places], version, kind.api_version)
        for place, obj in zip(places, made, strict=True):
            found[place] = reshaped(kind.definition, obj, fill=True)
    return found


def closed(kind: Kind, obj: Object, *, prune: bool = False) -> Object:
    """Convert a written custom object to the storage version of its kind, and return it as it is stored.

    An object of a built-in kind is returned unchanged. `opened` does the reverse.

    Args:
        kind: The kind of the object, in the version of the request.
        obj: The object in that version.
        prune: True to remove null fields, and fields that the schema of the kind does not have.

    Raises:
        StatusError: 500, the conversion webhook fails.
    """
    if kind.definition is None:
        return obj
    if kind.storage is not None:
        if kind.conversion is not None:
            plain = reshaped(kind.definition, obj) if prune else obj
            obj = conversion_result(kind.conversion, plain, kind)
        obj = reshaped(kind.storage, obj, fill=True)
    elif prune:
        obj = reshaped(kind.definition, obj)
    return obj if kind.stored_version == kind.unmarked else {**obj, _MARK: kind.stored_version}


def conversion_result(conversion: Conversion, obj: Object, kind: Kind) -> Object:
    """Return an object of `kind` converted to the version in which the objects are stored."""
    return conversion.converted([obj], kind.api_version, kind.stored_version)[0]


def of_own_type(kind: Kind, name: str, obj: Object, subresource: str = "") -> Object:
    """Return a custom object without kind and apiVersion, after a check that they are those of the path.

    They are in `obj` only if they differ from those of the path.

    Raises:
        StatusError: 422, the object has another kind or apiVersion. A write of a subresource ignores them, as it
            ignores all other fields but one.
    """
    if kind.definition is None or "kind" not in obj or "apiVersion" not in obj:
        return obj
    version, word = obj["apiVersion"], obj["kind"]
    if not subresource:
        found = ("kind", word, kind.kind), ("apiVersion", version, kind.api_version)
        causes = [invalid(field, value, f"must be {right}") for field, value, right in found if value != right]
        other = attrs.evolve(kind, group=version.rpartition("/")[0], kind=word)
        raise status.invalid(other, name, causes)
    return {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}
