# SPDX-License-Identifier: Apache-2.0
"""Kubernetes events: reports to the people who run a cluster of what happens to its objects, in few writes."""
