# SPDX-License-Identifier: Apache-2.0
"""The metrics of the server at `/metrics`, in the text form of Prometheus, under a real API server's names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from apimachinery.http import HTTPResponse
from embedded_apiserver.kinds.kind import Kinds
from embedded_apiserver.storage.storage import Storage

_HEADERS = {"content-type": "text/plain; version=0.0.4; charset=utf-8", "cache-control": "no-cache, private"}


def metrics_answer(storage: Storage, kinds: Kinds, version: Mapping[str, str]) -> HTTPResponse:
    """Return the response for `/metrics`: the server's version, and the number of objects of each resource."""
    build = {"git_version": version["gitVersion"], "major": version["major"], "minor": version["minor"]}
    lines = [
        *_gauge("kubernetes_build_info", "The release of Kubernetes as which the server answers.", [(build, 1)]),
        *_gauge("apiserver_resource_objects", "Number of stored objects split by kind.", _counts(storage, kinds)),
    ]
    return HTTPResponse(200, _HEADERS, "".join(f"{line}\n" for line in lines).encode())


def _counts(storage: Storage, kinds: Kinds) -> Iterator[tuple[dict[str, str], int]]:
    """Yield the labels and the count of each resource, once for all its versions."""
    stored = {kind.resource: kind.stored for kind in kinds if kind.is_stored}
    for resource, kind in sorted(stored.items()):
        yield {"group": kind.group, "resource": kind.plural}, len(storage.read(resource).items)


def _gauge(name: str, text: str, values: Iterable[tuple[dict[str, str], int]]) -> Iterator[str]:
    """Yield the lines of a metric. The labels are names and releases, which need no escapes."""
    yield f"# HELP {name} {text}"
    yield f"# TYPE {name} gauge"
    for labels, value in values:
        shown = ",".join(f'{label}="{of_label}"' for label, of_label in labels.items())
        yield f"{name}{{{shown}}} {value}"
