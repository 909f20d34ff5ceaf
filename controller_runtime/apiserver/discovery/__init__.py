# SPDX-License-Identifier: Apache-2.0
"""How the server describes itself: groups, kinds, schemas, version."""
