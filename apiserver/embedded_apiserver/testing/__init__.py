# SPDX-License-Identifier: Apache-2.0
"""The server for tests of code that calls Kubernetes: one address for a process, and a new storage for each test."""
