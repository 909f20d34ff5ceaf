# SPDX-License-Identifier: Apache-2.0
"""Reads from the server which objects a request would delete, before the request is sent."""

from __future__ import annotations

from typing import Any

import attrs
import msgspec

from apimachinery.http import HTTPRequest, HTTPResponse
from controller_runtime.client.transport import Transport

_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json"
_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"

_SELECTORS = ("labelSelector", "fieldSelector")


@attrs.frozen
class Looking:
    """Finds out what a request would delete, by read requests with the same deadline and user agent.

    Attributes:
        transport: Carries the read requests.
        request: The request that is examined.
        deadline: The deadline in absolute monotonic seconds.

    Raises:
        ConnectionLost: By each method, if no answer came.
    """

    transport: Transport
    request: HTTPRequest
    deadline: float

    def object(self, path: str) -> tuple[HTTPResponse, dict[str, Any]]:
        """Read an object; return the answer and the object's metadata, which are empty if it could not be read."""
        answer = self._get(path, _METADATA)
        return answer, _part(answer, "metadata") if answer.status == 200 else {}

    def count(self, path: str) -> int | None:
        """Return the number of objects in a collection; None if the server does not report it, 0 without
        such a kind.
        """
        answer = self._get(path, _LIST, ("limit", "1"))
        if answer.status == 404:
            return 0
        if answer.status != 200:
            return None
        metadata, items = _part(answer, "metadata"), len(_items(answer))
        left = metadata.get("remainingItemCount", None if metadata.get("continue") else 0)
        return None if left is None else items + int(left)

    def selected(self, path: str, most: int) -> tuple[HTTPResponse, int | None]:
        """List the objects that the request selects; return the answer and their number.

        The number is None if it is above `most`, or if the list failed.
        """
        selectors = (pair for pair in self.request.query if pair[0] in _SELECTORS)
        answer = self._get(path, _LIST, *selectors, ("limit", str(most)))
        has_more = answer.status != 200 or bool(_part(answer, "metadata").get("continue"))
        return answer, None if has_more else len(_items(answer))

    def selects(self, path: str, name: str) -> bool:
        """Return whether the request selects the object `name` of a collection; True if that is unknown."""
        query = dict(self.request.query)
        fields = ",".join(each for each in (query.get("fieldSelector", ""), f"metadata.name={name}") if each)
        labels = [("labelSelector", query["labelSelector"])] if "labelSelector" in query else []
        answer = self._get(path, _LIST, *labels, ("fieldSelector", fields))
        return answer.status != 200 or bool(_items(answer))

    def _get(self, path: str, accept: str, *query: tuple[str, str]) -> HTTPResponse:
        headers = {"user-agent": self.request.headers.get("user-agent", ""), "accept": accept}
        return self.transport.request(HTTPRequest("GET", path, query, headers), self.deadline)


def _part(answer: HTTPResponse, name: str) -> dict[str, Any]:
    found = _document(answer).get(name)
    return found if isinstance(found, dict) else {}


def _items(answer: HTTPResponse) -> list[Any]:
    return _document(answer).get("items") or []


def _document(answer: HTTPResponse) -> dict[str, Any]:
    try:
        document = msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {}
    return document if isinstance(document, dict) else {}
