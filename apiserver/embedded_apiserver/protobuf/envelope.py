# SPDX-License-Identifier: Apache-2.0
"""The wrappers of messages: the envelope of an object, with its kind, and the frame of an event of a watch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from embedded_apiserver.protobuf.messages import META
from embedded_apiserver.protobuf.wire import delimited, field_head
from embedded_apiserver.protobuf.writer import encode

MEDIA_TYPE = "application/vnd.kubernetes.protobuf"
"""The media type of objects in their envelopes."""

STREAM_TYPE = f"{MEDIA_TYPE};stream=watch"
"""The media type of a watch, a sequence of frames."""

MAGIC = b"k8s\0"
"""The first bytes of each envelope."""

# Encoding and media type of the object, which a real server leaves empty.
_TAIL = b"\x1a\x00\x22\x00"


def enveloped(api_version: str, kind: str, *parts: bytes) -> bytes:
    """Return a protobuf envelope with an object: Kubernetes' prefix, the object's type, and its message.

    Args:
        api_version: The apiVersion of the object.
        kind: The kind of the object.
        parts: The message of the object, perhaps split into several parts.
    """
    about = delimited(1, api_version.encode()) + delimited(2, kind.encode())
    return b"".join((MAGIC, delimited(1, about), field_head(2, sum(map(len, parts))), *parts, _TAIL))


def list_parts(metadata: Mapping[str, Any], items: Iterable[bytes]) -> list[bytes]:
    """Return the protobuf message of a list, split into parts.

    Args:
        metadata: The metadata of the list.
        items: The messages of the objects.
    """
    parts = [delimited(1, encode(f"{META}ListMeta", metadata))]
    for item in items:
        parts += (field_head(2, len(item)), item)
    return parts


def enveloped_document(document: Mapping[str, Any], package: str = META) -> bytes:
    """Return a protobuf envelope with a document such as a `Status`.

    Args:
        document: The document as decoded JSON, with its kind.
        package: The prefix of the message's name, to which the kind is added.
    """
    kind = document["kind"]
    return enveloped(document.get("apiVersion", ""), kind, encode(package + kind, document))


def frame(event: str, envelope: bytes) -> bytes:
    """Return the frame of a watch event: four bytes with its length, then the event.

    Args:
        event: The type of the event, such as `ADDED`.
        envelope: The object of the event, in its envelope.
    """
    content = delimited(1, event.encode()) + delimited(2, delimited(1, envelope))
    return len(content).to_bytes(4, "big") + content
