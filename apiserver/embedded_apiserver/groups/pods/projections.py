# SPDX-License-Identifier: Apache-2.0
"""Rules of files that volumes take from other objects, and of references to fields of the pod."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from apimachinery.names import config_key_errors, qualified_name_errors
from embedded_apiserver.causes import forbidden, invalid, not_supported, required
from embedded_apiserver.checks.basic import each, needs, one_of, qualified_name, subdomain
from embedded_apiserver.checks.paths import local_file
from embedded_apiserver.checks.resources import quantity
from embedded_apiserver.objects import Object
from embedded_apiserver.status import Cause

FILE_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
_OF_FILES = ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
OF_VARIABLES = (
    *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"),
    *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
)
_LABELS = {*_OF_FILES, *OF_VARIABLES, "spec.restartPolicy", "spec.schedulerName", "status.phase"}
_AMOUNTS = tuple(
    f"{which}.{name}" for which in ("limits", "requests") for name in ("cpu", "ephemeral-storage", "memory")
)
_SIZES = ("1", *(f"1{unit}" for unit in "kMGTPE"), *(f"1{unit}i" for unit in "KMGTPE"))
_DIVISORS = {
    "cpu": (("1m", "1"), "cpu"),
    "memory": (_SIZES, "memory"),
    "ephemeral-storage": (_SIZES, "local ephemeral storage"),
    "hugepages": (_SIZES, "hugepages"),
}
_SUBSCRIPTED = re.compile(r"(.+?)\['(.*)'\]", re.DOTALL)
_TWICE = "conflicting duplicate paths"
_KEYS = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")


def is_mode(mode: int | None) -> bool:
    """Return whether a number is a valid file mode (0 to 0777); None is valid."""
    return mode is None or 0 <= mode <= 0o777


def key_to_path(item: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of an item that maps a key to a file of a volume."""
    yield from needs(item, place, "key", "path")
    yield from local_file(item.get("path", ""), f"{place}.path")
    if not is_mode(mode := item.get("mode")):
        yield invalid(f"{place}.mode", mode, FILE_MODE)


def downward_file(item: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of a downward API item: a file with a field of the pod."""
    field, amount = item.get("fieldRef"), item.get("resourceFieldRef")
    yield from needs(item, place, "path")
    yield from local_file(item.get("path", ""), f"{place}.path")
    if field is not None:
        yield from field_reference(field, _OF_FILES, f"{place}.fieldRef")
        if amount is not None:
            yield invalid(place, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously")
    elif amount is not None:
        yield from resource_reference(amount, f"{place}.resourceFieldRef", needs_container=True)
    else:
        yield required(place, "one of fieldRef and resourceFieldRef is required")
    if not is_mode(mode := item.get("mode")):
        yield invalid(f"{place}.mode", mode, FILE_MODE)


def field_reference(reference: Object, supported: Collection[str], place: str) -> Iterable[Cause]:
    """Return the validation errors of a reference to a field of the pod (`fieldRef`)."""
    version, path = reference.get("apiVersion") or "v1", reference.get("fieldPath", "")
    if not path:
        return [required(f"{place}.fieldPath")]
    if version != "v1":
        return _not_converted(path, f"unsupported pod version: {version}", place)
    if match := _SUBSCRIPTED.fullmatch(path):
        match match[1]:
            case "metadata.annotations":
                return qualified_name(match[2].lower(), place)
            case "metadata.labels":
                return qualified_name(match[2], place)
        return _not_converted(path, f"field label does not support subscript: {path}", place)
    name = "spec.nodeName" if path == "spec.host" else path
    if name not in _LABELS:
        return _not_converted(path, f"field label not supported: {path}", place)
    return [] if name in supported else [not_supported(f"{place}.fieldPath", name, sorted(supported))]


def _not_converted(path: str, text: str, place: str) -> list[Cause]:
    return [invalid(f"{place}.fieldPath", path, f"error converting fieldPath: {text}")]


def resource_reference(reference: Object, place: str, *, needs_container: bool = False) -> Iterator[Cause]:
    """Return the validation errors of a reference to a resource of a container (`resourceFieldRef`)."""
    name = reference.get("resource", "")
    if needs_container and not reference.get("containerName"):
        yield required(f"{place}.containerName")
    elif not name:
        yield required(f"{place}.resource")
    elif name not in _AMOUNTS and not name.startswith(("requests.hugepages-", "limits.hugepages-")):
        yield not_supported(f"{place}.resource", name, _AMOUNTS)
    divisor = str(reference.get("divisor", "0"))
    kind = name.partition(".")[2]
    kind = "hugepages" if kind.startswith("hugepages-") else kind
    if kind in _DIVISORS and name.startswith(("limits.", "requests.")) and quantity(divisor):
        supported, noun = _DIVISORS[kind]
        if divisor not in supported:
            listed = " and ".join(supported) if kind == "cpu" else ", ".join(supported)
            text = f"only divisor's values {listed} are supported with the {noun} resource"
            yield invalid(f"{place}.divisor", name, text)


def key_reference(reference: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of a reference to a key of a ConfigMap or Secret."""
    yield from subdomain(reference.get("name", ""), f"{place}.name")
    if key := reference.get("key"):
        yield from each(config_key_errors, key, f"{place}.key")
    else:
        yield required(f"{place}.key")


def projected(source: Object, place: str) -> Iterator[Cause]:
    """Return the validation errors of a projected volume."""
    seen: set[str] = set()
    for index, one in enumerate(source.get("sources") or ()):
        field, count = f"{place}.sources[{index}]", 0
        for name, check in _PROJECTIONS.items():
            if one.get(name) is not None:
                count += 1
                yield from check(one[name], f"{field}.{name}", place, seen)
        if count > 1:
            yield forbidden(field, "may not specify more than 1 volume type per source")


def _first(path: str, seen: set[str], place: str, shown: str) -> Iterator[Cause]:
    """Return a cause if a file of the volume has the same path as an earlier one."""
    if not path:
        return
    if path in seen:
        yield invalid(place, shown, _TWICE)
    seen.add(path)


def _keys(source: Object, place: str, whole: str, seen: set[str]) -> Iterator[Cause]:
    yield from needs(source, place, "name")
    for index, item in enumerate(source.get("items") or ()):
        yield from key_to_path(item, f"{place}.items[{index}]")
        yield from _first(item.get("path", ""), seen, whole, source.get("name", ""))


def _fields(source: Object, place: str, whole: str, seen: set[str]) -> Iterator[Cause]:
    for item in source.get("items") or ():
        yield from downward_file(item, place)
        yield from _first(item.get("path", ""), seen, whole, item.get("path", ""))


def _token(source: Object, place: str, whole: str, seen: set[str]) -> Iterator[Cause]:
    seconds = source.get("expirationSeconds", 3600)
    if seconds < 600:
        yield invalid(f"{place}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
    if seconds > 1 << 32:
        yield invalid(f"{place}.expirationSeconds", seconds, "may not specify a duration larger than 2^32 seconds")
    if path := source.get("path"):
        yield from local_file(path, f"{whole}.path")
    else:
        yield required(f"{whole}.path")


def _signer(name: str, field: str) -> Iterator[Cause]:
    domain, slash, path = name.partition("/")
    if not name:
        yield required(field)
    elif not slash or not path:
        text = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        yield invalid(field, name, text)
    else:
        yield from subdomain(domain, field)


def _certificate(source: Object, place: str, whole: str, seen: set[str]) -> Iterator[Cause]:
    yield from _signer(source.get("signerName", ""), f"{place}.signerName")
    for key in source.get("userAnnotations") or ():
        problems = qualified_name_errors(key.lower())
        if not problems and "/" not in key:
            problems = ['must be a domain-prefixed key (such as "acme.io/foo")']
        yield from (invalid(f"{place}.userAnnotations", key.lower(), text) for text in problems)
    yield from one_of(source.get("keyType", ""), _KEYS, f"{place}.keyType")
    if (seconds := source.get("maxExpirationSeconds", 3600)) < 3600:
        text = "if provided, maxExpirationSeconds must be >= 3600"
        yield invalid(f"{place}.maxExpirationSeconds", seconds, text)
    paths = [source[name] for name in _CERTIFICATE_PATHS if source.get(name)]
    for name in _CERTIFICATE_PATHS:
        if path := source.get(name):
            yield from local_file(path, f"{place}.{name}")
            yield from _first(path, seen, whole, path)
    if not paths:
        text = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"
        yield required(place, text)


_CERTIFICATE_PATHS = ("credentialBundlePath", "keyPath", "certificateChainPath")
_PROJECTIONS = {
    "secret": _keys,
    "configMap": _keys,
    "downwardAPI": _fields,
    "serviceAccountToken": _token,
    "podCertificate": _certificate,
}
