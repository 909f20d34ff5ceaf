# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the manager's room."""

from __future__ import annotations

import socket

import pytest


@pytest.fixture
def outward() -> str:
    """The address under which this machine meets others."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # nothing is sent: this only asks for the way
        except OSError:
            pytest.skip("this machine has no address but its loopback one")
        name: str = probe.getsockname()[0]
        return name
