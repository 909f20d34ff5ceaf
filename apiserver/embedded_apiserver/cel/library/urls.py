# SPDX-License-Identifier: Apache-2.0
"""Kubernetes' functions of URLs."""

from __future__ import annotations

from collections.abc import Callable

from embedded_apiserver.cel import types
from embedded_apiserver.cel.declarations import Function, Library, Overload
from embedded_apiserver.cel.errors import EvaluationError
from embedded_apiserver.cel.library import costs, url_texts
from embedded_apiserver.cel.types import BOOL, STRING, list_of, map_of
from embedded_apiserver.cel.values import Opaque, Value

_URL = types.opaque("kubernetes.URL")


class URL(Opaque):
    """A URL, the value of the CEL type `kubernetes.URL`.

    Attributes:
        parts: The parts of the URL.
    """

    __slots__ = ("parts",)
    type = _URL

    def __init__(self, parts: url_texts.Parts) -> None:
        self.parts = parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, URL) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)


def url(text: str) -> URL:
    """Return the URL that a text represents.

    Raises:
        EvaluationError: The text is neither an absolute URL nor an absolute path.
    """
    try:
        url_texts.requested(text)
        return URL(url_texts.parsed(text))
    except url_texts.NoURL as error:
        raise EvaluationError(f"URL parse error during conversion from string: {error}") from None


def is_url(text: str) -> bool:
    """Return whether a text is an absolute URL, an absolute path, or `*`."""
    try:
        url_texts.requested(text)
    except url_texts.NoURL:
        return False
    return True


def _part(name: str, id_: str, read: Callable[[url_texts.Parts], Value], result: types.Type = STRING) -> Function:
    made = Overload(
        *(id_, (_URL,), result, lambda value: read(value.parts)),
        member=True,
        cost=costs.nominal,
        estimate=costs.nominal_estimate,
    )
    return Function(name, (made,))


URLS = Library(
    (
        Function(
            "url",
            (
                Overload(
                    *("string_to_url", (STRING,), _URL, url),
                    cost=costs.read(),
                    estimate=costs.read_estimate(is_result=True),
                ),
            ),
        ),
        Function("isURL", (Overload("is_url_string", (STRING,), BOOL, is_url),)),
        _part("getScheme", "url_get_scheme", lambda parts: parts.scheme),
        _part("getHost", "url_get_host", lambda parts: parts.host),
        _part("getHostname", "url_get_hostname", lambda parts: url_texts.host_and_port(parts.host)[0]),
        _part("getPort", "url_get_port", lambda parts: url_texts.host_and_port(parts.host)[1]),
        _part("getEscapedPath", "url_get_escaped_path", url_texts.Parts.escaped_path),
        _part(
            "getQuery",
            "url_get_query",
            lambda parts: url_texts.values_of(parts.query),
            map_of(STRING, list_of(STRING)),
        ),
    )
)
"""The functions of URLs."""
