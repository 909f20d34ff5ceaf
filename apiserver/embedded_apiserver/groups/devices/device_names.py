# SPDX-License-Identifier: Apache-2.0
"""Names of devices, of their attributes and capacities, and lists of what has a name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from apimachinery.names import label_errors, subdomain_errors
from embedded_apiserver.causes import duplicate, invalid, required, too_long, too_many
from embedded_apiserver.checks.basic import each
from embedded_apiserver.groups.pods.sources import driver_name
from embedded_apiserver.status import Cause

_LONGEST_IDENTIFIER, _LONGEST_POOL = 32, 253
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NO_IDENTIFIER = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters "
    "or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')"
)

Rule = Callable[[Any, str], Iterable[Cause]]


def each_of(given: Sequence[Any], most: int, rule: Rule, field: str, key: str | None = None) -> Iterator[Cause]:
    """Return the validation errors of a list: of its length, of each element, and of duplicates.

    Args:
        given: The list.
        most: The maximum length.
        rule: A function that returns the errors of an element, from the element and its path.
        field: The path of the list.
        key: Elements are duplicates if this field of them is equal; if empty, if they are equal themselves. None allows
            duplicates.
    """
    if len(given) > most:
        yield too_many(field, len(given), most)
    seen: list[Any] = []
    for index, one in enumerate(given):
        yield from rule(one, f"{field}[{index}]")
        if key is None:
            continue
        name = one.get(key, "") if key else one
        if name in seen:
            yield duplicate(f"{field}[{index}]", name)
        seen.append(name)


def device_name(name: str, field: str) -> Iterator[Cause]:
    """Return the validation errors of the name of a device, a request or a counter set, which is a DNS label."""
    yield from each(label_errors, name, field)


def pool_name(name: str, field: str) -> Iterator[Cause]:
    """Return the validation errors of a resource pool's name: DNS subdomains, separated by slashes."""
    if not name:
        yield required(field)
    elif len(name.encode()) > _LONGEST_POOL:
        yield too_long(field, _LONGEST_POOL)
    else:
        for segment in name.split("/"):
            yield from each(subdomain_errors, segment, field)


def full_name(name: str, field: str) -> Iterator[Cause]:
    """Return the validation errors of a full attribute name, such as `example.com/model`."""
    yield from qualified_name(name, field)
    if "/" not in name:
        yield invalid(field, name, "a fully qualified name must be a domain and a name separated by a slash")


def qualified_name(name: str, field: str) -> Iterator[Cause]:
    """Return the validation errors of an attribute name: an identifier, with or without a domain.

    There are none for a name with two or more slashes, because a real server accepts each.
    """
    parts = name.split("/")
    if len(parts) == 1:
        yield from _identifier(name, field)
    elif len(parts) == 2:
        domain, own = parts
        if not domain:
            yield invalid(field, "", "the domain must not be empty")
        else:
            yield from driver_name(domain, field)
        if not own:
            yield invalid(field, "", "the name must not be empty")
        else:
            yield from _identifier(own, field)


def _identifier(name: str, field: str) -> Iterator[Cause]:
    if len(name) > _LONGEST_IDENTIFIER:
        yield too_long(field, _LONGEST_IDENTIFIER)
    if not _IDENTIFIER.fullmatch(name):
        yield invalid(field, name, _NO_IDENTIFIER)
