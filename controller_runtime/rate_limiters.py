# SPDX-License-Identifier: Apache-2.0
"""Rate limiters: how long the next attempt of a failed item waits."""

from __future__ import annotations

from controller_runtime.queue.rate_limiters import Bucket, ItemExponential, ItemFastSlow, MaxOf, MaxWait, RateLimiter

__all__ = [
    "Bucket",
    "ItemExponential",
    "ItemFastSlow",
    "MaxOf",
    "MaxWait",
    "RateLimiter",
]
