# SPDX-License-Identifier: Apache-2.0
"""The constructors of causes: why a value is refused, in the words and the fields of a real API server.

Clients show and match both.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from embedded_apiserver.status import Cause


def invalid(field: str, value: object, text: str) -> Cause:
    """Return the validation error for a value that breaks a rule; `text` is the rule."""
    return Cause("FieldValueInvalid", f"Invalid value: {msgspec.json.encode(value).decode()}: {text}", field)


def required(field: str, text: str = "") -> Cause:
    """Return the validation error for a missing value."""
    return Cause("FieldValueRequired", f"Required value: {text}" if text else "Required value", field)


def forbidden(field: str, text: str) -> Cause:
    """Return the validation error for a field that must not be set, or must not change."""
    return Cause("FieldValueForbidden", f"Forbidden: {text}", field)


def duplicate(field: str, value: object, text: str = "") -> Cause:
    """Return the validation error for a value that occurs twice although values must be unique."""
    shown = f"Duplicate value: {msgspec.json.encode(value).decode()}"
    return Cause("FieldValueDuplicate", f"{shown}: {text}" if text else shown, field)


def not_supported(field: str, value: object, supported: Sequence[str]) -> Cause:
    """Return the validation error for a value that is not one of the `supported` values."""
    allowed = ", ".join(f'"{word}"' for word in supported)
    shown = msgspec.json.encode(value).decode()
    return Cause("FieldValueNotSupported", f"Unsupported value: {shown}: supported values: {allowed}", field)


def not_found(field: str, value: str, text: str = "") -> Cause:
    """Return the validation error for a reference to something that does not exist; `value` is its name."""
    shown = f"Not found: {msgspec.json.encode(value).decode()}"
    return Cause("FieldValueNotFound", f"{shown}: {text}" if text else shown, field)


def too_long(field: str, limit: int) -> Cause:
    """Return the validation error for a text, or for data, with more than `limit` bytes."""
    noun = "byte" if limit == 1 else "bytes"
    return Cause("FieldValueTooLong", f"Too long: may not be more than {limit} {noun}", field)


def too_many(field: str, count: int, limit: int) -> Cause:
    """Return the validation error for a list of `count` items, where `limit` are allowed."""
    noun = "item" if limit == 1 else "items"
    return Cause("FieldValueTooMany", f"Too many: {count}: must have at most {limit} {noun}", field)


def invalid_part(field: str, text: str) -> Cause:
    """Return the validation error for a value that breaks a rule, with a message that does not show the value."""
    return Cause("FieldValueInvalid", f"Invalid value: {text}", field)
