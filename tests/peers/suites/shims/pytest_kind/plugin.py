# SPDX-License-Identifier: Apache-2.0
"""The option that a suite asks pytest-kind's plugin for."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add it."""
    parser.addoption("--keep-cluster", action="store_true", default=True, help="Ignored: the cluster stays.")
