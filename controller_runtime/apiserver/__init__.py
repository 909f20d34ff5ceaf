# SPDX-License-Identifier: Apache-2.0
"""The embedded Kubernetes API server: a synchronous core that speaks JSON, and a thin HTTP server around it."""
