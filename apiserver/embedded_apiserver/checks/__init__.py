# SPDX-License-Identifier: Apache-2.0
"""Checks that several groups of kinds share, one function for each rule."""
