# SPDX-License-Identifier: Apache-2.0
"""Builds the parts of a program, starts them in order and stops them in reverse."""
