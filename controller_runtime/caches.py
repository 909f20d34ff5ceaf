# SPDX-License-Identifier: Apache-2.0
"""The options of a cache that are values of their own: its compression, and the bodies that it keeps."""

from __future__ import annotations

from controller_runtime.cache.bodies import Bodies
from controller_runtime.cache.compression import Compression

__all__ = [
    "Bodies",
    "Compression",
]
