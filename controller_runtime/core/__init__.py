# SPDX-License-Identifier: Apache-2.0
"""The ground floor: the host, stopping, backoff, errors, logging, counters. Imports nothing of the house."""
