# SPDX-License-Identifier: Apache-2.0
"""The lease heartbeat: one lease or thousands, kept alive by one queue."""
