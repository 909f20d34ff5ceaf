# SPDX-License-Identifier: Apache-2.0
"""Admission: the steps between the decoding of a write and its rules, as a chain that can be configured by name."""
