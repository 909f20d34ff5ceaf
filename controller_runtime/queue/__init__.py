# SPDX-License-Identifier: Apache-2.0
"""The work queue: each item once, now or after a delay, and later after each failure."""
