# SPDX-License-Identifier: Apache-2.0
"""The runtime for Kubernetes controllers in Python."""
