# SPDX-License-Identifier: Apache-2.0
"""Typed objects: shapes, defaults and stored forms, decoding and patches, and how messages show them."""
