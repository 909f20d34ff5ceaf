# SPDX-License-Identifier: Apache-2.0
"""Content negotiation: from the `Accept` header of a request to the form of the response."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime

from controller_runtime.apiserver.kinds.kind import Kind
from controller_runtime.apiserver.reads.columns_workloads import columns_of
from controller_runtime.apiserver.reads.forms import Form, LineForm
from controller_runtime.apiserver.reads.tables import Include, TableForm
from controller_runtime.apiserver.reads.views import metadata_view, whole_view
from controller_runtime.apiserver.reads.yaml_form import YAMLForm
from controller_runtime.apiserver.status import StatusError, bad_request, not_acceptable

JSON = "application/json"
YAML = "application/yaml"
_PRODUCED = (JSON, YAML, f"{JSON};stream=watch")
_ANY = ("*/*", "application/*")
_PLAIN = ("", "*/*", JSON)  # the headers of most requests, which need no parsing
_WEIGHT = re.compile(r"[01](\.[0-9]{0,3})?")
_PARTIAL = ("PartialObjectMetadata", "PartialObjectMetadataList")


def form_for(kind: Kind, accept: str, include: str, now: Callable[[], datetime]) -> Form:
    """Return the form of a response with an object or a list.

    Args:
        kind: The kind of the objects.
        accept: The `Accept` header; an empty one accepts everything.
        include: The parameter `includeObject`, for tables.
        now: Returns the present time, for ages in tables.

    Raises:
        StatusError: 406 if the server produces no accepted form, 400 if `includeObject` has an unknown value.
    """
    if accept in _PLAIN:
        return whole_view(kind)
    for media_type, parameters in _clauses(accept):
        form = _lines(kind, parameters, include, now)
        if form is None:
            continue
        if media_type == JSON or media_type in _ANY:
            return form
        if media_type == YAML:
            return YAMLForm(form)
    raise _refusal()


def line_form_for(kind: Kind, accept: str, include: str, now: Callable[[], datetime]) -> LineForm:
    """Return the form of a watch. Arguments and errors are those of `form_for`; YAML is refused, as it has no lines."""
    if accept in _PLAIN:
        return whole_view(kind)
    for media_type, parameters in _clauses(accept):
        form = _lines(kind, parameters, include, now)
        if form is not None and (media_type == JSON or media_type in _ANY):
            return form
    raise _refusal()


def accepts(accept: str, media_type: str) -> bool:
    """Return whether a header names a media type with exactly its parameters. Wildcards do not count."""
    wanted = media_type.split(";")
    offered = dict(part.split("=", 1) for part in wanted[1:])
    return any(name == wanted[0] and parameters == offered for name, parameters in _clauses(accept))


def first_accepted(accept: str, offered: Sequence[str]) -> str:
    """Return the offered media type that the client prefers; empty if it accepts none of them.

    The greatest weight comes first, then the order of the header. A wildcard means the first one offered.
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


def _lines(kind: Kind, parameters: Mapping[str, str], include: str, now: Callable[[], datetime]) -> LineForm | None:
    """Return the form that the parameters of a media type ask for; None if they ask for an unknown one."""
    wanted = parameters.get("as")
    if wanted is None:
        return whole_view(kind)
    if (parameters.get("g"), parameters.get("v")) != ("meta.k8s.io", "v1"):
        return None
    if wanted in _PARTIAL:
        return metadata_view()
    return TableForm(columns_of(kind), _included(include), whole_view(kind), now) if wanted == "Table" else None


def _included(word: str) -> Include:
    try:
        return Include(word or Include.METADATA.value)
    except ValueError:
        raise bad_request(f"unrecognized includeObject value: {word!r}") from None


def _refusal() -> StatusError:
    return not_acceptable(_PRODUCED)
