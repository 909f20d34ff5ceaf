# SPDX-License-Identifier: Apache-2.0
"""Content negotiation: from the `Accept` header of a request to the form of the response."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

from embedded_apiserver.custom import forms
from embedded_apiserver.kinds.kind import Kind
from embedded_apiserver.protobuf.envelope import MEDIA_TYPE as PROTOBUF
from embedded_apiserver.protobuf.envelope import STREAM_TYPE
from embedded_apiserver.reads.columns import table_of
from embedded_apiserver.reads.forms import Form, LineForm
from embedded_apiserver.reads.protobuf_form import protobuf_form, protobuf_metadata
from embedded_apiserver.reads.tables import Include, TableForm
from embedded_apiserver.reads.views import OneOrMany, lean_view, metadata_view, whole_view
from embedded_apiserver.reads.yaml_form import YAMLForm
from embedded_apiserver.status import StatusError, bad_request, not_acceptable

JSON = "application/json"
YAML = "application/yaml"
DOCUMENTS = (JSON, YAML, PROTOBUF)
"""The media types of objects, lists and documents."""
_STREAMED = (f"{JSON};stream=watch", STREAM_TYPE)
_PLAIN = ("", "*/*", JSON)  # the headers of most requests, which need no parsing
_WEIGHT = re.compile(r"[01](\.[0-9]{0,3})?")
_PARTIAL = ("PartialObjectMetadata", "PartialObjectMetadataList")
# The parameters of a media type that ask for another kind than that of the objects.
_CONVERTING = ("as", "g", "v")
# The field that `drop` can leave out of objects in JSON (KEP-5958, Kubernetes 1.38); other names are ignored.
_DROPPED = "metadata.managedFields"

Now = Callable[[], datetime]
"""Returns the current time, for ages in tables."""


def form_for(kind: Kind, accept: str, include: str, now: Now, *, is_list: bool = False) -> Form:
    """Return the `Form`, which encodes the response with an object or a list, by the `Accept` header.

    Args:
        kind: The kind of the objects.
        accept: The `Accept` header; if empty, every media type is accepted.
        include: The parameter `includeObject`, for tables.
        now: A function that returns the current time.
        is_list: True if the response is a list.

    Raises:
        StatusError: 406 if the server supports no accepted media type, 400 if `includeObject` has an unknown value.
    """
    if accept in _PLAIN:
        return whole_view(kind)
    _check_media_types(kind, accept, (*DOCUMENTS, *_STREAMED) if is_list else DOCUMENTS)
    for media_type, parameters in _candidates(accept):
        form = _lines(kind, media_type, parameters, include, now)
        if form is not None:
            return YAMLForm(form) if media_type == YAML else form
    raise only_accepted(DOCUMENTS)


def without_tables(accept: str) -> str:
    """Return an `Accept` header without the clauses for tables, for a path that supports no tables.

    Raises:
        StatusError: 406, the client accepts only tables.
    """
    if "Table" not in accept:
        return accept
    left = [clause for clause in accept.split(",") if "as=Table" not in clause.replace(" ", "")]
    if not left:
        raise only_accepted(DOCUMENTS)
    return ",".join(left)


def line_form_for(kind: Kind, accept: str, include: str, now: Now) -> LineForm:
    """Return the `LineForm` that encodes the events of a watch in a format that the `Accept` header asks for.

    The arguments and errors are those of `form_for`. YAML is refused with 406, because it has no lines.
    """
    if accept in _PLAIN:
        return whole_view(kind)
    _check_media_types(kind, accept, (*DOCUMENTS, *_STREAMED))
    for media_type, parameters in _candidates(accept):
        form = _lines(kind, media_type, parameters, include, now)
        if form is not None:
            if media_type == YAML:  # like a real server, look no further
                break
            return form
    raise only_accepted(_STREAMED)


def document_type(accept: str) -> str:
    """Return the media type for a document such as a `Status`, chosen by the `Accept` header; empty if none is
    accepted.
    """
    if accept in _PLAIN:
        return JSON
    for media_type, parameters in _candidates(accept):
        if not _converts(parameters):
            return media_type
    return ""


def only_accepted(offered: Sequence[str]) -> StatusError:
    """Return a 406 error whose message lists `offered`, the media types that this path supports.

    It is for a media type that the server supports on other paths.
    """
    return StatusError(406, "NotAcceptable", f"only the following media types are accepted: {', '.join(offered)}")


def is_unknown_type(error: StatusError) -> bool:
    """Return whether `error` refuses a media type that no handler of a real API server supports."""
    return error.message.startswith(("406: ", "415: "))


def check_known(accept: str, offered: Sequence[str], listed: Sequence[str] = ()) -> None:
    """Refuse a request whose `Accept` header names none of a path's media types; parameters are ignored.

    On most paths a real API server checks this before it chooses a form, and accepts no wildcard but `*/*`.

    Args:
        accept: The `Accept` header.
        offered: The media types of the path.
        listed: The media types in the error's message, if they differ from `offered`.

    Raises:
        StatusError: 406, no media type is accepted.
    """
    if not any(media_type in ("*/*", *offered) for media_type, _ in _clauses(accept)):
        raise not_acceptable(listed or offered)


def aggregated_type(accept: str, parameters: Mapping[str, str]) -> str:
    """Return the media type, JSON or protobuf, that the client prefers with `parameters`.

    Empty if there is none, or if the client prefers a type without `as`, `g` and `v`.
    """
    for media_type, given in _candidates(accept):
        if not _converts(given):
            return ""
        if media_type != YAML and {name: given.get(name) for name in _CONVERTING} == parameters:
            return media_type
    return ""


def first_accepted(accept: str, offered: Sequence[str]) -> str:
    """Return the media type in `offered` that the client prefers; empty if it accepts none.

    Types with the greatest weight in the header come first, then those that the header names first. A wildcard selects
    the first matching type in `offered`.
    """
    for media_type, _ in _clauses(accept):
        for one in offered:
            if media_type in (one, "*/*", f"{one.partition('/')[0]}/*"):
                return one
    return ""


def _clauses(accept: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Return the media types of a header and their parameters, the greatest weight (`q`) first."""
    clauses = []
    for clause in (accept or "*/*").split(","):
        media_type, *pairs = (part.strip() for part in clause.split(";"))
        parameters = {name: value for name, _, value in (pair.partition("=") for pair in pairs) if name != "charset"}
        clauses.append((_weight(parameters.pop("q", "")), media_type, parameters))
    clauses.sort(key=lambda clause: -clause[0])
    for _, media_type, parameters in clauses:
        yield media_type, parameters


def _weight(text: str) -> float:
    """Return the weight of a clause; 1 if it has none or a malformed one."""
    return float(text) if _WEIGHT.fullmatch(text) else 1.0


def _candidates(accept: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield the media types that the server produces and the client accepts, and the parameters, in order."""
    for media_type, parameters in _clauses(accept):
        for produced in DOCUMENTS:
            if media_type in (produced, "*/*", "application/*"):
                yield produced, parameters


def _converts(parameters: Mapping[str, str]) -> bool:
    return any(name in parameters for name in _CONVERTING)


def _lines(kind: Kind, media_type: str, parameters: Mapping[str, str], include: str, now: Now) -> LineForm | None:
    """Return the form that a media type and its parameters ask for, as JSON for YAML, or None."""
    if parameters.get("stream", "") not in ("", "watch"):
        return None
    is_protobuf = media_type == PROTOBUF
    lean = media_type == JSON and _DROPPED in parameters.get("drop", "").split("+")
    if not _converts(parameters):
        return protobuf_form(kind) if is_protobuf else lean_view(kind) if lean else whole_view(kind)
    wanted, version, hidden = parameters.get("as"), parameters.get("v", ""), kind.hidden_annotation
    if parameters.get("g") != "meta.k8s.io" or version not in ("v1", "v1beta1"):
        return None
    if wanted in _PARTIAL:
        form = protobuf_metadata(hidden) if is_protobuf else metadata_view(f"meta.k8s.io/{version}", hidden, lean=lean)
        return OneOrMany(form, kind, is_list=wanted == _PARTIAL[1])
    if wanted != "Table" or is_protobuf:  # a table's cells can have any type, which protobuf cannot express
        return None
    opened = None if kind.conversion is None else functools.partial(forms.opened, kind)
    return TableForm(table_of(kind), _included(include), version, whole_view(kind), now, hidden, opened)


def _included(word: str) -> Include:
    try:
        return Include(word or Include.METADATA.value)
    except ValueError:
        raise bad_request(f"unrecognized includeObject value: {word!r}") from None


def _check_media_types(kind: Kind, accept: str, listed: Sequence[str]) -> None:
    """Refuse a request that accepts no media type of its path, by `check_known`.

    The paths of custom kinds are checked elsewhere, with `DOCUMENTS` in the message.
    """
    if kind.definition is None:
        check_known(accept, DOCUMENTS, listed)
