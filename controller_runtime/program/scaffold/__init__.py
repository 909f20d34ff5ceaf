# SPDX-License-Identifier: Apache-2.0
"""The files of a new operator: their names, their texts, and writing them."""
