# SPDX-License-Identifier: Apache-2.0
"""The embedded Kubernetes API server: a synchronous core, JSON in and out, and a thin HTTP shell."""
