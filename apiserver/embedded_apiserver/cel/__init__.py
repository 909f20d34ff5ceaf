# SPDX-License-Identifier: Apache-2.0
"""CEL as Kubernetes speaks it: parser, type checker, evaluation, estimates of cost. It knows nothing of the server."""
