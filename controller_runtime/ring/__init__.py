# SPDX-License-Identifier: Apache-2.0
"""Several replicas that work at once: each slot of the ring is owned by one of them at a time; see `docs/ring.md`."""
