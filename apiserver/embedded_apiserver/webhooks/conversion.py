# SPDX-License-Identifier: Apache-2.0
"""Conversion of custom objects by the webhook that their definition names.

Results are remembered by the bytes of the object that was converted, so that an object is sent once for each of its
states, however often it is read. No lock is held during a call.
"""

from __future__ import annotations

import base64
import binascii
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NoReturn

import msgspec

from apimachinery.host import Host
from embedded_apiserver.checks.metadata import annotation_causes, label_causes
from embedded_apiserver.status import StatusError, untyped
from embedded_apiserver.webhooks.caller import Caller, Target
from embedded_apiserver.webhooks.exchange import CallFailed, ReviewKind, exchange, of_type, review_in

Object = Mapping[str, Any]

_GROUP, _REVIEW = "apiextensions.k8s.io", "ConversionReview"
_SECONDS = 30
_MOST_KEPT = 64 * 1024 * 1024  # bytes of objects and of what became of them
_FIXED = ("name", "namespace", "uid")
_WORDS = {"name": "name", "namespace": "namespace", "uid": "UID"}
_PEM = "-----BEGIN "

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class WebhookConversion:
    """Converts objects of one custom kind by a webhook; see `kinds.kind.Conversion`.

    Args:
        host: The source of random identifiers and locks.
        caller: Sends the requests.
        target: The address of the webhook.
        kind: The kind of the objects.
        versions: The versions of ConversionReview that the webhook supports.

    Threads: any.
    """

    def __init__(self, host: Host, caller: Caller, target: Target, kind: str, versions: Sequence[str]) -> None:
        self._host = host
        self._caller = caller
        self._target = target
        self._kind = kind
        self._versions = versions
        # Guards what is remembered, the longest unused first, and its size.
        self._lock = host.lock("apiserver/conversions")
        self._known: OrderedDict[tuple[bytes, str], bytes] = OrderedDict()
        self._size = 0

    def converted(self, objects: Sequence[Object], before: str, after: str) -> Sequence[Object]:
        """Return converted objects; see `Conversion.converted`.

        Objects without a cached result are sent to the webhook in one ConversionReview.
        """
        wholes = [{"apiVersion": before, "kind": self._kind, **obj} for obj in objects]
        keys = [(_encode(whole), after) for whole in wholes]
        found = self._remembered(keys)
        missing = [place for place, one in enumerate(found) if one is None]
        if missing:
            made = self._asked([wholes[place] for place in missing], before, after)
            for place, obj in zip(missing, made, strict=True):
                found[place] = _encode(obj)
            self._remember({keys[place]: found[place] or b"" for place in missing})
        return [_decode(one) for one in found if one is not None]

    def _remembered(self, keys: Sequence[tuple[bytes, str]]) -> list[bytes | None]:
        with self._lock:
            for key in keys:
                if key in self._known:
                    self._known.move_to_end(key)
            return [self._known.get(key) for key in keys]

    def _remember(self, made: Mapping[tuple[bytes, str], bytes]) -> None:
        with self._lock:
            for key, value in made.items():
                if key not in self._known:
                    self._known[key] = value
                    self._size += len(key[0]) + len(value)
            while self._size > _MOST_KEPT:
                (source, _), value = self._known.popitem(last=False)
                self._size -= len(source) + len(value)

    def _asked(self, objects: Sequence[dict[str, Any]], before: str, after: str) -> Sequence[Object]:
        what = f"conversion webhook for {before}, Kind={self._kind}"
        version = next((one for one in self._versions if one in ("v1", "v1beta1")), "")
        if not version:
            raise untyped("no supported conversion review versions")
        expected, uid = ReviewKind(f"{_GROUP}/{version}", _REVIEW), self._host.uuid()
        sent = [_unversioned(obj) for obj in objects]
        request = {"uid": uid, "desiredAPIVersion": after, "objects": sent}
        review = {"kind": _REVIEW, "apiVersion": expected.api_version, "request": request}
        try:
            body = exchange(self._caller, self._target, msgspec.json.encode(review), _SECONDS, tells_time=True)
            made = _objects_in(review_in(body, expected), uid, is_strict=version == "v1")
        except CallFailed as error:
            raise untyped(f"{what} failed: {error}") from error
        if len(made) != len(objects):
            raise untyped(f"{what} returned {len(made)} objects, expected {len(objects)}")
        index = " at index {}" if len(objects) > 1 else ""
        return [
            self._checked(before, after, obj, one, index.format(place))
            for place, (obj, one) in enumerate(zip(objects, made, strict=True))
        ]

    def _checked(self, before: str, after: str, obj: dict[str, Any], made: object, index: str) -> Object:
        what = f"conversion webhook for {before}, Kind={self._kind} returned invalid"
        if type(made) is not dict:
            raise untyped("json: cannot unmarshal number into Go value of type map[string]interface {}")
        version, kind = made.get("apiVersion"), made.get("kind")
        place = index or " at index 0"
        if version != after:
            text = f"invalid groupVersion (expected {after}, received {version or ''})"
            raise untyped(f"{what} {'converted object' if index else 'object'}{place}: {text}")
        if kind != self._kind:
            text = f"invalid kind (expected {self._kind}, received {kind or ''})"
            raise untyped(f"{what} {'converted object' if index else 'object'}{place}: {text}")
        metadata, own = made.get("metadata"), obj["metadata"]
        shown: Object = metadata if type(metadata) is dict else {}
        for name in _FIXED:
            if shown.get(name, "") != own.get(name, ""):
                text = f"must have the same {_WORDS[name]}: {own.get(name, '')} != {shown.get(name, '')}"
                raise untyped(f"{what} {'converted object' if index else 'object'}{index}: {text}")
        if problem := next(_errors_of_metadata(own, shown), ""):
            raise untyped(f"{what} metadata{f' in object{index}' if index else ''}: {problem}")
        return {
            **{key: value for key, value in made.items() if key not in ("apiVersion", "kind")},
            "metadata": _metadata(own, shown),
        }


def _unversioned(obj: dict[str, Any]) -> dict[str, Any]:
    metadata = {name: value for name, value in obj["metadata"].items() if name != "resourceVersion"}
    return {**obj, "metadata": metadata}


def _objects_in(answer: Object, uid: str, *, is_strict: bool) -> Sequence[Any]:
    response = of_type(answer.get("response"), dict, "ConversionReview.response", None)
    if response is None:
        raise CallFailed("no response provided")
    if is_strict and (sent := response.get("uid") or "") != uid:
        raise CallFailed(f'expected response.uid="{uid}", got "{sent}"')
    result = of_type(response.get("result"), dict, "ConversionResponse.response.result", {})
    if result.get("status") != "Success":
        _fail(result)
    found: Sequence[Any] = of_type(
        response.get("convertedObjects"), list, "ConversionResponse.response.convertedObjects", []
    )
    return found


def _fail(result: Object) -> NoReturn:
    text = f"response.result.status was '{result.get('status') or ''}', not 'Success'"
    raise CallFailed(result.get("message") or text)


def _errors_of_metadata(own: Object, shown: Object) -> Iterator[str]:
    for name, causes, place in (("labels", label_causes, "labels"), ("annotations", annotation_causes, "annotation")):
        values = shown.get(name)
        if values is None:
            continue
        if type(values) is not dict:
            yield f"invalid metadata.{name} of type {_go_type(values)} in converted object"
            return
        for key, value in values.items():
            if type(value) is not str:
                yield f"metadata.{name}[{key}] must be a string, but is {_go_type(value)} in converted object"
                return
        if values != own.get(name):
            yield from (str(cause) for cause in causes(values, f"metadata.{place}"))


def _go_type(value: object) -> str:
    names = {str: "string", int: "int64", float: "float64", bool: "bool", list: "[]interface {}"}
    return names.get(type(value), "map[string]interface {}")


def _metadata(own: Object, shown: Object) -> dict[str, Any]:
    """Return the metadata of a converted object: that of the original, but for labels and annotations."""
    kept = {name: value for name, value in own.items() if name not in ("labels", "annotations")}
    return {**kept, **{name: shown[name] for name in ("labels", "annotations") if shown.get(name) is not None}}


class BrokenConversion:
    """The conversion of a definition whose certificates cannot be read: it refuses all objects."""

    def converted(self, objects: Sequence[Object], before: str, after: str) -> NoReturn:
        """Refuse to convert the objects.

        Raises:
            StatusError: 500, always.
        """
        raise _UNREADABLE


_UNREADABLE = StatusError(500, "", "unable to load root certificates: unable to parse bytes as PEM block")


def conversion_of(host: Host, caller: Caller, definition: Object) -> WebhookConversion | BrokenConversion | None:
    """Return the webhook conversion of a custom resource definition; None if it has the strategy `None`."""
    conversion = definition["spec"].get("conversion") or {}
    webhook = conversion.get("webhook") or {}
    config = webhook.get("clientConfig")
    if conversion.get("strategy") != "Webhook" or not config:
        return None
    try:
        bundle = base64.b64decode(config.get("caBundle") or "").decode("ascii", "replace").strip()
    except binascii.Error:
        bundle = " "
    if bundle and _PEM not in bundle:
        return BrokenConversion()
    kind = definition["status"]["acceptedNames"].get("kind", "")
    return WebhookConversion(
        host, caller, Target.of(config, bundle), kind, webhook.get("conversionReviewVersions") or ()
    )
