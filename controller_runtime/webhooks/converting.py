# SPDX-License-Identifier: Apache-2.0
"""Answers ConversionReviews: all objects of a list in the requested version, or none and the reason."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs
import msgspec

from apimachinery.errors import DecodeError, UsageError
from controller_runtime.api.codec import decoder_for
from controller_runtime.crd.conversion import Conversion
from controller_runtime.crd.declaration import declaration_of
from controller_runtime.crd.types import CustomResource
from controller_runtime.crd.writing import written
from controller_runtime.webhooks.reviews import CONVERSION, answer, conversion_of

CONVERT_PATH = "/convert"
"""The path at which conversions are served."""

_Step = Callable[[Any], Any]
_MUTABLE = ("labels", "annotations")
"""The fields of the metadata that a conversion may change; the API's rule."""


class _Names(msgspec.Struct, gc=False):
    name: str = ""
    namespace: str = ""


class _ConvertedHead(msgspec.Struct, gc=False, rename="camel"):
    api_version: str = ""
    kind: str = ""
    metadata: _Names = msgspec.field(default_factory=_Names)


_head = msgspec.json.Decoder(_ConvertedHead)


class Unconverted(Exception):
    """Raised if an object cannot be converted; the message has the object and the reason."""


class ConversionFailed(Exception):
    """Raised if a function of a conversion raised an unexpected error, which is the cause.

    Args:
        uid: The uid of the review.
        text: The object, its kind, both versions and the type of the error, without the text of the error, which may
            say what the user must not know.
    """

    def __init__(self, uid: str, text: str) -> None:
        super().__init__(text)
        self.uid = uid


_TOLD = (Unconverted, UsageError, ValueError, msgspec.DecodeError)
"""Errors whose messages the user is told."""


@attrs.frozen(eq=False)
class KindConversion:
    """The conversions between all versions of one kind.

    Attributes:
        group: The API group.
        kind: The kind.
        classes: The class of each version, by `apiVersion`.
        paths: The conversion steps from one `apiVersion` to another.
    """

    group: str
    kind: str
    classes: Mapping[str, type[CustomResource]]
    paths: Mapping[tuple[str, str], tuple[_Step, ...]]

    @property
    def definition(self) -> str:
        """The name of the custom resource definition."""
        resource = declaration_of(next(iter(self.classes.values()))).resource
        return f"{resource.plural}.{resource.group}"

    def convert(self, raw: bytes, version: str, wanted: str) -> dict[str, Any]:
        """Return an object in the version `wanted`, as JSON values.

        Of its metadata only labels and annotations may change.

        Raises:
            Unconverted: A version is unknown, or the object cannot be decoded.
            Exception: A function of the conversion raised it.
        """
        steps = self.paths.get((version, wanted))
        if steps is None:
            raise Unconverted(f"there is no conversion from {version} to {wanted}")
        metadata = msgspec.json.decode(raw)["metadata"]
        cls = self.classes[version]
        try:
            obj = decoder_for(cls, declaration_of(cls).resource)(raw)
        except DecodeError as error:
            raise Unconverted(f"it cannot be read: {error}") from error
        for step in steps:
            obj = step(obj)
        made = {**written(obj, defaults=True), "apiVersion": wanted, "kind": self.kind}
        changed = made.get("metadata", {})
        kept = {name: value for name, value in metadata.items() if name not in _MUTABLE}
        made["metadata"] = {**kept, **{name: changed[name] for name in _MUTABLE if changed.get(name)}}
        return made


def Converts(*conversions: Conversion[Any, Any]) -> KindConversion:  # noqa: N802  it reads as a declaration
    """Return the conversions between all versions of one kind, for `Webhooks.add`.

    Conversions are chained: from v1alpha1 to v1 an object is converted through v1beta1 if there is no direct
    conversion.

    Args:
        *conversions: Conversions made by `converts`, each with its `back`.

    Raises:
        ValueError: They have several kinds, or none is given.
        UsageError: One has no `back`, or a version cannot be reached from another.
    """
    classes: dict[str, type[CustomResource]] = {}
    ways: dict[str, dict[str, _Step]] = {}
    kinds = set()
    for one in conversions:
        one.require_both_ways()
        older, newer = declaration_of(one.older).resource, declaration_of(one.newer).resource
        kinds |= {(older.group, older.kind), (newer.group, newer.kind)}
        classes |= {older.api_version: one.older, newer.api_version: one.newer}
        ways.setdefault(older.api_version, {})[newer.api_version] = one.upgrade
        ways.setdefault(newer.api_version, {})[older.api_version] = one.downgrade
    if len(kinds) != 1:
        raise ValueError("give the conversions of one kind: several kinds need a Converts each")
    [(group, kind)] = kinds
    paths = {(start, end): _path(ways, start, end) for start in classes for end in classes}
    return KindConversion(group, kind, classes, paths)


def _path(ways: Mapping[str, Mapping[str, _Step]], start: str, end: str) -> tuple[_Step, ...]:
    """Return the fewest steps from one version to another."""
    found: dict[str, tuple[_Step, ...]] = {start: ()}
    waiting = deque([start])
    while waiting:
        here = waiting.popleft()
        for there, step in ways[here].items():
            if there not in found:
                found[there] = (*found[here], step)
                waiting.append(there)
    if end not in found:
        raise UsageError(f"no conversion leads from {start} to {end}: give one that connects them")
    return found[end]


def convert(kinds: Iterable[KindConversion], body: bytes) -> bytes:
    """Return the answer to a ConversionReview: all objects converted, or a failure that names the first failed object.

    A `ValueError` or `UsageError` raised by a function is a failure, too, because the server shows its message to the
    user.

    Raises:
        NotAReview: The body is not a ConversionReview v1.
        ConversionFailed: A function raised another error; `failed` makes the answer.
    """
    asked = conversion_of(body)
    by_name = {(kind.group, kind.kind): kind for kind in kinds}
    group = asked.desired_api_version.rpartition("/")[0]
    made = []
    where, way = "", "the conversion"
    try:
        for raw in asked.objects:
            head = _head.decode(raw)
            where = "/".join(part for part in (head.metadata.namespace, head.metadata.name) if part)
            way = f"the conversion of {head.kind} from {head.api_version} to {asked.desired_api_version}"
            found = by_name.get((group, head.kind))
            if found is None:
                raise Unconverted(f"no conversion of {head.kind or 'an object without kind'} in {group} is served here")
            if head.api_version == asked.desired_api_version:
                made.append(msgspec.json.decode(raw))
            else:
                made.append(found.convert(bytes(raw), head.api_version, asked.desired_api_version))
    except _TOLD as error:
        return failed(asked.uid, f"{where}: {error}" if where else str(error))
    except Exception as error:
        raise ConversionFailed(asked.uid, f"{where}: {way} raised {type(error).__name__}") from error
    return answer(CONVERSION, {"uid": asked.uid, "convertedObjects": made, "result": {"status": "Success"}})


def failed(uid: str, message: str) -> bytes:
    """Return the answer to a ConversionReview of which nothing is converted."""
    return answer(CONVERSION, {"uid": uid, "result": {"status": "Failure", "message": message}})
