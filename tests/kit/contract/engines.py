# SPDX-License-Identifier: Apache-2.0
"""Tests of patterns beyond the subset that the embedded server matches without google-re2."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

WITH_RE2 = pytest.mark.skipif(
    find_spec("re2") is None, reason="google-re2 is not installed, and the patterns here are beyond the subset"
)
