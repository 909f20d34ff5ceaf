# SPDX-License-Identifier: Apache-2.0
"""Memory of objects that are gone is given back, although a later object holds the end of the heap."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import pytest

from controller_runtime.core.memory import give_back

MIB = 2**20


def resident() -> int:
    """Return the bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.skipif(bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="objects are not on the heap of glibc")
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the allocator of glibc alone keeps the pages")
def test_pages_without_objects_go_back_to_the_system() -> None:
    objects = [bytes([number % 256]) * 2_000 for number in range(30_000)]
    last = objects.pop()
    full = resident()
    del objects

    assert give_back()

    assert full - resident() > 40 * MIB
    assert len(last) == 2_000
