# SPDX-License-Identifier: Apache-2.0
"""The documents in which the server describes itself: its groups, kinds, schemas and version."""
