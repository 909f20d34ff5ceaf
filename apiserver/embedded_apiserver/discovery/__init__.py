# SPDX-License-Identifier: Apache-2.0
"""The documents in which the server describes its groups, kinds, schemas and version."""
