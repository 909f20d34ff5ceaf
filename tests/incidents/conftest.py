# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of incidents."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture
def log_as_before() -> Iterator[None]:
    """Give the log back as it was: a command configures that of its process."""
    root = logging.getLogger()
    handlers, level = [*root.handlers], root.level
    yield
    root.handlers[:], root.level = handlers, level
