# SPDX-License-Identifier: Apache-2.0
"""Rules of names with a domain before them, such as `example.com/name`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from apimachinery.names import label_errors, subdomain_errors
from embedded_apiserver.causes import invalid, required, too_long
from embedded_apiserver.checks.basic import each
from embedded_apiserver.status import Cause

_PATH = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")
_LONGEST_SIGNER = 571  # of a namespace, a dot, a domain, a slash and a path
_SIGNER = "must be a fully qualified domain and path of the form 'example.com/signer-name'"


def prefixed_path(name: str, field: str) -> Iterator[Cause]:
    """Return the validation errors of a domain followed by a path, such as `example.com/name`."""
    domain, _, path = name.partition("/")
    if not name:
        yield required(field)
    elif not domain or not path:
        yield invalid(field, name, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        yield from each(subdomain_errors, domain, field)
        if not _PATH.fullmatch(path):
            yield invalid(field, path, f"Invalid path (regex used for validation is '{_PATH.pattern}')")


def signer_name(name: str, field: str) -> Iterator[Cause]:
    """Return the validation errors of a certificate signer's name, such as `example.com/signer`."""
    if not name:
        yield required(field)
        return
    domain, slash, path = name.partition("/")
    if not slash or not path or "/" in path:
        yield invalid(field, name, _SIGNER)
        return
    segments = domain.split(".")
    if len(segments) < 2:
        yield invalid(field, domain, "should be a domain with at least two segments separated by dots")
    for segment in segments:
        yield from each(label_errors, segment, field)
    for piece in path.split("."):
        yield from each(label_errors, piece, field)
    if len(name.encode()) > _LONGEST_SIGNER:
        yield too_long(field, _LONGEST_SIGNER)
