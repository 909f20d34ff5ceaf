# SPDX-License-Identifier: Apache-2.0
"""Checks names, label keys and label values by the rules of the Kubernetes API.

Each function returns what is wrong, in the words of the real API server; an empty list means that the text is valid.
"""

from __future__ import annotations

import functools
import re

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_QUALIFIED})?"
_ALPHANUMERIC = "and must start and end with an alphanumeric character"
_SUBDOMAIN_TEXT = (
    f"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', {_ALPHANUMERIC} "
    f"(e.g. 'example.com', regex used for validation is '{_SUBDOMAIN}')"
)
_LABEL_TEXT = (
    f"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', {_ALPHANUMERIC} "
    f"(e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
)
_QUALIFIED_TEXT = (
    f"must consist of alphanumeric characters, '-', '_' or '.', {_ALPHANUMERIC} "
    f"(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_QUALIFIED}')"
)
_VALUE_TEXT = (
    f"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', {_ALPHANUMERIC} "
    f"(e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '{_VALUE}')"
)
_KEY = r"[-._a-zA-Z0-9]+"
_KEY_TEXT = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' "
    f"(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '{_KEY}')"
)
_SERVICE = "[a-z]([-a-z0-9]*[a-z0-9])?"
_SERVICE_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character "
    f"(e.g. 'my-name',  or 'abc-123', regex used for validation is '{_SERVICE}')"
)
_is_label = re.compile(_LABEL).fullmatch
_is_key = re.compile(_KEY).fullmatch
_is_service = re.compile(_SERVICE).fullmatch
_is_subdomain = re.compile(_SUBDOMAIN).fullmatch
_is_qualified = re.compile(_QUALIFIED).fullmatch
_is_value = re.compile(_VALUE).fullmatch


def _errors(text: str, limit: int, good: object, rule: str, unit: str = "characters") -> list[str]:
    """Return a text about the length of `text`, if over `limit` bytes, and `rule`, if `good` (its match) is None.

    `unit` is what a real API server calls these bytes: characters in names, and bytes in the keys and values of labels.
    """
    errors = [] if len(text.encode()) <= limit else [f"must be no more than {limit} {unit}"]
    return errors if good else [*errors, rule]


def label_errors(name: str) -> list[str]:
    """Return the errors of a DNS label, such as a namespace's name; an empty list if it is valid."""
    rule = "must not contain dots" if _is_subdomain(name) else _LABEL_TEXT
    return _errors(name, 63, _is_label(name), rule)


def subdomain_errors(name: str) -> list[str]:
    """Return the errors of a DNS subdomain, such as a node's name; an empty list if it is valid."""
    return _subdomain_errors(name)


def _subdomain_errors(name: str, unit: str = "characters") -> list[str]:
    return _errors(name, 253, _is_subdomain(name), _SUBDOMAIN_TEXT, unit)


def path_segment_errors(name: str) -> list[str]:
    """Return the errors of a name that may be any path segment, such as a role's name; an empty list if it is valid."""
    if name in (".", ".."):
        return [f"may not be '{name}'"]
    return [f"may not contain '{character}'" for character in "/%" if character in name]


def config_key_errors(name: str) -> list[str]:
    """Return the errors of a key of a ConfigMap or Secret, or of a LeaseCandidate's name; an empty list if it is
    valid.
    """
    errors = _errors(name, 253, _is_key(name), _KEY_TEXT)
    if name == ".":
        return [*errors, "must not be '.'"]
    if name == "..":
        return [*errors, "must not be '..'"]
    return [*errors, "must not start with '..'"] if name.startswith("..") else errors


def service_name_errors(name: str) -> list[str]:
    """Return the errors of a Service's name, a DNS label that begins with a letter; an empty list if it is valid."""
    return _errors(name, 63, _is_service(name), _SERVICE_TEXT)


def label_value_errors(value: str) -> list[str]:
    """Return the errors of a label's value, which may be empty; an empty list if it is valid."""
    return _errors(value, 63, _is_value(value), _VALUE_TEXT, "bytes")


def _qualified_errors(name: str) -> tuple[str, ...]:
    prefix, slash, local = name.rpartition("/")
    if "/" in prefix:
        optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return (f"a valid label key {_QUALIFIED_TEXT} {optional}",)
    errors = [f"prefix part {text}" for text in _subdomain_errors(prefix, "bytes")] if prefix else []
    if slash and not prefix:
        errors.append("prefix part must be non-empty")
    if not local:
        errors.append("name part must be non-empty")
    found = _errors(local, 63, _is_qualified(local), _QUALIFIED_TEXT, "bytes")
    errors += [f"name part {text}" for text in found]
    return tuple(errors)


def qualified_name_errors(name: str) -> list[str]:
    """Return the errors of a label's key or a finalizer, such as `example.com/a`; an empty list if it is valid.

    The prefix is optional.
    """
    # The errors of longer names are not remembered, because such names could fill the memory.
    return list(_remembered_errors(name) if len(name) <= _LONGEST_QUALIFIED else _qualified_errors(name))


_LONGEST_QUALIFIED = 253 + 1 + 63
_remembered_errors = functools.lru_cache(maxsize=4096)(_qualified_errors)
