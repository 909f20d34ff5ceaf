# SPDX-License-Identifier: Apache-2.0
"""Kubernetes events: what happens to objects, reported to the people who run the cluster, in few writes."""
