# SPDX-License-Identifier: Apache-2.0
"""The part of the server that uses sockets, threads and signals: HTTP over TLS, the process, and its kubeconfig."""
