# SPDX-License-Identifier: Apache-2.0
"""Stand-ins: replacements for confidential values in records, of the same length, in every encoding that is known.

A value is replaced as text, in base64 at any offset, URL-encoded, and as JSON and Python escape it, also within longer
texts. Equal values get equal stand-ins within one record, so a reconcile that copies a value is replayed to the same
write. A hash or a signature that was made of a value is not found.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

import msgspec

from controller_runtime.incidents.base64_forms import Digits, base64_forms
from controller_runtime.incidents.incident import NOTHING, Get, Incident, Kind, Select, Sent

SHORTEST = 9
"""The length in bytes of the shortest value that is replaced. Shorter ones, such as `true` and `admin`, occur in many
texts by chance.
"""

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation in which kubectl stores the last applied object as a whole, including the data of a Secret."""

_CONFIDENTIAL = frozenset(("secrets", "tokenreviews", "token"))
_JWT = re.compile(rb"eyJ[A-Za-z0-9_-]{6,}\.eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]*")
_BEARER = re.compile(rb"(?i)(bearer\s+)([A-Za-z0-9._~+/=-]{8,})")
_HEX = re.compile(r"%[0-9A-F]{2}")


def is_confidential(path: str) -> bool:
    """Return whether bodies of requests for this path have confidential values, which are replaced by stand-ins."""
    return not _CONFIDENTIAL.isdisjoint(path.split("/"))


def values_in(document: Any) -> Iterator[bytes]:
    """Yield confidential values in a body: of Secrets, their lists and patches, and tokens of requests or reviews."""
    if isinstance(document, list):
        for each in document:  # a JSON patch, or items
            if isinstance(each, dict) and "op" in each:
                yield from _of_operation(each)
            else:
                yield from values_in(each)
    if not isinstance(document, dict):
        return
    yield from _of_data(document.get("data"))
    yield from _of_texts(document.get("stringData"))
    yield from values_in(document.get("items"))
    for part in ("spec", "status"):
        if isinstance(inner := document.get(part), dict) and isinstance(token := inner.get("token"), str):
            yield token.encode()
    metadata = document.get("metadata")
    annotations = metadata.get("annotations") if isinstance(metadata, dict) else None
    applied = annotations.get(LAST_APPLIED) if isinstance(annotations, dict) else None
    if isinstance(applied, str):
        try:
            yield from values_in(msgspec.json.decode(applied))
        except (msgspec.DecodeError, RecursionError):  # not what kubectl writes: the text is kept as it is
            return


def values_of(incident: Incident, more: Callable[[dict[str, Any]], Iterable[str | bytes]] | None) -> Iterator[bytes]:
    """Yield the values of all Secrets in an incident, and those that `more` returns for any of its bodies."""
    for step in incident.steps:
        bodies: list[msgspec.Raw] = []
        secret = False
        if isinstance(step, Get):
            bodies, secret = [incident.objects[step.body]] if step.body != NOTHING else [], _is_secret(step.kind)
        elif isinstance(step, Select):
            bodies = [incident.objects[each[3]] for each in step.found if each[3] != NOTHING]
            secret = _is_secret(step.kind)
        elif isinstance(step, Sent):
            bodies, secret = [step.body, step.answer], is_confidential(step.path)
        for document in (msgspec.json.decode(body) for body in bodies if secret or more is not None):
            if secret:
                yield from values_in(document)
            if more is not None and isinstance(document, dict):
                yield from (value.encode() if isinstance(value, str) else value for value in more(document))


def _is_secret(kind: Kind) -> bool:
    return kind.kind == "Secret" and kind.api_version == "v1"


def without_tokens(raw: bytes) -> bytes:
    """Return a text in which each token (a JWT, or a word after `Bearer`) is replaced by a stand-in."""
    if b"eyJ" in raw:
        raw = _JWT.sub(lambda found: _filled(b"token-", len(found[0])), raw)
    if b"earer" in raw or b"EARER" in raw:
        raw = _BEARER.sub(lambda found: found[1] + _filled(b"token-", len(found[2])), raw)
    return raw


class StandIns:
    """Replaces confidential values in texts by stand-ins of the same length.

    Args:
        values: The values; those with fewer than `SHORTEST` bytes are not replaced.
    """

    def __init__(self, values: Iterable[bytes]) -> None:
        pairs: dict[bytes, bytes] = {}
        self._digits: list[Digits] = []
        # The longer first, so that a value that contains another one is replaced as a whole.
        wanted = sorted({value for value in values if len(value) >= SHORTEST}, key=lambda each: (-len(each), each))
        for number, value in enumerate(wanted):
            stand_in = _stand_in(value, number)
            for encode in _ENCODINGS:
                for old, new in zip(encode(value), encode(stand_in), strict=True):
                    if len(old) >= SHORTEST:
                        pairs.setdefault(old, new)
            self._digits += base64_forms(value, stand_in)
        self._pairs = sorted(pairs.items(), key=lambda pair: -len(pair[0]))

    def replaced(self, raw: bytes) -> bytes:
        """Return `raw` with stand-ins for the values."""
        for old, new in self._pairs:
            if old in raw:
                raw = raw.replace(old, new)
        for form in self._digits:
            raw = form.replaced(raw)
        return raw


def _stand_in(value: bytes, number: int) -> bytes:
    """Return text of the length of `value`, with letters for its letters and digits, and `!` for all other bytes.

    So every encoding of it is as long as that of the value, and nothing but the places of its letters is told.
    """
    name = _filled(b"secret%d" % number, len(value))
    kept = [
        new if chr(old).isascii() and (chr(old).isalnum() or old in b"-_.~") else 0x21
        for old, new in zip(value, name, strict=True)
    ]
    return bytes(kept)


def _filled(text: bytes, length: int) -> bytes:
    return (text * (length // len(text) + 1))[:length]


def _of_data(data: Any) -> Iterator[bytes]:
    if isinstance(data, dict):
        for value in data.values():
            if isinstance(value, str):
                yield from _decoded(value)


def _decoded(value: str) -> Iterator[bytes]:
    try:
        yield base64.b64decode(value, validate=True)
    except ValueError:  # a server would refuse it; it may be a value all the same
        yield value.encode()


def _of_texts(data: Any) -> Iterator[bytes]:
    if isinstance(data, dict):
        yield from (value.encode() for value in data.values() if isinstance(value, str))


def _of_operation(operation: dict[str, Any]) -> Iterator[bytes]:
    path, value = operation.get("path"), operation.get("value")
    if not isinstance(path, str):
        return
    if path.startswith("/data/") and isinstance(value, str):
        yield from _decoded(value)
    elif path.startswith("/stringData/") and isinstance(value, str):
        yield value.encode()
    elif path in ("/data", "/stringData"):
        yield from (_of_data if path == "/data" else _of_texts)(value)


# The encodings. Each returns the same number of texts for values of the same length and the same places of letters.


def _plain(value: bytes) -> list[bytes]:
    return [value]


def _url(value: bytes) -> list[bytes]:
    texts = [quote(value, safe=""), quote(value), quote_plus(value)]
    return [each.encode() for text in texts for each in (text, _HEX.sub(lambda found: found[0].lower(), text))]


def _escaped(value: bytes) -> list[bytes]:
    """Return the value as JSON escapes it once, twice and three times, with and without characters beyond ASCII."""
    text = value.decode("utf-8", "replace")
    found = []
    for ascii_only in (True, False):
        each = text
        for _ in range(3):
            each = json.dumps(each, ensure_ascii=ascii_only)[1:-1]
            found.append(each.encode())
    return found


def _shown(value: bytes) -> list[bytes]:
    """Return the value as Python shows it, as bytes and as text, and as JSON escapes that in a line of a log."""
    shown = [repr(value)[2:-1], repr(value.decode("utf-8", "replace"))[1:-1]]
    return [each.encode() for text in shown for each in (text, json.dumps(text)[1:-1])]


_ENCODINGS: tuple[Callable[[bytes], list[bytes]], ...] = (_plain, _url, _escaped, _shown)
