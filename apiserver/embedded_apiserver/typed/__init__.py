# SPDX-License-Identifier: Apache-2.0
"""The types of built-in kinds: their shapes, defaults and stored forms, and how messages show them."""
