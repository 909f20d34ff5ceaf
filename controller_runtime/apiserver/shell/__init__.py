# SPDX-License-Identifier: Apache-2.0
"""The edge to the world: HTTP over TLS, the process, its identity and its kubeconfig."""
