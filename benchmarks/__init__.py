# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of the project, beside other libraries for the same work."""
