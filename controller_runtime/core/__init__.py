# SPDX-License-Identifier: Apache-2.0
"""The lowest layer: the host, stopping, signals, backoff, deadlines, errors, logging, counters. It imports no other."""
